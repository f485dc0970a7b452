package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errPrivate says that a URL leads to an address that is not public.
var errPrivate = errors.New("the address is not public")

// notPublic are networks that netip does not tell by itself: those of operators' own (RFC 6598), of protocols and tests, and those that
// embed IPv4 addresses, behind which anything may be.
var notPublic = func() (out []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23",
		"2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}()

// public reports whether an address is one of the internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// mayBePublic reports whether a host of a URL is a public address, or a name that may lead to one. What ends in a number but is no address
// is refused: resolvers read many of those as addresses ("127.1", "0x7f000001").
func mayBePublic(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return public(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return last != "" && last != "localhost" && errors.Is(err, strconv.ErrSyntax)
}

// clientOf is the client of attempts. It looks at addresses when it connects, so that no name can lead elsewhere in between, follows no
// redirect, and heeds no proxy of the environment.
func clientOf(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Attempt}
	if !o.Private {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !public(at.Addr()) {
				return fmt.Errorf("webhooks: %w", errPrivate)
			}
			return nil
		}
	}
	return &http.Client{
		Timeout: o.Attempt,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: o.Attempt, IdleConnTimeout: idleConnections, MaxIdleConns: atOnce,
			MaxIdleConnsPerHost: perEndpoint, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

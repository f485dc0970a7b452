package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/net/idna"
)

// errPrivate says that a URL leads to an address that is not public.
var errPrivate = errors.New("the address is not public")

// notPublic4 are IPv4 networks that are not public, in addition to netip's list. They are networks of operators
// (RFC 6598), of protocols and of tests.
var notPublic4 = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")

var (
	// global6 is the only IPv6 network from which addresses of the internet are assigned.
	global6 = netip.MustParsePrefix("2000::/3")
	// notPublic6 are networks within global6 that are not of the internet: protocols with Teredo (2001::/32),
	// documentation, and 6to4 (2002::/16). Teredo and 6to4 embed IPv4 addresses, which may be private ones.
	notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

func prefixes(all ...string) (out []netip.Prefix) {
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// isISATAP reports whether an IPv6 address holds an IPv4 address in the form of ISATAP (RFC 5214).
func isISATAP(ip netip.Addr) bool {
	b := ip.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// public reports whether an address is one of the internet. IPv6 addresses that hold an IPv4 address are not.
func public(ip netip.Addr) bool {
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	if ip.Is4() {
		return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(notPublic4, contains)
	}
	return global6.Contains(ip) && !isISATAP(ip) && !slices.ContainsFunc(notPublic6, contains)
}

// mayBePublic reports whether a URL's host is a public address, or a name that may lead to one. It refuses a host
// that ends in a number but is not an address. Resolvers read many such hosts as addresses ("127.1", "0x7f000001").
// It also refuses non-ASCII numerals, which clients read as digits.
func mayBePublic(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return public(ip)
	}
	if strings.ContainsFunc(host, func(c rune) bool { return c > unicode.MaxASCII && unicode.IsNumber(c) }) {
		return false
	}
	host, err := asciiOf(host)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err = strconv.ParseUint(last, 0, 64)
	return last != "" && last != "localhost" && errors.Is(err, strconv.ErrSyntax)
}

// asciiOf returns a host in net/http's form. A name that is not ASCII is in Punycode. Full-width letters and dots
// become usual ones.
func asciiOf(host string) (string, error) {
	if !strings.ContainsFunc(host, func(c rune) bool { return c > unicode.MaxASCII }) {
		return host, nil
	}
	return idna.Lookup.ToASCII(host)
}

// controlOf returns the check of an address before a connection to it; nil where private addresses may be connected to.
func controlOf(o Options) func(context.Context, string, string, syscall.RawConn) error {
	if o.Private {
		return nil
	}
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !public(at.Addr()) {
			return fmt.Errorf("webhooks: %w", errPrivate)
		}
		return nil
	}
}

// clientOf returns the client of attempts. It checks the address at the connection, so a name cannot change its
// address in between. It follows no redirect, and ignores proxies of the environment.
func clientOf(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Attempt}
	dialer.ControlContext = controlOf(o)
	return &http.Client{
		Timeout: o.Attempt,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: o.Attempt, IdleConnTimeout: idleConnections,
			MaxIdleConns: atOnce, MaxIdleConnsPerHost: perEndpoint, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10, ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

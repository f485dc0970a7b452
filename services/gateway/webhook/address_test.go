package webhook

import (
	"context"
	"net/netip"
	"testing"
	"time"
)

// embedding are IPv6 addresses that hold, or lead to, an IPv4 address, and others that are not of the internet.
var embedding = []string{
	"::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
	"64:ff9b:1::7f00:1", "2002:7f00:1::", "2a00::5efe:127.0.0.1", "2a00::200:5efe:7f00:1",
	"2002:808:808::1", "2001::7f00:1", "2001:0:7f00:1::1", "2001:db8::1", "3fff::1", "::", "::1", "fe80::1", "fec0::1",
	"fc00::1", "fd12::1",
	"ff02::1", "100::1", "5f00::1", "4000::1", "1fff::1", "e000::1", "2606:4700::1%eth0",
}

func TestOfIPv6OnlyTheInternetIsPublic(t *testing.T) {
	for _, address := range []string{"2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888", "2c0f::1",
		"8.8.8.8"} {
		if !public(netip.MustParseAddr(address)) {
			t.Errorf("%s is not public", address)
		}
	}
	for _, address := range append(embedding, "127.0.0.1", "10.0.0.1", "0.0.0.0", "100.64.0.1",
		"169.254.169.254", "224.0.0.1", "255.255.255.255",
	) {
		if public(netip.MustParseAddr(address)) {
			t.Errorf("%s is public", address)
		}
	}
}

// The dialer checks the resolved address of a name at the connection.
func TestAddressesAreRefusedAtTheConnection(t *testing.T) {
	control := controlOf(Options{Attempt: time.Second})
	for _, address := range append(embedding, "127.0.0.1") {
		if control(context.Background(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), nil) == nil {
			t.Errorf("%s is connected to", address)
		}
	}
	if err := control(context.Background(), "tcp", "[2606:4700:4700::1111]:443", nil); err != nil {
		t.Error(err)
	}
}

func TestAddressesAreRefusedAtCreation(t *testing.T) {
	for _, address := range embedding {
		if checkURL("https://["+address+"]/", false) == nil {
			t.Errorf("%s is taken", address)
		}
	}
	for _, host := range []string{
		"１２７.０.０.１", "８.８.８.８", "127。0。0。1", "127.0.0.①", "１0.example.com", "example.com.１", "ｌｏｃａｌｈｏｓｔ", "٣.example.com",
		"127.1", "0x7f000001",
	} {
		if checkURL("https://"+host+"/", false) == nil {
			t.Errorf("%s is taken", host)
		}
	}
	for _, host := range []string{"example.com", "xn--bcher-kva.example", "bücher.example", "日本語.example",
		"a_b.example", "8.8.8.8", "[2606:4700:4700::1111]:8443",
	} {
		if err := checkURL("https://"+host+"/", false); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

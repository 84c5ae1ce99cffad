package fetch

import "net/netip"

// networks decide which addresses may be dialled: what is public, and what the operator granted.
type networks struct{ granted []netip.Prefix }

// special are the networks that are not the public internet, or not its unicast part: the special-purpose registries of
// IANA (RFC 6890), and what clouds serve credentials from outside of those. Of IPv6 only 2000::/3 is public to begin with.
func special() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32", // Azure's host endpoint, in a public range
		"2001::/23",        // Teredo, ORCHID, benchmarking and other protocol assignments
		"2001:db8::/32", "2002::/16", "3fff::/20",
	)
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// allows reports whether an address may be dialled. An IPv6 address that stands for an IPv4 one needs a grant of its
// own, and the IPv4 address must be allowed as well: a grant of a NAT64 prefix opens no private network.
func (n *networks) allows(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if v4, ok := embedded(a); ok {
		return contains(n.granted, a) && n.allows(v4)
	}
	return contains(n.granted, a) || public(a)
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func public(a netip.Addr) bool {
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	return !contains(special(), a)
}

// embedded returns the IPv4 address that an IPv6 address leads to by translation or a tunnel: IPv4-compatible, translatable
// (RFC 2765), NAT64 (RFC 6052, RFC 8215), 6to4, Teredo (obscured), ISATAP.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	in := func(prefix string) bool { return netip.MustParsePrefix(prefix).Contains(a) }
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case a.IsUnspecified() || a == netip.IPv6Loopback():
		return netip.Addr{}, false
	case in("::/96"), in("::ffff:0:0:0/96"), in("64:ff9b::/96"), in("64:ff9b:1::/48"):
		return last, true
	case in("2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case in("2001::/32"):
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return last, true
	}
	return netip.Addr{}, false
}

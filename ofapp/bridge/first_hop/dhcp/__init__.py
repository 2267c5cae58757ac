"""DHCPv4 and DHCPv6 as a first hop snoops them (RFC 7513 6): pure, in virtual time."""

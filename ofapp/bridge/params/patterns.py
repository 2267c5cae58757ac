"""Addresses as regular expressions, for patterns of JSON Schemas; `address` checks exactly."""

OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
HOST4 = rf"([1-9]|[1-9][0-9]|1[013-9][0-9]|12[0-689]|2[01][0-9]|22[0-3])([.]{OCTET}){{3}}"
"""An IPv4 address that a host can have."""
GROUP4 = rf"(22[4-9]|23[0-9])([.]{OCTET}){{3}}"
_HEX = "[0-9a-fA-F]{1,4}"
IPV4 = rf"{OCTET}([.]{OCTET}){{3}}"


def ipv6_pattern(first: str) -> str:
    """A pattern for IPv6 addresses whose first group of digits matches `first`."""
    whole = f"(:{_HEX}){{7}}"
    short = (f"(:{_HEX}){{{n}}}:(:|(:{_HEX}){{1,{6 - n}}})" for n in range(6))
    return f"{first}({whole}|{'|'.join(short)}|(:{_HEX}){{6}}::)"


IPV6 = f"({ipv6_pattern(_HEX)}|:(:|(:{_HEX}){{1,7}}))"
"""An IPv6 address, without the forms that end with an IPv4 address."""

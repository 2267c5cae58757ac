"""Frames by their headers, read and written at fixed offsets: Ethernet, ARP, IP, UDP, ICMPv6.

Any octets give a value, and none raises: a frame that is not valid is `Malformed`.
"""

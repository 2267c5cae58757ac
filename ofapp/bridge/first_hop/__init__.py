"""First-hop security: which addresses the hosts behind a port may use (SAVI).

Bindings come from DHCP (RFC 7513), from neighbour discovery (RFC 6620), and from people.  The
switch enforces them, also while the controller is disconnected.
"""

"""Port-based network access control: 802.1X (IEEE 802.1X-2020) and MAC authentication bypass.

A controlled port drops frames until a host on it is authorised.  The bridge relays EAP between the
host and a RADIUS server (RFC 3579) and does not look into it.  The server is reached by the effect
`AskServer` and the input `PortAccess.answer`, so this package has no sockets and no secrets.

    session    the authenticator of one host
    port       one controlled port, with its hosts
    hosts      what follows when a host is admitted, refused or gone
    inputs     frames from controlled ports, and what is due
    answer     answers of RADIUS servers, the rights that they give, and grants
    servers    questions to RADIUS servers, their silence, accounting
    timers     the protocol's time, and when what is due
    status     queries
    stored     the stored document
    on_bridge  the protocol: its inputs, parameters and values
"""

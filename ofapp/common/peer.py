"""Addresses of peers, as sockets give them: (host, port, ...), or a path or "" for UNIX sockets."""


def host(address: object) -> str:
    """The host of an address; the whole address of a UNIX socket."""
    return str(address[0]) if isinstance(address, tuple) and address else str(address)


def host_and_port(address: object) -> str:
    """host:port as people write it, with brackets around an IPv6 address."""
    if not isinstance(address, tuple):
        return str(address)
    name, port = address[:2]
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

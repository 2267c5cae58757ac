"""/v1/bridges/{dpid}/mdb: multicast groups and the ports that get them, read and set."""

from ofapp.api.mdb.routes import NAME, blueprint

__all__ = ["NAME", "blueprint"]

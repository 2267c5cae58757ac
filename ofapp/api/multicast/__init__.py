"""/v1/bridges/{dpid}/multicast: multicast snooping, seen and administered."""

from ofapp.api.multicast.routes import blueprint

__all__ = ["blueprint"]

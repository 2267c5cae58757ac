"""/v1/bridges/{dpid}/multicast: monitoring and control of multicast snooping."""

from ofapp.api.resources.bridge.multicast.routes import blueprint

__all__ = ["blueprint"]

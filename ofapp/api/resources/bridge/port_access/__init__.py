"""/v1/bridges/{dpid}/port-access: settings of port access control, its ports and hosts."""

from ofapp.api.resources.bridge.port_access.routes import blueprint

__all__ = ["blueprint"]

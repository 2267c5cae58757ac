"""/v1/bridges/{dpid}/mdb: read and change multicast groups and the ports that get them."""

from ofapp.api.resources.bridge.mdb.routes import NAME, blueprint

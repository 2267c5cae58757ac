#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Let a host use an address."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: binding
short_description: Let a host use an address
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets or removes a binding, an address that a host may use where its port checks that.
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.entry
options:
  address:
    description: An IPv4 or IPv6 address, or a prefix that is routed to the host.
    type: str
    required: true
  vlan:
    description: VID, 0 for untagged frames of transparent ports.
    type: int
    default: 0
  mac:
    description: Address of the host's network card. Needed for O(state=present).
    type: str
  port:
    description: The port of the host, by name or number. Needed for O(state=present).
    type: str
  shared:
    description:
      - Other hosts have a shared binding of the address, too, as with VRRP.
      - With O(state=absent), only the host with O(mac) and O(port) loses it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: A server with a static address among guests
  ofapp.bridge.binding:
    bridge: br0
    address: 10.0.0.7
    mac: 52:54:00:12:34:56
    port: tap1
"""

RETURN = r"""
entry:
  description: The entry as it is after that; null without one.
  returned: success
  type: dict
"""

from ipaddress import ip_network

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    Controller,
    new_module,
    path_of,
)
from ansible_collections.ofapp.bridge.plugins.module_utils.entries import (
    entry_spec,
    finish,
    port_name,
)


def main():
    """Run the module."""
    module = new_module(
        {
            **entry_spec(),
            "address": {"type": "str", "required": True},
            "vlan": {"type": "int", "default": 0},
            "mac": {"type": "str"},
            "port": {"type": "str"},
            "shared": {"type": "bool", "default": False},
        },
        required_if=[
            ("state", "present", ["mac", "port"]),
            ("shared", True, ["mac", "port"]),
        ],
    )
    params, controller = module.params, Controller(module)
    bridge, vlan, address = (params[name] for name in ("bridge", "vlan", "address"))
    path = path_of(bridge, "bindings")
    shared = params["shared"]
    after = None
    if params["mac"] and params["port"]:
        port = port_name(controller, bridge, params["port"])
        after = {"mac": params["mac"].lower(), "port": port, "shared": shared}
    before = None
    for entry in controller.entries(path, vlan=vlan):
        if entry["address"] == canonical(address) and entry["seconds_left"] is None:
            own = {"mac": entry["mac"], "port": entry["port"]["name"], "shared": entry["shared"]}
            if before is None and not (shared and own["shared"] and own != after):
                before = own
    if params["state"] == "absent":
        place = path_of(bridge, "bindings", vlan) + "/" + address
        host = {"port": after["port"], "mac": after["mac"]} if shared else None
        finish(module, before, None, lambda: controller.request("DELETE", place, query=host))
    body = {name: params[name] for name in ("port", "vlan", "mac", "address", "shared")}
    finish(module, before, after, lambda: controller.request("POST", path, body))


def canonical(address):
    """Return an address or prefix as the controller shows it; what is none, as it is."""
    try:
        network = ip_network(address)
    except ValueError:
        return address
    return str(network) if "/" in address else str(network.network_address)


if __name__ == "__main__":
    main()

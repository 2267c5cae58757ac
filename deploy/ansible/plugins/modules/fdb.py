#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set a static address."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: fdb
short_description: Set a static address
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets or removes a static entry of the forwarding database, an address that neither
    moves nor ages.
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.entry
options:
  mac:
    description: Address of the host.
    type: str
    required: true
  vlan:
    description: VID, 0 for untagged frames of transparent ports.
    type: int
    default: 0
  port:
    description: The port of the host, by name, number or C(LOCAL). Needed for O(state=present).
    type: str
"""

EXAMPLES = r"""
- name: A printer that does not speak by itself
  ofapp.bridge.fdb:
    bridge: br0
    mac: 52:54:00:12:34:56
    vlan: 10
    port: eth3
"""

RETURN = r"""
entry:
  description: The entry as it is after that; null without one.
  returned: success
  type: dict
"""

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
            "mac": {"type": "str", "required": True},
            "vlan": {"type": "int", "default": 0},
            "port": {"type": "str"},
        },
        required_if=[("state", "present", ["port"])],
    )
    params, controller = module.params, Controller(module)
    bridge, vlan, mac, port = (params[name] for name in ("bridge", "vlan", "mac", "port"))
    path = path_of(bridge, "fdb")
    entries = controller.entries(path, mac=mac, vlan=vlan, type="static")
    before = {"port": entries[0]["port"]["name"]} if entries else None
    place = path_of(bridge, "fdb", vlan, mac)
    if params["state"] == "absent":
        finish(module, before, None, lambda: controller.request("DELETE", place))
    after = {"port": port_name(controller, bridge, port)}
    finish(module, before, after, lambda: controller.request("PUT", place, {"port": port}))


if __name__ == "__main__":
    main()

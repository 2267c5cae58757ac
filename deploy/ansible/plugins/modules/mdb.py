#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set a permanent multicast entry."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: mdb
short_description: Set a permanent multicast entry
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Forwards a multicast group to a port for good, or stops that.
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.entry
options:
  group:
    description: A multicast address of IPv4 or IPv6, or a MAC address for what is not IP.
    type: str
    required: true
  port:
    description: The port, by name or number.
    type: str
    required: true
  vlan:
    description: VID, 0 for untagged frames of transparent ports.
    type: int
    default: 0
  source:
    description: The only source that is forwarded. Without it all are.
    type: str
"""

EXAMPLES = r"""
- name: A camera's stream for the recorder
  ofapp.bridge.mdb:
    bridge: br0
    group: 239.1.1.1
    port: eth2
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
            "group": {"type": "str", "required": True},
            "port": {"type": "str", "required": True},
            "vlan": {"type": "int", "default": 0},
            "source": {"type": "str"},
        },
    )
    params, controller = module.params, Controller(module)
    bridge, vlan, group, port = (params[name] for name in ("bridge", "vlan", "group", "port"))
    query = {"type": "permanent", "source": params["source"]}
    path = path_of(bridge, "mdb")
    name = port if params["state"] == "absent" else port_name(controller, bridge, port)
    entries = controller.entries(path, vlan=vlan, group=group, type="permanent")
    known = [
        one for one in entries if one["port"]["name"] == name and one["source"] == params["source"]
    ]
    before = {"port": name, "source": params["source"]} if known else None
    place = path_of(bridge, "mdb", vlan, group, port)
    if params["state"] == "absent":
        finish(module, before, None, lambda: controller.request("DELETE", place, query=query))
    after = {"port": name, "source": params["source"]}
    finish(module, before, after, lambda: controller.request("PUT", place, query=query))


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Read the state of bridges."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: info
short_description: Read the state of bridges
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Returns bridges, and what is asked for of each, such as settings, ports and
    others, as the API has them.
extends_documentation_fragment:
  - ofapp.bridge.connection
options:
  bridge:
    description: Name or datapath id of the only bridge that is read.
    type: str
  gather:
    description: What is read of each bridge, beside the bridge itself.
    type: list
    elements: str
    choices:
      [acls, bindings, fdb, first-hop, lags, lldp, mdb, multicast, ports, settings, stp, vlans]
    default: []
attributes:
  check_mode:
    description: Changes nothing.
    support: full
  diff_mode:
    description: There are no differences to show.
    support: none
"""

EXAMPLES = r"""
- name: Where each host is
  ofapp.bridge.info:
    gather: [fdb, ports]
  register: network
"""

RETURN = r"""
version:
  description: Version of the controller.
  returned: success
  type: str
bridges:
  description: The bridges, each with a key for all that is gathered.
  returned: success
  type: list
  elements: dict
  sample: [{datapath_id: "0000000000000001", name: br0, connected: true}]
"""

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    Controller,
    new_module,
    path_of,
)

PAGED = ("bindings", "fdb", "mdb")
KINDS = (
    *PAGED,
    *("acls", "first-hop", "lags", "lldp", "multicast", "ports", "settings", "stp", "vlans"),
)


def main():
    """Run the module."""
    module = new_module(
        {
            "bridge": {"type": "str"},
            "gather": {
                "type": "list",
                "elements": "str",
                "choices": sorted(KINDS),
                "default": [],
            },
        }
    )
    controller, name = Controller(module), module.params["bridge"]
    version = controller.get("/v1/version")["version"]
    bridges = (
        controller.get("/v1/bridges")["bridges"]
        if name is None
        else [controller.get(path_of(name))]
    )
    for bridge in bridges:
        for kind in module.params["gather"]:
            path = path_of(bridge["datapath_id"], kind)
            key = kind.replace("-", "_")
            bridge[key] = content(kind, controller, path)
    module.exit_json(changed=False, version=version, bridges=bridges)


def content(kind, controller, path):
    """Return the content of an answer: the list or section in it, if that is all."""
    if kind in PAGED:
        return controller.entries(path)
    answer = controller.get(path)
    return answer[kind] if kind in ("ports", "lags", "settings") else answer


if __name__ == "__main__":
    main()

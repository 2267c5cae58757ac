#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set an access list."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: acl
short_description: Set an access list
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets all rules of an access list, or removes it. Ports refer to it by their option C(acl).
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
  - The controller validates all of it before anything changes, also with C(--check).
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.declared.acl
options:
  name:
    description: Name of the access list.
    type: str
    required: true
  state:
    description: Whether the list exists. A list that is in use cannot be removed.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: No DHCP servers among the guests
  ofapp.bridge.acl:
    bridge: br0
    name: guests
    rules:
      - {name: no-dhcp-server, match: {udp_src: 67}, action: drop}
      - {name: rest, action: allow}
"""

RETURN = r"""
changes:
  description: What has changed, or would change, in words.
  returned: success
  type: list
  elements: str
  sample: ["ports.eth1.isolated: default -> true"]
settings:
  description: All settings of the bridge after that, under the keys of the configuration file.
  returned: success
  type: dict
cut_off:
  description:
    - Hosts that would be cut off, and loops, as the copy of the network predicts them.
    - Null if the controller cannot predict it; C(cut_off_unknown) has the reason.
  returned: in check mode, if something would change
  type: list
  elements: str
  sample: ["hosts of br0 and br1 do not reach each other (VLAN 10): for 2.1 s, from 0 s on"]
"""

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    new_module,
)
from ansible_collections.ofapp.bridge.plugins.module_utils.declared import ACL
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import change, values_of


def main():
    """Run the module."""
    module = new_module(
        {
            "bridge": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            **ACL,
        },
        required_if=[("state", "present", ["rules"])],
    )
    present = module.params["state"] == "present"
    rules = values_of(module.params, ACL).get("rules") if present else None
    change(module, {"acls": {module.params["name"]: rules}})


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set the name and limits of a VLAN."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: vlan
short_description: Set the name and limits of a VLAN
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets, resets or removes the name and limits of a VLAN, which the file has under C(vlans).
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
  - The controller validates all of it before anything changes, also with C(--check).
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.section
  - ofapp.bridge.declared.vlan
options:
  vid:
    description: VID of the VLAN, 0 for untagged frames of transparent ports.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: A VLAN that ports may refer to by name
  ofapp.bridge.vlan:
    bridge: br0
    vid: 10
    name: office
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

from ansible_collections.ofapp.bridge.plugins.module_utils.declared import VLAN
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import set_section


def main():
    """Run the module."""
    set_section("vlans", "vid", "int", VLAN)


if __name__ == "__main__":
    main()

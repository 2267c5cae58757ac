#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set the VLANs and policies of a port."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: port
short_description: Set the VLANs and policies of a port
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets VLANs, policies and the parameters of protocols of one port, or resets them.
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
  - The controller validates all of it before anything changes, also with C(--check).
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.section
  - ofapp.bridge.declared.port
options:
  name:
    description:
      - Name of the port, its number, or C(LOCAL). A port of that name need not exist
        yet.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: An access port for a guest
  ofapp.bridge.port:
    bridge: br0
    name: tap1
    vlan: office
    trust: guest

- name: A trunk to another switch
  ofapp.bridge.port:
    bridge: br0
    name: eth0
    vlan: {trunk: [10, 20-30], native: 1}
    stp: {root_guard: true}

- name: The settings of the file's patterns, and no others
  ofapp.bridge.port:
    bridge: br0
    name: tap1
    state: absent
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

from ansible_collections.ofapp.bridge.plugins.module_utils.declared import PORT
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import set_section


def main():
    """Run the module."""
    set_section("ports", "name", "str", PORT)


if __name__ == "__main__":
    main()

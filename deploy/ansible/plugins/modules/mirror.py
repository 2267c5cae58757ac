#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set a mirror (SPAN)."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: mirror
short_description: Set a mirror (SPAN)
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets, resets or removes a mirror (SPAN), which the file has under C(mirrors).
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
  - The controller validates all of it before anything changes, also with C(--check).
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.section
  - ofapp.bridge.declared.mirror
options:
  name:
    description: Name of the mirror.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: What eth1 sends and receives, also to mon0
  ofapp.bridge.mirror:
    bridge: br0
    name: tap
    to: mon0
    both: [eth1]
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

from ansible_collections.ofapp.bridge.plugins.module_utils.declared import MIRROR
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import set_section


def main():
    """Run the module."""
    set_section("mirrors", "name", "str", MIRROR)


if __name__ == "__main__":
    main()

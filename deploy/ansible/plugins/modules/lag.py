#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set an aggregation and its members."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lag
short_description: Set an aggregation and its members
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets, resets or removes an aggregation and its members, which the file has under C(lags).
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
  - The controller validates all of it before anything changes, also with C(--check).
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.connection.section
  - ofapp.bridge.declared.lag
options:
  name:
    description: Name of the aggregation, which is that of its port of the bridge.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Two links as one
  ofapp.bridge.lag:
    bridge: br0
    name: lag0
    members: [eth0, eth1]
    rate: fast
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

from ansible_collections.ofapp.bridge.plugins.module_utils.declared import LAG
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import set_section


def main():
    """Run the module."""
    set_section("lags", "name", "str", LAG)


if __name__ == "__main__":
    main()

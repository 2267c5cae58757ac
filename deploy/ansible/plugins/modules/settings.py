#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Set the settings of a bridge."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: settings
short_description: Set the settings of a bridge
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Sets any settings of a bridge in one request, all of them or none. This is the module
    for many ports at once.
  - Options are those of the bridge's section of the configuration file. What is given is
    merged into the present settings.
  - In C(vlans), C(acls), C(ports), C(lags) and C(mirrors) null resets a value to the
    default of ofapp, or removes an entry.
  - The setting applies until the configuration file changes the same value, as all that
    is set over the API.
extends_documentation_fragment:
  - ofapp.bridge.connection
  - ofapp.bridge.connection.bridge
  - ofapp.bridge.declared.settings
"""

EXAMPLES = r"""
- name: Spanning tree, VLANs and ports in one request
  ofapp.bridge.settings:
    bridge: br0
    ageing_time: 600
    stp: {priority: 4096}
    vlans:
      10: {name: office}
    ports:
      eth1: {vlan: office}
      eth2: {vlan: {trunk: [10, 20]}}
      eth3: null
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
from ansible_collections.ofapp.bridge.plugins.module_utils.declared import SETTINGS
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import change, values_of


def main():
    """Run the module."""
    module = new_module(
        {
            "bridge": {"type": "str", "required": True},
            **SETTINGS,
        },
    )
    change(module, values_of(module.params, SETTINGS))


if __name__ == "__main__":
    main()

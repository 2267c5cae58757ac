#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Apply the configuration file."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: reload
short_description: Apply the configuration file
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Has the controller read its configuration file again, without losing a frame. Call it
    in a handler after the file was written.
  - A file that is not valid changes nothing, and is an error with each fault and its line.
  - In a cluster that follows a pushed configuration, that is read again; C(ofapp config
    push) pushes another.
extends_documentation_fragment:
  - ofapp.bridge.connection
options:
  force:
    description: Apply the file also when most of its former content is gone.
    type: bool
    default: false
  reset:
    description: Discard all settings that were made at run time.
    type: bool
    default: false
attributes:
  diff_mode:
    description: Shows the changes in words.
    support: full
"""

EXAMPLES = r"""
- name: Apply the file
  ofapp.bridge.reload:
"""

RETURN = r"""
bridges:
  description: The bridges that have changed, or would, with their changes in words.
  returned: success
  type: list
  elements: dict
restart:
  description: Changed settings that need a restart of the controller.
  returned: success
  type: list
  elements: str
warnings_of_file:
  description: Valid settings that may have surprising effects.
  returned: success
  type: list
  elements: str
cut_off:
  description:
    - Hosts that would be cut off, and loops, as the copy of the network predicts them.
    - Null if the controller cannot predict it; C(cut_off_unknown) has the reason.
  returned: in check mode, if something would change
  type: list
  elements: str
"""

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    Controller,
    new_module,
)
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import foretold


def main():
    """Run the module."""
    module = new_module(
        {
            "force": {"type": "bool", "default": False},
            "reset": {"type": "bool", "default": False},
        },
    )
    query = {"dry_run": module.check_mode}
    query.update((name, module.params[name]) for name in ("force", "reset"))
    words = {name: str(value).lower() for name, value in query.items()}
    controller = Controller(module)
    done = controller.request("POST", "/v1/config/reload", query=words)
    bridges = [
        {"name": one["name"], "datapath_id": one["datapath_id"], "changes": one["changes"]}
        for one in done["bridges"]
    ]
    result = {
        "changed": bool(bridges or done["restart"]),
        "bridges": bridges,
        "restart": done["restart"],
        "warnings_of_file": done["warnings"],
    }
    if module._diff and bridges:
        lines = [one["name"] + ": " + change for one in bridges for change in one["changes"]]
        result["diff"] = {"prepared": "\n".join(lines)}
    if module.check_mode and bridges:
        question = {"reload": "reset" if module.params["reset"] else "keep"}
        result.update(foretold(module, controller, question))
    module.exit_json(**result)


if __name__ == "__main__":
    main()

# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Entries of tables that are set and removed one by one."""

from __future__ import annotations

from ansible_collections.ofapp.bridge.plugins.module_utils.api import path_of
from ansible_collections.ofapp.bridge.plugins.module_utils.settings import text


def entry_spec():
    """The argument specification of an entry of a bridge."""
    return {
        "bridge": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }


def port_name(controller, bridge, port):
    """Return the name of a port that is given by name, number or LOCAL; the module fails without
    such a port."""
    return controller.get(path_of(bridge, "ports", port))["name"]


def finish(module, before, after, act):
    """Compare an entry with the wanted one, act if they differ, and end the module.

    before, after: None for no entry.
    """
    changed = before != after
    if changed and not module.check_mode:
        act()
    result = {"changed": changed, "entry": after}
    if module._diff and changed:
        result["diff"] = {
            "before": text(before) if before else "",
            "after": text(after) if after else "",
        }
    module.exit_json(**result)

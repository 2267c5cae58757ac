# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Settings of bridges: the controller compares and validates, so a module only sends a part."""

from __future__ import annotations

import json

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    Controller,
    RefusedError,
    new_module,
    path_of,
)

STATES = ("present", "replaced", "absent")
WARNED = 10
"""Most warnings of one task."""


def set_section(section, key, key_type, spec):
    """Run a module that sets or removes one entry of a section, such as a port of `ports`.

    key, key_type: the option that names the entry; spec: those of its settings.
    """
    module = new_module(
        {
            "bridge": {"type": "str", "required": True},
            "state": {"type": "str", "choices": list(STATES), "default": "present"},
            key: {"type": key_type, "required": True},
            **spec,
        },
    )
    state, values = module.params["state"], values_of(module.params, spec)
    if state == "absent" and values:
        names = ", ".join(sorted(values))
        module.fail_json(msg=f"{names}: cannot be given with state=absent")
    if state == "absent":
        values = None
    elif state == "replaced":
        values = defaults_of(values, spec)
    change(module, {section: {str(module.params[key]): values}})


def values_of(params, spec):
    """Return the options that are given; Ansible sets all others to None."""
    values = {}
    for name, about in spec.items():
        value, inner = params.get(name), about.get("options")
        if value is None:
            continue
        if inner and about["type"] == "list":
            value = [values_of(item, inner) for item in value]
        elif inner:
            value = values_of(value, inner)
        values[name] = value
    return values


def defaults_of(values, spec):
    """Return the same values, and null, which is the default, for all that are not given."""
    whole = dict.fromkeys(spec)
    for name, value in values.items():
        nested = isinstance(value, dict) and spec[name].get("options")
        whole[name] = defaults_of(value, spec[name]["options"]) if nested else value
    return whole


def change(module, settings):
    """Send a part of a bridge's settings, or what it would change, and end the module."""
    path = path_of(module.params["bridge"], "settings")
    query = {"dry_run": "true"} if module.check_mode else {}
    controller = Controller(module)
    done = controller.request("PATCH", path, {"settings": settings}, query)
    changed = bool(done["changes"])
    result = {"changed": changed, "changes": done["changes"], "settings": done["after"]}
    if module._diff and changed:
        result["diff"] = {"before": text(done["before"]), "after": text(done["after"])}
    if module.check_mode and changed:
        question = {"set": [{"bridge": module.params["bridge"], "settings": settings}]}
        result.update(foretold(module, controller, question))
    module.exit_json(**result)


def foretold(module, controller, question):
    """Return who would be cut off, as results of a module, and warn of it.

    A question that the controller does not answer is no failure: the result has the reason.
    """
    try:
        answer = controller.ask("POST", "/v1/what-if", question)
    except RefusedError as error:
        return {"cut_off": None, "cut_off_unknown": str(error)}
    lines = [_line("a loop", one) for one in answer["loops"]]
    lines += [
        _line(f"hosts of {one['a']} and {one['b']} do not reach each other", one)
        for one in answer["cut_off"]
    ]
    lines += [
        _line(f"{one['bridge']} {one['port']} does not forward", one) for one in answer["silent"]
    ]
    for line in lines[:WARNED]:
        module.warn(f"with this change: {line}")
    return {"cut_off": lines}


def _line(what, one):
    """Return what happens, in which VLAN, and for how long."""
    vlan = f"VLAN {one['vlan']}" if one["vlan"] else "untagged"
    span = "" if one["seconds"] is None else f"for {one['seconds']:g} s, "
    return f"{what} ({vlan}): {span}from {one['since']:g} s on"


def text(value):
    """Return a value as lines for a diff."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"

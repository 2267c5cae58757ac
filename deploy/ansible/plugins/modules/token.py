#!/usr/bin/python
# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Create or revoke a token."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: token
short_description: Create or revoke a token
version_added: 0.3.0
author: ofapp (@ofapp)
description:
  - Creates a token of the API, or revokes it. The secret is returned once, when the token
    is created.
  - From the first token on, the API requires authentication. Root creates it over the
    socket of the controller's host.
extends_documentation_fragment:
  - ofapp.bridge.connection
options:
  name:
    description: Name of the token.
    type: str
    required: true
  role:
    description: What it permits. Needed for O(state=present).
    type: str
    choices: [viewer, operator, admin]
  expires_in:
    description: Seconds until it expires. Without it, it does not. It cannot be changed.
    type: int
  state:
    description: Whether the token exists.
    type: str
    choices: [present, absent]
    default: present
attributes:
  diff_mode:
    description: There are no differences to show.
    support: none
"""

EXAMPLES = r"""
- name: A token for monitoring
  ofapp.bridge.token:
    name: grafana
    role: viewer
  register: grafana
  no_log: true
"""

RETURN = r"""
token:
  description: The secret of a new token.
  returned: when created
  type: str
closes:
  description: Whether the API was open until now, and requires authentication from now on.
  returned: when created
  type: bool
"""

from ansible_collections.ofapp.bridge.plugins.module_utils.api import (
    Controller,
    new_module,
)


def main():
    """Run the module."""
    module = new_module(
        {
            "name": {"type": "str", "required": True},
            "role": {"type": "str", "choices": ["viewer", "operator", "admin"]},
            "expires_in": {"type": "int"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["role"])],
    )
    params, controller = module.params, Controller(module)
    name, absent = params["name"], params["state"] == "absent"
    known = {one["name"]: one["role"] for one in controller.get("/v1/tokens")["tokens"]}
    if (name not in known) if absent else (known.get(name) == params["role"]):
        module.exit_json(changed=False)
    if not absent and name in known:
        what = f"role: token {name} is of role {known[name]}, which cannot be changed"
        module.fail_json(msg=f"{what}: revoke it first")
    made = {}
    if not module.check_mode and absent:
        controller.request("DELETE", "/v1/tokens/" + name)
    elif not module.check_mode:
        body = {key: params[key] for key in ("name", "role", "expires_in")}
        made = controller.request("POST", "/v1/tokens", body)
    result = {key: made[key] for key in ("token", "closes") if key in made}
    module.exit_json(changed=True, **result)


if __name__ == "__main__":
    main()

# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Documentation that the modules have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to the controller, and the bridge."""

    DOCUMENTATION = r"""
options:
  api:
    description:
      - Address of the controller, as C(https://NAME:8080), C(http://127.0.0.1:8080) or
        C(unix:/run/ofapp/api.sock).
      - Without it E(OFAPP_API) is used, else the socket C(/run/ofapp/api.sock) of the
        host that the
        module runs on, else C(http://127.0.0.1:8080).
    type: str
  token:
    description:
      - Token of the API, with role operator for changes. Root needs none over the socket.
      - Without it and O(token_file), E(OFAPP_TOKEN) is used.
    type: str
  token_file:
    description: A file with the token, on the host that the module runs on.
    type: path
  validate_certs:
    description: Refuse a certificate of the controller that is not trusted.
    type: bool
    default: true
  ca_path:
    description:
      - Certificates of authorities that are trusted, PEM. The default is those of the
        system.
    type: path
  client_cert:
    description: Certificate of this client, PEM, for a controller that demands one.
    type: path
  client_key:
    description: Private key of O(client_cert), unless it is in the same file.
    type: path
  timeout:
    description: Most seconds that a request takes.
    type: int
    default: 30
attributes:
  check_mode:
    description: Reports what would change, and changes nothing.
    support: full
  action_group:
    description: The group C(group/ofapp.bridge.all) of C(module_defaults).
    support: full
    membership: ofapp.bridge.all
"""

    BRIDGE = r"""
options:
  bridge:
    description: Name or datapath id of the bridge.
    type: str
    required: true
attributes:
  diff_mode:
    description: Shows the settings or the entry before and after.
    support: full
"""

    SECTION = r"""
options:
  state:
    description:
      - V(present) sets the options that are given, and leaves the others as they are.
      - V(replaced) also resets those that are not given to the defaults of ofapp.
      - V(absent) removes all of it; ports then have the settings of the patterns that fit them.
    type: str
    choices: [present, replaced, absent]
    default: present
"""

    ENTRY = r"""
options:
  state:
    description: Whether the entry exists.
    type: str
    choices: [present, absent]
    default: present
"""

# Copyright: the authors of ofapp
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Requests to the controller, and its refusals as errors of a module."""

from __future__ import annotations

import json
import os
import socket
import time
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode

from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.urls import open_url

SOCKET = "/run/ofapp/api.sock"
URL = "http://127.0.0.1:8080"
UNIX = "unix:"
PAGE = 5000
"""Entries of a page."""


def connection_spec():
    """The argument specification of the connection."""
    return {
        "api": {"type": "str", "fallback": (env_fallback, ["OFAPP_API"])},
        "token": {"type": "str", "no_log": True, "fallback": (env_fallback, ["OFAPP_TOKEN"])},
        "token_file": {"type": "path", "no_log": False},
        "validate_certs": {"type": "bool", "default": True},
        "ca_path": {"type": "path"},
        "client_cert": {"type": "path"},
        "client_key": {"type": "path", "no_log": False},
        "timeout": {"type": "int", "default": 30},
    }


def new_module(spec, required_if=()):
    """Make the module with these options and those of the connection."""
    return AnsibleModule(
        argument_spec={**connection_spec(), **spec},
        supports_check_mode=True,
        mutually_exclusive=[("token", "token_file")],
        required_if=required_if,
    )


class RefusedError(Exception):
    """An error of the controller, or no answer.  result: what the module's result has of it."""

    def __init__(self, msg, **result):
        super().__init__(msg)
        self.result = {"msg": msg, **result}


class Controller:
    """The controller that the options of a module name; its refusals end the module."""

    def __init__(self, module):
        self._module = module
        params = module.params
        place = params["api"] or (UNIX + SOCKET if _answers(SOCKET) else URL)
        self.place = place.rstrip("/")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        token = params["token"] or self._token_of_file(params["token_file"])
        if token:
            self._headers["Authorization"] = "Bearer " + token
        self._options = {
            "timeout": params["timeout"],
            "validate_certs": params["validate_certs"],
            "ca_path": params["ca_path"],
            "client_cert": params["client_cert"],
            "client_key": params["client_key"],
            "use_proxy": False,  # the controller may be on this machine
            "http_agent": "ofapp.bridge",
        }

    def get(self, path, **query):
        """Return the body of an answer."""
        return self.request("GET", path, query=query)

    def find(self, path, **query):
        """Return the body of an answer; None if there is no such thing."""
        return self.request("GET", path, query=query, missing_ok=True)

    def entries(self, path, **query):
        """Return all entries of a list, page by page."""
        result, cursor = [], None
        while True:
            page = self.get(path, limit=PAGE, cursor=cursor, **query)
            result += page["entries"]
            cursor = page["next"]
            if cursor is None:
                return result

    def request(self, method, path, body=None, query=None, missing_ok=False):
        """Return the body of an answer; an error ends the module."""
        try:
            return self.ask(method, path, body, query, missing_ok)
        except RefusedError as error:
            self._module.fail_json(**error.result)

    def ask(self, method, path, body=None, query=None, missing_ok=False):
        """Return the body of an answer; it may take as long as the option `timeout` says.

        Raises RefusedError.
        """
        url, options = self.place + path, dict(self._options)
        if self.place.startswith(UNIX):
            url = "http://localhost" + path
            options["unix_socket"] = self.place[len(UNIX) :]
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            url += "?" + urlencode(given, doseq=True)
        data = None if body is None else json.dumps(body)
        deadline = time.monotonic() + options["timeout"]
        while True:
            try:
                answer = open_url(url, data=data, method=method, headers=self._headers, **options)
                return self._content(answer.read())
            except HTTPError as error:
                # Right after a switch has connected its ports are not known yet.
                wait = error.headers.get("Retry-After") if error.code == 503 else None
                if wait and time.monotonic() + float(wait) < deadline:
                    time.sleep(float(wait))
                    continue
                if error.code == 404 and missing_ok:
                    return None
                raise _refusal(method, path, error) from None
            except (URLError, OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or error
                raise RefusedError(
                    f"no answer from the controller at {self.place}: {reason} (does"
                    " ofapp-manager run there? The option api says where)"
                ) from None

    def _content(self, data):
        if not data:
            return {}
        try:
            return json.loads(data)
        except ValueError:
            raise RefusedError(f"the server at {self.place} is not ofapp") from None

    def _token_of_file(self, path):
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, ValueError) as error:
            self._module.fail_json(msg=f"token_file: cannot read {path}: {error}")


def _refusal(method, path, error):
    """Return the controller's error, which names the field."""
    try:
        problem = json.loads(error.read())
        detail, fields = problem["detail"], problem.get("errors", [])
    except (ValueError, KeyError, TypeError):
        detail, fields = f"{method} {path}: {error.code} {error.reason}", []
    return RefusedError(detail, status=error.code, errors=fields)


def path_of(bridge, *below):
    """Return the path of a bridge, or of something below it."""
    parts = ("v1", "bridges", bridge, *below)
    return "".join("/" + quote(str(part), safe=":") for part in parts)


def _answers(path):
    """Whether a server listens on a UNIX socket."""
    if not os.path.exists(path):
        return False
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(path)
    except OSError:
        return False
    finally:
        client.close()
    return True

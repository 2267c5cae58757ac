"""/guide/: the documentation, for all who reach the API."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ofapp.controller.access import UserRole
from ofapp.controller.network import Network
from ofapp.docs import site


def test_the_controller_serves_every_file_without_a_token(network: Network, client: Any) -> None:
    network.access.tokens.create("ops", UserRole.OPERATOR, "root", 0.0)
    for path in ("", *site.names()):
        answer = client.get(f"/guide/{path}")
        assert answer.status_code == 200, path
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert not re.findall(r"unsafe|//|\*", policy)


def test_a_file_is_sent_once(client: Any) -> None:
    first = client.get("/guide/style.css")
    again = client.get("/guide/style.css", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("name", ["gone.html", "site.py", "../app.py", "..%2f__init__.py", "img"])
def test_there_are_no_other_files(client: Any, name: str) -> None:
    assert client.get(f"/guide/{name}").status_code in (404, 422)

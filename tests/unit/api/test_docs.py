"""The pages of the API's document."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ofapp.controller.access import UserRole
from ofapp.controller.network import Network


def references(text: str) -> list[str]:
    """What a page loads."""
    return re.findall(r'(?:src|href)="([^"]*)"', text)


def test_all_that_the_page_loads_comes_from_here(client: Any) -> None:
    page = client.get("/docs")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    loaded = [name for name in references(page.text) if name.startswith("docs/")]
    assert len(loaded) == 4
    others = {name for name in references(page.text) if not name.startswith(("docs/", "./"))}
    assert others == {"data:,", "guide/"}
    for name in loaded:
        file = client.get(f"/{name}")  # beside /docs, as a browser has it
        assert file.status_code == 200, name
        assert file.mimetype in ("text/javascript", "text/css")
        assert file.headers["X-Content-Type-Options"] == "nosniff"
    started = client.get("/docs/start.js").text
    (document,) = re.findall(r'url: "([^"]*)"', started)
    assert client.get(f"/{document}").json["paths"]
    assert "validatorUrl: null" in started  # else it would have the document checked elsewhere


def test_the_style_loads_nothing(client: Any) -> None:
    style = client.get("/docs/swagger-ui.css").text
    loaded = re.findall(r"url\(\s*[\"']?([^:)]*)", style)
    assert set(loaded) == {"data"}
    assert "@import" not in style


def test_nothing_that_is_written_into_the_page_would_run(client: Any) -> None:
    page = client.get("/docs")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.findall(r"//|\*", policy)
    assert not re.findall(r"<script>|<style>|\son\w+=|\sstyle=", page.text)


@pytest.mark.parametrize("name", ["x", "swagger.svg", "..%2f__init__.py", "x" * 100])
def test_there_are_no_other_files(client: Any, name: str) -> None:
    assert client.get(f"/docs/{name}").status_code in (404, 422)


def test_the_files_are_sent_once(client: Any) -> None:
    path = "/docs/swagger-ui-bundle.js"
    answer = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    again = client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_who_is_not_logged_in_gets_a_page_that_says_where(clients: Any, network: Network) -> None:
    client = clients(network)
    secret, _ = network.access.tokens.create("one", UserRole.VIEWER, "root", 0.0)
    page = client.get("/docs")
    assert (page.status_code, page.mimetype) == (401, "text/html")
    assert page.headers["WWW-Authenticate"].startswith("Bearer")
    assert '<a href="./">Log in</a>' in page.text
    assert "swagger" not in page.text
    assert client.get("/docs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    assert client.get("/openapi.json").status_code == 401

"""The document is true: schemathesis plays its every operation against a live server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ofapp.api.app import api_document
from ofapp.api.http.streams import EventItem
from ofapp.common import hub
from tests.unit.api import live
from tests.unit.api.network import DPID, STATIC, empty_network


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of `stp_network`."""
    with live.served("stp") as served:
        yield served


THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


def test_other_work_goes_on_while_the_document_is_made() -> None:
    turns = 0

    def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            hub.sleep(0)

    other = hub.spawn(work)
    api_document(empty_network())
    hub.kill(other)
    assert turns > 20


def test_the_document_knows_every_route(client: Any) -> None:
    document = client.get("/openapi.json").json
    assert document["openapi"].startswith("3.")
    assert {
        "/healthz",
        "/readyz",
        "/v1/version",
        "/v1/bridges",
        "/v1/config",
        "/v1/config/reload",
        "/v1/config/plan",
        "/v1/config/push",
        "/v1/config/versions",
        "/v1/config/versions/{number}",
        "/v1/config/versions/{number}/rollback",
        "/v1/config/difference",
        "/v1/cluster",
        "/v1/cluster/bridges",
        "/v1/cluster/members/{member}/drain",
        "/v1/cluster/members/{member}/undrain",
        "/v1/bridges/{dpid}",
        "/v1/bridges/{dpid}/settings",
        "/v1/bridges/{dpid}/ports",
        "/v1/bridges/{dpid}/ports/{port}",
        "/v1/bridges/{dpid}/ports/{port}/history",
        "/v1/bridges/{dpid}/ports/{port}/vlans/{vlan}",
        "/v1/bridges/{dpid}/vlans",
        "/v1/bridges/{dpid}/acls",
        "/v1/bridges/{dpid}/diagnosis",
        "/v1/bridges/{dpid}/lags",
        "/v1/bridges/{dpid}/lldp",
        "/v1/bridges/{dpid}/lldp/ports/{port}",
        "/v1/bridges/{dpid}/lldp/ports/{port}/free",
        "/v1/bridges/{dpid}/loop-protect",
        "/v1/bridges/{dpid}/loop-protect/ports/{port}",
        "/v1/bridges/{dpid}/loop-protect/ports/{port}/free",
        "/v1/bridges/{dpid}/first-hop",
        "/v1/bridges/{dpid}/first-hop/ports/{port}",
        "/v1/bridges/{dpid}/bindings",
        "/v1/bridges/{dpid}/bindings/{vlan}/{address}",
        "/v1/bridges/{dpid}/bindings/refused",
        "/v1/bridges/{dpid}/port-access",
        "/v1/bridges/{dpid}/port-access/ports/{port}",
        "/v1/bridges/{dpid}/port-access/reauthenticate",
        "/v1/bridges/{dpid}/port-access/clear",
        "/v1/bridges/{dpid}/lags/{lag}",
        "/v1/bridges/{dpid}/fdb",
        "/v1/bridges/{dpid}/fdb/{vlan}/{mac}",
        "/v1/bridges/{dpid}/fdb/held",
        "/v1/bridges/{dpid}/fdb/held/{vlan}/{mac}",
        "/v1/bridges/{dpid}/stp",
        "/v1/bridges/{dpid}/stp/ports/{port}",
        "/v1/bridges/{dpid}/stp/ports/{port}/migration-check",
        "/v1/bridges/{dpid}/stp/ports/{port}/recover",
        "/v1/bridges/{dpid}/mdb",
        "/v1/bridges/{dpid}/mdb/{vlan}/{group}/{port}",
        "/v1/bridges/{dpid}/multicast",
        "/v1/bridges/{dpid}/multicast/ports/{port}",
        "/v1/bridges/{dpid}/multicast/ports/{port}/vlans/{vlan}",
        "/v1/bridges/{dpid}/multicast/vlans/{vlan}",
        "/v1/fabrics",
        "/v1/fabrics/{fabric}",
        "/v1/fabrics/{fabric}/trace",
        "/v1/fdb",
        "/v1/bridges/{dpid}/ports/{port}/cable",
        "/v1/hosts",
        "/v1/hosts/{mac}/label",
        "/v1/load",
        "/v1/problems",
        "/v1/problems/kinds",
        "/v1/problems/{id}/acknowledgement",
        "/v1/topology",
        "/v1/search",
        "/v1/vendors",
        "/v1/events",
        "/v1/events/kinds",
        "/v1/events/stream",
        "/simpleswitch/mactable/{dpid}",
        "/v1/tokens",
        "/v1/tokens/{name}",
        "/v1/session",
        "/v1/recording",
        "/v1/what-if",
        "/metrics",
    } == set(document["paths"])
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            for status, response in operation["responses"].items():
                kind = "application/problem+json" if status >= "400" else None
                assert kind is None or list(response["content"]) == [kind]
            assert "503" in operation["responses"]


def test_what_no_query_can_hold_is_not_in_the_document(client: Any) -> None:
    for path in client.get("/openapi.json").json["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                assert "null" not in json.dumps(parameter["schema"]), parameter


def test_the_stream_of_events_is_described(client: Any) -> None:
    document = client.get("/openapi.json").json
    stream = document["paths"]["/v1/events/stream"]["get"]
    (header,) = [one for one in stream["parameters"] if one["in"] == "header"]
    assert header["schema"]["type"] == "string"
    (content,) = stream["responses"]["200"]["content"].items()
    assert content[0] == "text/event-stream"
    assert "EventItem" in content[1]["schema"]["description"]
    assert "EventItem" in document["components"]["schemas"]
    (data,) = re.findall("^data: (.*)$", content[1]["schema"]["example"], re.MULTILINE)
    EventItem.model_validate_json(data)


def play(
    url: str, folder: Path, *arguments: str, config: str = "", token: str = ""
) -> list[tuple[str, str, int]]:
    """(method, path, status) of what schemathesis has asked; it may have found nothing.

    token: for the document itself.

    All checks but one, whose idea of deletion is not ours: parameters that are reset, and VLANs
    that are left, can be had again.  One operation is left out: the stream, without end.
    """
    (folder / "schemathesis.toml").write_text(config)
    asked = urllib.request.Request(f"{url}/openapi.json")
    if token:
        asked.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(asked, timeout=30) as document:
        (folder / "openapi.json").write_bytes(document.read())
    command = [SCHEMATHESIS, "--config-file", "schemathesis.toml", "run", "openapi.json"]
    command += ["--url", url, "--checks", "all", "--exclude-checks", "use_after_free"]
    command += ["--exclude-path", "/v1/events/stream", "--no-color"]
    command += ["--report", "har", "--report-har-path", "asked.har"]
    command += ["--continue-on-failure", "--warnings", "off", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout
    entries = json.loads((folder / "asked.har").read_text())["log"]["entries"]
    return [
        (own["request"]["method"], urlsplit(own["request"]["url"]).path, own["response"]["status"])
        for own in entries
    ]


def test_schemathesis_finds_nothing(url: str, tmp_path: Path) -> None:
    play(url, tmp_path, "--max-examples", str(50 if THOROUGH else 10))


REAL = {
    "dpid": DPID,
    "port": "eth2",
    "vlan": "7",
    "mac": STATIC,
    "group": "239.7.7.7",
    "lag": "lag0",
    "name": "spare",
    "fabric": "mesh",
}
"""Objects, so that more than 404 is met."""

GONE = {"DELETE /v1/bridges/{dpid}", "DELETE /v1/bridges/{dpid}/fdb/{vlan}/{mac}"}
"""After these there would be nothing of it left."""

CHANGES_NOTHING = {("POST", "/v1/session"), ("DELETE", "/v1/session"), ("POST", "/v1/what-if")}
"""Everybody's who is known."""

ASKS_NOBODY = {"/healthz", "/readyz"}
OF_ADMINS = (
    "/v1/tokens",
    "/v1/config/plan",
    "/v1/config/reload",
    "/v1/config/push",
    "/v1/config/versions/",
    "/v1/config/difference",
)
MOST = 0.85
"""Share of what a role may read that has to be there: a cluster is not, nor what it has deleted."""


@pytest.mark.parametrize(
    "role",
    [
        *(pytest.param(role, marks=pytest.mark.thorough) for role in ("none", "viewer")),
        "operator",
        "admin",
    ],
)
def test_schemathesis_finds_nothing_with_a_token_of_each_role(role: str, tmp_path: Path) -> None:
    """And no role has done what it must not, but nearly all that it may.

    `test_access` asks each route as each role; the roles that change nothing are thorough here.
    Only with valid requests: to it one stays invalid when a path that is put in was all that was.
    """
    real = "".join(f'"path.{name}" = "{own}"\n' for name, own in REAL.items())
    arguments = ["--mode", "positive", "--max-examples", str(50 if THOROUGH else 1)]
    arguments += [] if THOROUGH else ["--phases", "fuzzing"]
    for name in GONE:
        arguments += ["--exclude-name", name]
    with live.closed() as (url, tokens):
        if role != "none":
            arguments += ["-H", f"Authorization: Bearer {tokens[role]}"]
        asked = play(
            url, tmp_path, *arguments, config=f"[parameters]\n{real}", token=tokens["viewer"]
        )
    done = {(method, path) for method, path, status in asked if status < 300}
    if role == "none":
        assert {path for _, path in done} == ASKS_NOBODY
        return
    changed = {(method, path) for method, path in done if method != "GET"} - CHANGES_NOTHING
    admins = {path for _, path in done if path.startswith(OF_ADMINS)}
    assert (role == "viewer") == (not changed)
    assert (role == "admin") == bool(admins)
    if role != "viewer":
        assert {method for method, _ in changed} == {"PUT", "POST", "PATCH", "DELETE"}
    reads = {(method, path) for method, path, status in asked if method == "GET" and status != 403}
    assert len(reads & done) >= MOST * len(reads), sorted(reads - done)

"""The document is true: schemathesis plays its every operation against a live server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api import live


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of `stp_network`."""
    with live.served("stp") as served:
        yield served


SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


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
        "/v1/config/push",
        "/v1/cluster",
        "/v1/cluster/bridges",
        "/v1/cluster/members/{member}/drain",
        "/v1/cluster/members/{member}/undrain",
        "/v1/bridges/{dpid}",
        "/v1/bridges/{dpid}/ports",
        "/v1/bridges/{dpid}/ports/{port}",
        "/v1/bridges/{dpid}/ports/{port}/vlans/{vlan}",
        "/v1/bridges/{dpid}/vlans",
        "/v1/bridges/{dpid}/acls",
        "/v1/bridges/{dpid}/lags",
        "/v1/bridges/{dpid}/lldp",
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
        "/v1/bridges/{dpid}/multicast/vlans/{vlan}",
        "/v1/fdb",
        "/v1/topology",
        "/v1/search",
        "/v1/vendors",
        "/v1/events",
        "/v1/events/stream",
        "/simpleswitch/mactable/{dpid}",
        "/v1/tokens",
        "/v1/tokens/{name}",
        "/v1/session",
        "/metrics",
    } == set(document["paths"])
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            for status, response in operation["responses"].items():
                kind = "application/problem+json" if status >= "400" else None
                assert kind is None or list(response["content"]) == [kind]


@pytest.mark.parametrize(
    ("config", "arguments"),
    [
        ("", ["--max-examples", "10"]),
        # On a bridge that there is, so that more than 404 is met.  Only with valid requests: to
        # schemathesis a request stays invalid when the bridge that is put in was all that was.
        (
            '[parameters]\n"path.dpid" = "0000000000000001"\n"path.port" = "eth2"\n',
            ["--mode", "positive"],
        ),
    ],
    ids=["anywhere", "on a bridge"],
)
def test_schemathesis_finds_nothing(
    url: str, tmp_path: Path, config: str, arguments: list[str]
) -> None:
    """All checks but one, whose idea of deletion is not ours: parameters that are reset, and
    VLANs that are left, can be had again.  One operation is left out: the stream, without end."""
    (tmp_path / "schemathesis.toml").write_text(config)
    command = [SCHEMATHESIS, "--config-file", "schemathesis.toml", "run", f"{url}/openapi.json"]
    command += ["--checks", "all", "--exclude-checks", "use_after_free"]
    command += ["--exclude-path", "/v1/events/stream", "--no-color"]
    command += ["--max-examples", "25", "--continue-on-failure", "--warnings", "off", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout

"""Members that ask each other for their callers, over real connections, in clear and over TLS."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.http.server import ApiServer
from ofapp.api.http.server import Place as ApiPlace
from ofapp.controller.access import Role
from ofapp.controller.cluster.election.claims import Claims
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.requests import Credentials, Peers, Request, SilentError
from ofapp.controller.cluster.peers.signing import Caller
from ofapp.controller.cluster.peers.surface import Place, Surface
from ofapp.controller.network import Network
from tests.support.etcd import FakeEtcd
from tests.unit.api.network import DPID, add_bridge, empty_network, learn, mac

KEYS = Keys("lab")
OTHER = "0000000000000002"
ROOT = Caller("root", "admin", "here")


@dataclass
class Member:
    """One that serves its API."""

    network: Network
    surface: Surface
    server: ApiServer

    def ask(
        self, method: str, path: str, body: object = None, token: str = ""
    ) -> tuple[int, Any, str | None]:
        """Status, body, and which member has answered where it was another."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        status, told, text = self._call(method, path, headers, body)
        return status, json.loads(text or "null"), told["Ofapp-Member"]

    def exchange(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: object = None
    ) -> tuple[int, Any]:
        """Status and headers."""
        return self._call(method, path, headers or {}, body)[:2]

    def _call(
        self, method: str, path: str, headers: dict[str, str], body: object
    ) -> tuple[int, Any, bytes]:
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        ) as http_:
            headers = {"Content-Type": "application/json", **headers}
            http_.request(method, path, None if body is None else json.dumps(body), headers)
            answer = http_.getresponse()
            text = answer.read()
            return answer.status, answer.headers, text


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of m1, m2 and m3, by one authority; `own` and `own-ca` are m1's by itself."""
    folder = tmp_path_factory.mktemp("members")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    openssl("req", "-x509", *key, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    for name in ("m1", "m2", "m3"):
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", "request")
        (folder / "ext").write_text(f"subjectAltName=DNS:{name}")
        sign = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", "request", *sign, "-extfile", "ext", "-out", f"{name}.pem")
    extension = ("-addext", "subjectAltName=DNS:m1")
    openssl(
        "req", "-x509", *key, *extension, "-subj", "/CN=m1", "-keyout", "own.key", "-out", "own.pem"
    )
    return folder


def shown(folder: Path, name: str) -> Credentials:
    return Credentials(folder / f"{name}.key", folder / f"{name}.pem", folder / "ca.pem")


@dataclass
class Site:
    """m1 looks after DPID, m2 after OTHER."""

    etcd: FakeEtcd
    members: dict[str, Member]
    folder: Path | None

    def stranger(self, name: str, certificate: str) -> Peers:
        """Somebody who has the secret, calls itself so and shows that certificate."""
        client = self.etcd.client()
        members = Members(client, KEYS.root, name, lambda _, event: None)
        members.start()
        return Peers(members, None if self.folder is None else shown(self.folder, certificate))


@pytest.fixture(scope="module", params=["clear", "tls"])
def site(request: pytest.FixtureRequest, certificates: Path) -> Iterator[Site]:
    folder = certificates if request.param == "tls" else None
    etcd = FakeEtcd()
    made: dict[str, Member] = {}
    with ExitStack() as stack:
        for name, datapath_id in (("m1", 1), ("m2", 2)):
            network = empty_network()
            bridge = add_bridge(network, datapath_id, f"br{datapath_id}")
            learn(network, bridge, *((1, 0, mac(n + 10 * datapath_id)) for n in range(5)))
            client = etcd.client()
            members = Members(client, KEYS.root, name, network.events.tell)
            claims = Claims(client, KEYS)
            cluster = SimpleNamespace(
                cluster="lab",
                members=members,
                claims=claims,
                lessee=SimpleNamespace(renewed=None, holds=True),
                current=True,
                expected=lambda claims=claims: {claim.datapath_id for claim in claims.all()},
            )
            members.start()
            claims.start()
            lease = client.grant(60).number
            members.register(lease, "1.0")
            claims.claim(datapath_id, lease, name, "it falls to this member")
            place = Place("127.0.0.1", 0, None if folder is None else shown(folder, name))
            surface = Surface(cluster, place)  # type: ignore[arg-type]
            server = ApiServer(network, ApiPlace("127.0.0.1", 0), surface)
            server.start()
            stack.callback(server.stop)
            made[name] = Member(network, surface, server)
        yield Site(etcd, made, folder)


def test_an_etag_is_of_the_bridges_own_member(site: Site) -> None:
    """All members give the same, and take it."""
    m1, m2 = site.members["m1"], site.members["m2"]
    path = f"/v1/bridges/{DPID}/stp"
    tags = [one.exchange("GET", path)[1]["ETag"].partition("-")[0] for one in (m1, m2)]
    assert tags[0] == tags[1]
    _, headers = m2.exchange("GET", path)
    seen = {"If-Match": headers["ETag"]}
    assert m2.exchange("GET", path, {"If-None-Match": 'W/"other"'})[0] == 200
    assert m2.exchange("PATCH", path, seen, {"priority": 4096})[0] == 200
    assert m2.exchange("PATCH", path, seen, {"priority": 8192})[0] == 412
    assert m1.ask("GET", path)[1]["parameters"]["priority"] == 4096


def test_each_answers_for_all(site: Site) -> None:
    for own, other, dpid in (("m1", "m2", OTHER), ("m2", "m1", DPID)):
        member = site.members[own]
        status, told, by = member.ask("GET", f"/v1/bridges/{dpid}")
        assert (status, told["datapath_id"], by) == (200, dpid, other)
        status, told, by = member.ask("GET", f"/v1/bridges/br{int(dpid)}/fdb?limit=2")
        assert (status, len(told["entries"]), by) == (200, 2, other)
        _, told, _ = member.ask("GET", "/v1/bridges")
        assert [one["datapath_id"] for one in told["bridges"]] == [DPID, OTHER]
        _, told, _ = member.ask("GET", "/v1/fdb?type=learned&limit=7")
        assert [one["mac"] for one in told["entries"]] == [
            mac(n) for n in (10, 11, 12, 13, 14, 20, 21)
        ]
        _, told, _ = member.ask("GET", f"/v1/fdb?type=learned&limit=7&cursor={told['next']}")
        assert [one["mac"] for one in told["entries"]] == [mac(n) for n in (22, 23, 24)]
        assert told["next"] is None
        _, told, _ = member.ask("GET", "/v1/search?q=eth1")
        assert [one["datapath_id"] for one in told["ports"]] == [DPID, OTHER]
    status, _, _ = site.members["m1"].ask("GET", "/v1/bridges/br9")
    assert status == 404


def test_who_asks_goes_with_the_request(site: Site) -> None:
    m1, m2 = site.members["m1"], site.members["m2"]
    tokens = m1.network.access.tokens
    viewer = tokens.create("grafana", Role.VIEWER, "root", 0.0)[0]
    operator = tokens.create("ops", Role.OPERATOR, "root", 0.0)[0]
    path, body = f"/v1/bridges/{OTHER}/fdb/0/{mac(99)}", {"port": "eth2"}
    assert m1.ask("PUT", path, body)[0] == 401
    assert m1.ask("PUT", path, body, viewer)[0] == 403
    status, told, by = m1.ask("PUT", path, body, operator)
    assert (status, told["type"], by) == (201, "static", "m2")
    (event,) = (one.event for one in m2.network.events.since(0) if one.event.kind == "audit.change")
    assert event.data["who"] == "token ops"
    assert event.data["from"] == "127.0.0.1 by way of m1"


def test_one_that_is_not_in_the_list_gets_nothing(site: Site) -> None:
    """It has the secret and a good certificate, and no lease."""
    reply = site.stranger("m3", "m3").ask("m1", Request("GET", "/v1/bridges", ROOT))
    assert reply.status == 401
    assert b"no member m3" in reply.body


@pytest.mark.parametrize("site", ["tls"], indirect=True)
def test_a_member_is_whom_its_certificate_names(site: Site) -> None:
    reply = site.stranger("m2", "m3").ask("m1", Request("GET", "/v1/bridges", ROOT))
    assert reply.status == 401
    assert b"the certificate of member m2 is one of m3" in reply.body
    with pytest.raises(SilentError):
        site.stranger("m2", "own").ask("m1", Request("GET", "/v1/bridges", ROOT))


def test_who_has_not_the_secret_gets_nothing(site: Site) -> None:
    peers = site.stranger("m2", "m2")
    peers._members._secret = b"guessed"
    reply = peers.ask("m1", Request("GET", "/healthz", ROOT))
    assert reply.status == 401
    assert b"not signed by one" in reply.body


def test_what_a_member_says_is_not_sent_on_again(site: Site) -> None:
    peers = site.stranger("m2", "m2")
    reply = peers.ask("m1", Request("GET", f"/v1/bridges/{OTHER}", ROOT))
    assert reply.status == 503
    assert b"member m2 owns" in reply.body


def test_one_that_does_not_answer_is_named(site: Site) -> None:
    m1, m2 = site.members["m1"], site.members["m2"]
    viewer = m1.network.access.tokens.create("late", Role.VIEWER, "root", 0.0)[0]
    m2.server.stop()  # the last test: it is the one that ends it
    status, told, _ = m1.ask("GET", f"/v1/bridges/{OTHER}", None, viewer)
    assert status == 503
    assert "member m2 owns bridge" in told["detail"]
    _, told, _ = m1.ask("GET", "/v1/bridges", None, viewer)
    assert [one["datapath_id"] for one in told["bridges"]] == [DPID]
    assert [one["member"] for one in told["silent"]] == ["m2"]
    status, told, _ = m1.ask("GET", "/v1/bridges/br2", None, viewer)
    assert status == 503
    assert "not all members answer" in told["detail"]

"""Members that ask each other for their callers, over real connections."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.http.server import ApiAddress as ApiPlace
from ofapp.api.http.server import ApiServer
from ofapp.controller.access import UserRole
from ofapp.controller.cluster.election.ownership import Claims
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.requests import CALLER, Caller, Peers, Request, SilentError
from ofapp.controller.cluster.peers.surface import PeerListener, Surface
from ofapp.controller.network import Network
from tests.support.etcd import FakeEtcd
from tests.support.waiting import wait_for
from tests.unit.api.network import DPID, add_bridge, empty_network, learn, mac

KEYS = Keys("lab")
OTHER = "0000000000000002"
LEASE = 60.0
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
        status, answered, text = self._call(method, path, headers, body)
        return status, json.loads(text or "null"), answered["Ofapp-Member"]

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


@dataclass
class Site:
    """m1 is master of DPID, m2 of OTHER."""

    etcd: FakeEtcd
    members: dict[str, Member]

    def peers(self, name: str, present: bool = True) -> Peers:
        """Another process with the cluster's etcd; present: it has a record there."""
        client = self.etcd.client()
        members = Members(client, KEYS.root, name, lambda _, event: None)
        members.start()
        if present:
            members.register(client.grant(LEASE).number, "1.0")
        return Peers(members)


def _member(stack: ExitStack, etcd: FakeEtcd, name: str, *owned: int) -> Member:
    """A member that owns bridges, by datapath id, until the stack is closed."""
    network = empty_network()
    client = etcd.client()
    members = Members(client, KEYS.root, name, network.events.emit)
    claims = Claims(client, KEYS)
    cluster = SimpleNamespace(
        cluster="lab",
        members=members,
        claims=claims,
        lease_keeper=SimpleNamespace(renewed=None, holds=True, seconds=2.0),
        takeover=2.5,
        current=True,
        expected=lambda: {claim.datapath_id for claim in claims.all()},
    )
    members.start()
    claims.start()
    lease = client.grant(100 * LEASE).number
    members.register(lease, "1.0")
    for datapath_id in owned:
        bridge = add_bridge(network, datapath_id, f"br{datapath_id}")
        learn(network, bridge, *((1, 0, mac(n + 10 * datapath_id)) for n in range(5)))
        claims.claim(datapath_id, lease, name, "it falls to this member")
    surface = Surface(cluster, PeerListener("127.0.0.1"))  # type: ignore[arg-type]
    server = ApiServer(network, ApiPlace("127.0.0.1", 0), surface)
    server.start()
    stack.callback(server.stop)
    return Member(network, surface, server)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    etcd = FakeEtcd()
    with ExitStack() as stack:
        made = {name: _member(stack, etcd, name, own) for name, own in (("m1", 1), ("m2", 2))}
        yield Site(etcd, made)


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
        status, answer, by = member.ask("GET", f"/v1/bridges/{dpid}")
        assert (status, answer["datapath_id"], by) == (200, dpid, other)
        status, answer, by = member.ask("GET", f"/v1/bridges/br{int(dpid)}/fdb?limit=2")
        assert (status, len(answer["entries"]), by) == (200, 2, other)
        _, answer, _ = member.ask("GET", "/v1/bridges")
        assert [one["datapath_id"] for one in answer["bridges"]] == [DPID, OTHER]
        _, answer, _ = member.ask("GET", "/v1/fdb?type=learned&limit=7")
        assert [one["mac"] for one in answer["entries"]] == [
            mac(n) for n in (10, 11, 12, 13, 14, 20, 21)
        ]
        _, answer, _ = member.ask("GET", f"/v1/fdb?type=learned&limit=7&cursor={answer['next']}")
        assert [one["mac"] for one in answer["entries"]] == [mac(n) for n in (22, 23, 24)]
        assert answer["next"] is None
        _, answer, _ = member.ask("GET", "/v1/search?q=eth1")
        assert [one["datapath_id"] for one in answer["ports"]] == [DPID, OTHER]
    status, _, _ = site.members["m1"].ask("GET", "/v1/bridges/br9")
    assert status == 404


def test_who_asks_goes_with_the_request(site: Site) -> None:
    m1, m2 = site.members["m1"], site.members["m2"]
    tokens = m1.network.access.tokens
    viewer = tokens.create("grafana", UserRole.VIEWER, "root", 0.0)[0]
    operator = tokens.create("ops", UserRole.OPERATOR, "root", 0.0)[0]
    path, body = f"/v1/bridges/{OTHER}/fdb/0/{mac(99)}", {"port": "eth2"}
    assert m1.ask("PUT", path, body)[0] == 401
    assert m1.ask("PUT", path, body, viewer)[0] == 403
    status, answer, by = m1.ask("PUT", path, body, operator)
    assert (status, answer["type"], by) == (201, "static", "m2")
    (event,) = (one.event for one in m2.network.events.since(0) if one.event.kind == "audit.change")
    assert event.data["who"] == "token ops"
    assert event.data["from"] == "127.0.0.1 by way of m1"


def test_a_member_that_would_die_answers_itself(site: Site) -> None:
    """It alone has copies of its switches."""
    for own, other in (("m1", "m2"), ("m2", "m1")):
        member = site.members[own]
        tokens = member.network.access.tokens
        viewer = tokens.create("asks", UserRole.VIEWER, "root", 0.0)[0]
        for name, by in ((other, other), (own, None)):
            status, answer, who = member.ask(
                "POST", "/v1/what-if", {"fail_member": name, "seconds": 5}, viewer
            )
            assert (status, who) == (200, by)
            what = f"another member has the switches of {name} after 2.5 s: its lease is 2 s"
            assert what in answer["assumptions"]
        question = {"fail_member": "m9"}
        status, answer, _ = member.ask("POST", "/v1/what-if", question, viewer)
        assert (status, "present are: m1, m2" in answer["detail"]) == (404, True)
        question = {"fail_member": own, "disconnected": 9}
        assert member.ask("POST", "/v1/what-if", question, viewer)[0] == 409
        tokens.revoke("asks")


def test_a_list_names_the_member_that_is_taking_a_bridge_over(site: Site) -> None:
    """Nothing is missing without a word: its ports are not known yet."""
    bridge = site.members["m2"].network.bridges[2]
    bridge.ports.complete = False
    try:
        for member in site.members.values():
            viewer = member.network.access.tokens.create("v", UserRole.VIEWER, "root", 0.0)[0]
            for path in ("/v1/bridges", "/v1/fdb", "/v1/search?q=eth"):
                _, answer, _ = member.ask("GET", path, None, viewer)
                why = {"member": "m2", "reason": f"it is taking over bridge {OTHER}"}
                assert why in answer["silent"], path
            assert member.ask("GET", f"/v1/bridges/{OTHER}/ports/eth1", None, viewer)[0] == 503
            member.network.access.tokens.revoke("v")
    finally:
        bridge.ports.complete = True


def test_a_process_without_a_record_gets_nothing(site: Site) -> None:
    refused = site.members["m1"].surface.refused
    before = refused["insecure"]
    with pytest.raises(SilentError, match="does not know this member"):
        site.peers("m3", present=False).ask("m1", Request("GET", "/healthz", ROOT))
    assert refused["insecure"] == before + 1


def test_the_certificate_of_a_former_process_of_a_member_is_refused(site: Site) -> None:
    """It was present, and another process has its name now."""
    former = site.peers("m3")
    assert former.ask("m1", Request("GET", "/healthz", ROOT)).status == 200
    client = site.etcd.client()
    client.delete(f"{KEYS.root}members/m3")
    present = site.peers("m3")
    assert present.ask("m1", Request("GET", "/healthz", ROOT)).status == 200
    refused = site.members["m1"].surface.refused
    before = refused["stranger"]
    reply = former.ask("m1", Request("GET", "/healthz", ROOT))  # by the connection that it has
    assert (reply.status, b"for present members" in reply.body) == (401, True)
    assert refused["stranger"] == before + 1
    former._reached.clear()
    with pytest.raises(SilentError, match="does not know this member"):
        former.ask("m1", Request("GET", "/healthz", ROOT))


def test_an_expired_member_is_refused(site: Site) -> None:
    peers = site.peers("m4")
    assert peers.ask("m1", Request("GET", "/healthz", ROOT)).status == 200
    site.etcd.advance(LEASE + 1)
    peers._members._members["m1"] = dataclasses.replace(
        site.members["m2"].surface.members.get("m1"), gone=None
    )
    assert peers.ask("m1", Request("GET", "/healthz", ROOT)).status == 401
    peers._reached.clear()
    with pytest.raises(SilentError, match="does not know this member"):
        peers.ask("m1", Request("GET", "/healthz", ROOT))


def test_a_server_with_another_certificate_gets_no_request(site: Site) -> None:
    """Also with that of another member: the address may be taken over by a hostile host."""
    asking = site.members["m1"].surface
    real = asking.members.get("m2")
    assert real is not None
    asking.members._members["m2"] = dataclasses.replace(
        real, certificate=asking.members.identity.certificate
    )
    try:
        with pytest.raises(SilentError, match="not the one in its record"):
            asking.peers.ask("m2", Request("GET", "/healthz", ROOT))
    finally:
        asking.members._members["m2"] = real
    assert asking.peers.ask("m2", Request("GET", "/healthz", ROOT)).status == 200


@pytest.mark.parametrize("how", ["clear", "no certificate", "tls 1.2"])
def test_a_connection_without_all_that_is_needed_is_closed(site: Site, how: str) -> None:
    surface = site.members["m1"].surface
    place = surface.members.get("m1")
    assert place is not None
    port = int(place.address.rpartition(":")[2])
    before = surface.refused["insecure"]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if how == "tls 1.2":
            context = site.members["m2"].surface.members.identity.client(place.certificate)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        answer = b""
        with contextlib.suppress(OSError):
            secure = client if how == "clear" else context.wrap_socket(client)
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: m1\r\n\r\n")
            answer = secure.recv(100)
        assert b"HTTP" not in answer
    wait_for(lambda: surface.refused["insecure"] > before, "it to be counted")


def test_a_client_of_the_api_cannot_speak_for_another(site: Site) -> None:
    """The header counts on the listener for members alone."""
    m1 = site.members["m1"]
    m1.network.access.tokens.create("any", UserRole.VIEWER, "root", 0.0)  # from now on it needs one
    header = {CALLER: json.dumps({"name": "root", "role": "admin", "address": "here"})}
    assert m1.exchange("GET", "/v1/bridges", header)[0] == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "x",
        "[]",
        '{"name":"root"}',
        '{"name":"r","role":"king","address":"a"}',
        '{"name":1,"role":[],"address":{}}',
    ],
)
def test_a_member_that_names_no_client_is_refused(site: Site, header: str) -> None:
    peers = site.members["m2"].surface.peers
    request = Request("GET", "/healthz", ROOT)
    whole = peers._reach(site.members["m2"].surface.members.get("m1")).request(  # type: ignore[arg-type]
        request.method, request.target, headers={CALLER: header}, retries=False
    )
    assert whole.status == 401


def test_a_member_of_an_earlier_version_is_named_and_not_waited_for(site: Site) -> None:
    client = site.etcd.client()
    key = f"{KEYS.root}members/old"
    with socket.create_server(("127.0.0.1", 0)) as old:
        at = f"http://127.0.0.1:{old.getsockname()[1]}"
        record = {"address": at, "since": 1, "version": "0.2.0", "incarnation": "x"}
        client.put(key, json.dumps(record).encode(), client.grant(LEASE).number)
        try:
            with pytest.raises(SilentError, match=r"0\.2\.0.*upgrade"):
                site.members["m1"].surface.peers.ask("old", Request("GET", "/healthz", ROOT))
            tokens = site.members["m1"].network.access.tokens
            viewer = tokens.create("x", UserRole.VIEWER, "root", 0.0)[0]
            _, answer, _ = site.members["m1"].ask("GET", "/v1/bridges", None, viewer)
            assert [one["member"] for one in answer["silent"]] == ["old"]
        finally:
            client.delete(key)
        old.setblocking(False)
        with pytest.raises(BlockingIOError):  # it was not asked
            old.accept()


def test_what_a_member_says_is_not_sent_on_again(site: Site) -> None:
    peers = site.members["m2"].surface.peers
    reply = peers.ask("m1", Request("GET", f"/v1/bridges/{OTHER}", ROOT))
    assert reply.status == 503
    assert b"member m2 owns" in reply.body


def test_a_request_goes_on_to_the_owner_that_the_former_owner_names() -> None:
    """m1 has not heard that m3 owns the bridge now; m2, its former owner, has."""
    etcd = FakeEtcd()
    with ExitStack() as stack:
        m1, m2, m3 = (
            _member(stack, etcd, name, *own) for name, own in (("m1", ()), ("m2", ()), ("m3", (3,)))
        )
        assert m2.surface.owner(3) == "m3"
        m1.surface.owner = lambda datapath_id: "m2"  # type: ignore[method-assign]
        path = f"/v1/bridges/{3:016x}/fdb/0/{mac(99)}"
        status, body, member = m1.ask("PUT", path, {"port": "eth1"})
        assert (status, member) == (201, "m3"), body
        (entry,) = m3.ask("GET", f"/v1/bridges/{3:016x}/fdb?mac={mac(99)}")[1]["entries"]
        assert entry["type"] == "static"
        m2.surface.owner = lambda datapath_id: "m1"  # type: ignore[method-assign]
        status, body, member = m1.ask("DELETE", path)
        assert (status, member) == (503, "m2"), body
        m2.surface.owner = lambda datapath_id: "m3"  # type: ignore[method-assign]
        m3.surface.owner = lambda datapath_id: "m2"  # type: ignore[method-assign]
        status, body, member = m1.ask("DELETE", path)
        assert (status, member) == (503, "m3"), body


def test_one_that_does_not_answer_is_named(site: Site) -> None:
    m1, m2 = site.members["m1"], site.members["m2"]
    viewer = m1.network.access.tokens.create("late", UserRole.VIEWER, "root", 0.0)[0]
    m2.server.stop()  # the last test: it is the one that ends it
    status, answer, _ = m1.ask("GET", f"/v1/bridges/{OTHER}", None, viewer)
    assert status == 503
    assert "member m2 owns bridge" in answer["detail"]
    _, answer, _ = m1.ask("GET", "/v1/bridges", None, viewer)
    assert [one["datapath_id"] for one in answer["bridges"]] == [DPID]
    assert [one["member"] for one in answer["silent"]] == ["m2"]
    status, answer, _ = m1.ask("GET", "/v1/bridges/br2", None, viewer)
    assert status == 503
    assert "not all members answer" in answer["detail"]

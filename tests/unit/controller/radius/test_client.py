"""The client of RADIUS servers over real sockets: why no answer of a server is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.bridge.port_access.params import BridgeParams
from ofapp.common import hub
from ofapp.controller.radius import client
from ofapp.controller.radius.client import Client
from tests.unit.controller.radius.test_packets import ACCEPT, QUESTION, SECRET, reply

Serve = Callable[..., Client]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    """Makes a client of one server, which makes its answers by the function that is given."""
    monkeypatch.setattr(client, "socket", hub.socket)
    opened = hub.socket.socket(hub.socket.AF_INET, hub.socket.SOCK_DGRAM)
    opened.bind(("127.0.0.1", 0))
    file, ends = tmp_path / "secret", list[Callable[[], object]]()
    file.write_bytes(SECRET)

    def made(answer: Callable[[Any], bytes] | None) -> Client:
        place = f"127.0.0.1:{opened.getsockname()[1]}"

        def run() -> None:
            while answer is not None:
                octets, peer = opened.recvfrom(4096)
                opened.sendto(answer(SimpleNamespace(octets=octets)), peer)

        if answer is None:
            opened.close()
        else:
            server = hub.spawn(run)
            ends.append(lambda: hub.kill(server))
        params = BridgeParams(place, str(file), server_timeout=1, server_tries=2)
        found = Client(params)
        ends.append(found.close)
        return found

    yield made
    for end in ends:
        end()
    opened.close()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda to: reply(to, ACCEPT, secret=b"other"), "signs its answers by another secret"),
        (lambda to: reply(to, ACCEPT, signed=False), "does not sign its answers"),
        (None, "refuses requests: nothing listens there"),
    ],
    ids=["another secret", "unsigned", "closed"],
)
def test_a_server_whose_answers_are_not_taken_is_named_with_the_reason(
    serve: Serve, answer: Callable[[Any], bytes] | None, why: str
) -> None:
    asked = serve(answer)
    said = asked.ask(QUESTION, "br0", 1)
    assert said.verdict == "silent"
    assert said.message.startswith(f"no RADIUS server answers: {asked.params.servers} {why}")


def test_of_a_server_that_says_nothing_no_more_is_known(serve: Serve) -> None:
    said = serve(lambda to: b"").ask(QUESTION, "br0", 1)
    assert (said.verdict, said.message) == ("silent", "")


def test_an_answer_that_is_signed_is_taken(serve: Serve) -> None:
    asked = serve(lambda to: reply(to, ACCEPT))
    assert asked.ask(QUESTION, "br0", 1).verdict == "accept"
    assert not asked.dead(0.0)

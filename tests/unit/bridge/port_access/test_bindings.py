"""Bindings of hosts on controlled ports: they end with the session, unless it begins again soon."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ofapp.bridge.effects import AskServer
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as Controlled
from tests.support.dhcp_frames import dad
from tests.unit.bridge.first_hop.guarded import (
    GUEST,
    A,
    B,
    Guarded,
    address,
    guarded_bridge,
    tap,
)

X, Y = "10.0.0.9", "10.0.0.10"
SIX = "fe80::1"
HOUR = 3600
REMAINS = 20.0
"""Twice the quiet period of the ports."""


def controlled(authentication: str = "mab", host_mode: str = "multi_auth") -> BridgeParams:
    """Guests' ports that are controlled."""
    access = Controlled(authentication, host_mode, reauth_period=0, quiet_period=10)  # type: ignore[arg-type]
    ports = {"tap*": PortParams(first_hop=GUEST, port_access=access)}
    return BridgeParams(ports=ports, port_access=AccessParams(servers="192.0.2.1"))


def authorise(guarded: Guarded, mac: int, port: int = 11) -> None:
    """A host sends a frame, and the server accepts its address."""
    frame = b"\xff" * 6 + mac.to_bytes(6, "big") + b"\x08\x00" + bytes(46)
    asked = guarded.do(guarded.bridge.hear("first_frame", [(port, frame)], guarded.now))
    (question,) = (each for each in asked if isinstance(each, AskServer))
    effects = guarded.bridge.port_access.answer(question.number, Answer("accept"), guarded.now)
    guarded.do(guarded.bridge.carry_out(effects, guarded.now))


def clear(guarded: Guarded, mac: int | None = None) -> None:
    """An operator, or a server, ends the sessions of a host or of all hosts."""
    effects = guarded.bridge.port_access.clear(None, mac, guarded.now)
    guarded.do(guarded.bridge.carry_out(effects, guarded.now))


@pytest.fixture
def guarded() -> Guarded:
    """Two hosts with an address each, on one port."""
    made = Guarded(guarded_bridge(controlled()))
    for mac, leased in ((A, X), (B, Y)):
        authorise(made, mac)
        assert made.lease(11, mac, leased)
    return made


def test_a_binding_ends_with_the_session_and_those_of_other_hosts_stay(guarded: Guarded) -> None:
    clear(guarded, A)
    guarded.wait(REMAINS - 1)
    assert guarded.owner(X) == ("tap11", A)
    guarded.wait(2)
    assert guarded.owner(X) is None
    assert guarded.owner(Y) == ("tap11", B)
    assert guarded.switch == guarded.wanted()


def test_a_host_that_is_authorised_again_keeps_its_addresses_until_its_lease_ends(
    guarded: Guarded,
) -> None:
    clear(guarded, A)
    guarded.wait(REMAINS - 1)
    authorise(guarded, A)
    guarded.wait(HOUR / 2)
    assert guarded.owner(X) == ("tap11", A)
    guarded.wait(HOUR / 2)
    assert guarded.owner(X) is None


def test_an_address_by_neighbour_discovery_ends_too(guarded: Guarded) -> None:
    guarded.hear("nd", 11, dad(A, SIX).frame)
    guarded.wait(2)
    assert guarded.owner(SIX) == ("tap11", A)
    clear(guarded, A)
    guarded.wait(REMAINS + 10)  # the host is asked first, and its answers do not pass
    assert guarded.owner(SIX) is None


def test_bindings_of_users_stay(guarded: Guarded) -> None:
    own = "tap11", 0, A, address("10.0.0.77"), Origin.API
    guarded.do(guarded.first_hop.add(*own, guarded.now))
    clear(guarded)
    guarded.wait(REMAINS + 1)
    assert [each.origin for each in guarded.first_hop.bindings()] == [Origin.API]


def opens(guarded: Guarded) -> None:
    """The port is controlled no longer."""
    params = controlled("off")
    guarded.do(guarded.bridge.set_params(params, guarded.now))


def is_authenticated_otherwise(guarded: Guarded) -> None:
    """The hosts have to authenticate again, and do not."""
    guarded.do(guarded.bridge.set_params(controlled("mab_dot1x"), guarded.now))


def flaps(guarded: Guarded) -> None:
    """The link is down for a moment, and no host authenticates again."""
    guarded.link(11, False)
    guarded.link(11, True)


@pytest.mark.parametrize(
    ("happens", "kept"), [(opens, True), (is_authenticated_otherwise, False), (flaps, False)]
)
def test_what_becomes_of_bindings_when(
    guarded: Guarded, happens: Callable[[Guarded], None], kept: bool
) -> None:
    happens(guarded)
    guarded.wait(REMAINS + 1)
    assert (guarded.owner(X) is not None) is kept


def test_the_host_that_opens_a_port_for_all_ends_the_bindings_of_all() -> None:
    made = Guarded(guarded_bridge(controlled(host_mode="multi")))
    authorise(made, A)
    assert made.lease(11, A, X)
    assert made.lease(11, B, Y)
    clear(made, A)
    made.wait(REMAINS + 1)
    assert list(made.first_hop.bindings()) == []


def test_a_session_that_has_ended_while_no_controller_was_there_takes_its_bindings_along(
    guarded: Guarded,
) -> None:
    sessions = guarded.bridge.port_access.dump()
    sessions["hosts"] = [host for host in sessions["hosts"] if host["mac"].endswith("0b")]
    new = Guarded(guarded_bridge(controlled(), taps=0))
    new.bridge.first_hop.restore({**guarded.first_hop.dump(), "passed": 1.0})
    new.bridge.port_access.restore({**sessions, "passed": 1.0})
    new.do(new.bridge.set_ports([tap(11)], new.now))
    new.do(new.bridge.go_on(new.now))
    new.wait(REMAINS + 1)
    assert new.owner(X) is None
    assert new.owner(Y) == ("tap11", B)

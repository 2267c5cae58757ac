"""What a server grants a host, through the whole bridge: VLANs, an access list, rates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ofapp.bridge.effects import Reprogram
from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.params import BridgeParams, used_lists
from ofapp.bridge.params.policy import AclRule, Policies, PortPolicy
from ofapp.bridge.port_access.answer import UNCLEAR, Answer, Egress
from ofapp.bridge.port_access.port import Admission, AdmittedHost
from ofapp.bridge.ports.vlan import PortVlans
from tests.unit.bridge.port_access.controlled import (
    ACCEPT,
    ALICE,
    BOB,
    CLOSED,
    Site,
    params,
    port,
)

LISTS = Policies(acls={"guests": (AclRule("all"),), "staff": (AclRule("all"),)})
TAGGED_30 = Egress(True, "30")


def with_lists(**values: object) -> BridgeParams:
    """The parameters of `controlled.params`, with access lists."""
    return replace(params(vlan=10, **values), policies=LISTS)


def said(site: Site) -> str:
    """The last event."""
    return site.events[-1].message


def change(site: Site, answer: Answer, mac: int = ALICE) -> None:
    """The server changes a session."""
    effects = site.bridge.port_access.change("eth1", mac, answer, site.now)
    site.done(site.bridge.carry_out(effects, site.now))
    site.wait(1.0)


def test_an_access_list_is_that_of_the_host_and_others_keep_theirs() -> None:
    site = Site(with_lists(host_mode="multi_auth"))
    site.login(answer=replace(ACCEPT, filters=("guests",)))
    site.login(BOB)
    assert site.admits() == Admission((AdmittedHost(ALICE, 0, "guests"), AdmittedHost(BOB)))
    (first, _) = [each for each in site.events if each.kind == "port_access.authorised"]
    assert "alice is authorised by dot1x, with access list guests" in first.message


def test_the_host_that_opens_a_port_brings_its_access_list() -> None:
    site = Site(with_lists(host_mode="multi"))
    site.login(answer=replace(ACCEPT, filters=("staff",)))
    assert site.admits() == Admission(open=True, acl="staff")


def test_lists_are_in_the_switch_before_a_server_names_them() -> None:
    assert used_lists(with_lists()).keys() == {"guests", "staff"}
    assert not used_lists(with_lists(authentication="off"))
    assert not used_lists(replace(with_lists(), port_access=None))


@pytest.mark.parametrize(
    ("mode", "answer", "why"),
    [
        ("single", replace(ACCEPT, filters=("gusts",)), "access list 'gusts' of the server does"),
        ("single", replace(ACCEPT, filters=("guests", "staff")), "names several access lists"),
        ("single", replace(ACCEPT, egress=(Egress(True, "absent"),)), "VLAN 'absent' of the"),
        (
            "single",
            replace(ACCEPT, egress=(TAGGED_30, Egress(False, "30"))),
            "VLAN 30 is tagged and untagged",
        ),
        (
            "single",
            replace(ACCEPT, egress=(Egress(False, "30"), Egress(False, "31"))),
            "several VLANs are untagged",
        ),
        ("multi_auth", replace(ACCEPT, egress=(TAGGED_30,)), "with multi_auth a host has one VLAN"),
        ("multi_auth", replace(ACCEPT, up=1), "with multi_auth no host sets a rate"),
        ("multi_auth", replace(ACCEPT, down=1), "with multi_auth no host sets a rate"),
        ("single", replace(ACCEPT, up=UNCLEAR), "several values of WISPr-Bandwidth-Max-Up"),
        ("single", replace(ACCEPT, down=UNCLEAR), "several values of WISPr-Bandwidth-Max-Down"),
        ("single", replace(ACCEPT, timeout=UNCLEAR), "several values of Session-Timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rights_that_cannot_be_given_are_a_refusal_with_the_reason(
    mode: str, answer: Answer, why: str
) -> None:
    site = Site(with_lists(host_mode=mode))
    site.login(answer=answer)
    site.wait(1.0)
    assert site.admits() == CLOSED
    assert site.kinds() == ["port_access.refused"]
    assert why in said(site)


@pytest.mark.parametrize(
    ("answer", "vlans"),
    [
        (
            replace(ACCEPT, vlan="20", egress=(TAGGED_30, Egress(True, "31"))),
            PortVlans(frozenset({20, 30, 31}), frozenset({20}), 20, True),
        ),
        (
            replace(ACCEPT, egress=(TAGGED_30,)),
            PortVlans(frozenset({10, 30}), frozenset({10}), 10, True),
        ),
        (
            replace(ACCEPT, egress=(TAGGED_30, Egress(False, "staff"))),
            PortVlans(frozenset({20, 30}), frozenset({20}), 20, True),
        ),
        (
            replace(ACCEPT, vlan="20", egress=(Egress(False, "31"),)),
            PortVlans(frozenset({20, 31}), frozenset({20, 31}), 20, False),
        ),
        (
            replace(ACCEPT, vlan="20", egress=(Egress(True, "20"),)),
            PortVlans(frozenset({20}), frozenset(), 20, True),
        ),
    ],
    ids=["native and tagged", "tagged", "native by egress", "untagged", "native that is tagged"],
)
def test_further_vlans_of_a_port(answer: Answer, vlans: PortVlans) -> None:
    site = Site(with_lists())
    site.login(answer=answer)
    assert site.admits() == CLOSED, "the port opens when its VLANs are set"
    site.wait(1.0)
    assert site.bridge.desired_port(1).vlans == vlans
    assert site.admits() == Admission((AdmittedHost(ALICE),))


@pytest.mark.parametrize(("bits", "kbits"), [(5_000_000, 5000), (1, 64), (2**32 - 1, 4_294_967)])
@pytest.mark.parametrize(("said", "rate"), [("up", "rate_in"), ("down", "rate_out")])
def test_a_rate_is_that_of_the_port_while_the_host_is_there(
    said: str, rate: str, bits: int, kbits: int
) -> None:
    site = Site(with_lists())
    site.login(answer=replace(ACCEPT, **{said: bits}))
    site.wait(1.0)
    assert site.bridge.desired_port(1).policy == PortPolicy(**{rate: kbits})
    assert Reprogram() in site.effects
    site.done(site.bridge.put_port(port(1, up=False), site.now))
    site.wait(1.0)
    assert getattr(site.bridge.port_policies.policy(1), rate) is None


def test_a_host_with_a_rate_in_one_direction_keeps_the_rate_of_the_port_in_the_other() -> None:
    there = with_lists()
    own = replace(there.port("eth1", 1), policy=PortPolicy(rate_in=100, rate_out=200))
    site = Site(replace(there, ports={**there.ports, "eth1": own}))
    site.login(answer=replace(ACCEPT, down=300_000))
    site.wait(1.0)
    policy = site.bridge.desired_port(1).policy
    assert (policy.rate_in, policy.rate_out) == (100, 300)


def test_a_server_changes_what_it_names_and_the_rest_stays() -> None:
    site = Site(with_lists())
    site.login(answer=replace(ACCEPT, vlan="20", filters=("guests",), timeout=500))
    site.wait(1.0)
    change(site, replace(ACCEPT, filters=("staff",)))
    assert site.admits() == Admission((AdmittedHost(ALICE, 0, "staff"),))
    change(site, replace(ACCEPT, vlan="30", up=128_000))
    change(site, replace(ACCEPT, down=256_000))
    (host,) = site.bridge.port_access.hosts(site.now)
    assert host.rights == (30, (), (), "staff", 128, 256)
    assert site.bridge.desired_port(1).vlans.pvid == 30
    assert host.left == pytest.approx(500 - 4)
    change(site, replace(ACCEPT, timeout=10))
    site.wait(9.5)
    assert site.admits() == CLOSED


def test_a_change_that_cannot_be_made_changes_nothing() -> None:
    site = Site(with_lists())
    site.login(answer=replace(ACCEPT, filters=("guests",)))
    with pytest.raises(InputError, match="'gusts' of the server does not exist"):
        change(site, replace(ACCEPT, vlan="20", filters=("gusts",)))
    with pytest.raises(InputError, match="no controlled port has a host"):
        change(site, ACCEPT, BOB)
    assert site.admits() == Admission((AdmittedHost(ALICE, 0, "guests"),))
    assert not site.bridge.port_policies.granted


def test_a_host_whose_list_is_taken_away_begins_again() -> None:
    site = Site(with_lists(authentication="mab"))
    site.first_frame(ALICE)
    site.answer(replace(ACCEPT, filters=("guests",)))
    left = replace(LISTS, acls={"staff": LISTS.acls["staff"]})
    site.done(site.bridge.set_params(replace(site.bridge.params, policies=left), site.now))
    assert site.admits() == CLOSED
    (ended,) = [each for each in site.events if each.kind == "port_access.ended"]
    assert "its access list is gone" in ended.message
    site.first_frame(ALICE)
    site.answer(ACCEPT)
    assert site.admits() == Admission((AdmittedHost(ALICE),))


def test_rights_outlive_a_restart_unless_their_list_is_gone() -> None:
    site = Site(with_lists())
    granted = replace(ACCEPT, vlan="20", egress=(TAGGED_30,), filters=("guests",), up=256_000)
    granted = replace(granted, down=512_000)
    site.login(answer=granted)
    site.login(BOB, number=2, answer=replace(ACCEPT, filters=("staff",)))
    site.wait(1.0)
    stored = {**site.bridge.port_access.dump(), "passed": 0.0}
    left = replace(LISTS, acls={"guests": LISTS.acls["guests"]})

    def restarted(parameters: BridgeParams) -> Site:
        return Site(parameters, begin=lambda bridge: bridge.port_access.restore(stored))

    after = restarted(replace(with_lists(), policies=left))
    after.done(after.bridge.go_on(0.0))
    after.wait(1.0)
    assert after.admits(1) == Admission((AdmittedHost(ALICE, 0, "guests"),))
    assert after.admits(2) == CLOSED
    assert after.bridge.desired_port(1).vlans.vids == {20, 30}
    policy = after.bridge.desired_port(1).policy
    assert (policy.rate_in, policy.rate_out) == (256, 512)

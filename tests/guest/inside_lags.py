"""What runs inside the machine whose kernel has bonding and team: python -m tests.guest.inside_lags
FILE [all].

One switch of ofapp on the kernel's datapath, and one peer of Linux's after the other at the end of
its aggregation.  Writes to FILE, as JSON, what became of each: figures, or what went wrong.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.bonds import LAG, Cable, Mode, OfappSide, Pair, Side, cable
from tests.support.kernelbonds import BridgedSide, KernelSide, TeamSide
from tests.support.lab import Host, Stream, frame, sh
from tests.support.stp_peers import TIMERS
from tests.support.waiting import wait_for

HANDLERS_FROM = 11.0
"""Seconds of uptime below which Open vSwitch 3.1 starts without upcall handlers, for good."""
MODULES = (
    *("openvswitch", "bridge", "veth", "bonding"),
    *("team", "team_mode_loadbalance", "team_mode_roundrobin"),
)
RATE = 1000
RETURNS = 2
"""Times that the pulled cable is plugged in again; each time the peer chooses again."""
FAST, SLOW, STATIC = Mode("active", "fast"), Mode("active", "slow"), Mode("off")
BROADCAST = "ff:ff:ff:ff:ff:ff"

STP_CONFIG = f"defaults: {{stp: {TIMERS}}}"
STP_SECONDS = 40
"""Spanning tree of 1998 at the other end: twice the forward delay, and an age to forget."""

Facts = dict[str, object]


@dataclass(frozen=True)
class Case:
    """make: the peer; long: not in every run."""

    make: Callable[[], Side]
    mine: Mode
    theirs: Mode
    long: bool = False


CASES = {
    "802.3ad, fast": Case(lambda: KernelSide(2), FAST, FAST),
    "balance-xor": Case(lambda: KernelSide(2, xmit_hash_policy="layer2+3"), STATIC, STATIC),
    "team": Case(lambda: TeamSide(2), FAST, FAST),
    "802.3ad, slow": Case(
        lambda: KernelSide(2, xmit_hash_policy="layer3+4"), SLOW, SLOW, long=True
    ),
    "802.3ad, passive": Case(lambda: KernelSide(2), FAST, Mode("passive", "fast"), long=True),
    "passive to team": Case(lambda: TeamSide(2), Mode("passive", "slow"), FAST, long=True),
    "team, loadbalance": Case(lambda: TeamSide(2), STATIC, STATIC, long=True),
}


def passes(one: Host, other: Host) -> None:
    """Every frame arrives once, both ways; broadcasts too, and none comes back."""
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(100)
        assert (there.lost(), back.lost()) == (0, 0)
        assert (there.doubled(), back.doubled()) == (0, 0)
    with one.wire() as left, other.wire() as right:
        for wire, ear, side in ((left, right, 1), (right, left, 2)):
            sent = {
                frame(BROADCAST, f"02:0c:00:0{side}:00:{number:02x}", b"once")
                for number in range(32)
            }
            for known in sent:
                wire.send(known)
            got: list[bytes] = []

            def all_there(ear=ear, got=got, sent=sent) -> bool:  # type: ignore[no-untyped-def]
                got += [known for known in ear.received() if known in sent]
                return set(got) == sent

            wait_for(all_there, "broadcasts")
            assert len(got) == len(sent), "a broadcast came twice"
            assert not [known for known in wire.received() if known in sent], "it came back"


def pulled(pair: Pair) -> dict[str, int]:
    """Frames that are lost when the cable is pulled that carries them, and plugged in again."""
    with Stream(pair.left.host, pair.right.host, RATE) as stream:
        cable = pair.carrying()
        cable.cut()
        others = [one for one in pair.cables if one is not cable]
        pair.left.wait_used([one.left for one in others])
        stream.more(300)
        lost = stream.lost()
    facts = {"pulled": lost, "plugged in": 0, "plugged in, from the peer": 0, "doubled": 0}
    for _ in range(RETURNS):
        pair.right.wait_used([one.right for one in others])
        one, other = pair.left.host, pair.right.host
        with Stream(one, other, RATE) as there, Stream(other, one, RATE) as back:
            cable.restore()
            pair.wait_all()
            there.more(100)
            facts["plugged in"] += there.lost()
            facts["plugged in, from the peer"] += back.lost()
            facts["doubled"] += there.doubled() + back.doubled()
        cable.cut()
        pair.left.wait_used([one.left for one in others])
    cable.restore()
    pair.wait_all()
    return facts


def tried(ours: OfappSide, case: Case) -> Facts:
    """What became of one peer."""
    peer = case.make()
    try:
        pair = Pair(ours, peer, mode=case.mine, right_mode=case.theirs)
        passes(pair.left.host, pair.right.host)
        facts: Facts = {"lost": pulled(pair)}
        passes(pair.left.host, pair.right.host)
        return facts
    except Exception:
        return {"error": f"{traceback.format_exc()}\n{peer.describe()}"}
    finally:
        peer.close()


def min_links(ours: OfappSide) -> Facts:
    """Whether each end calls its aggregation up: with both cables, with one, with both again."""
    peer = KernelSide(2, min_links=2)
    try:
        pair = Pair(ours, peer, mode=FAST)
        ours.configure({LAG: [one.left for one in pair.cables]}, FAST, min_links=2)
        pair.wait_all()
        seen = []
        for change in (lambda: None, pair.cables[0].cut, pair.cables[0].restore):
            change()
            wanted = change != pair.cables[0].cut
            wait_for(lambda w=wanted: ours.lag()["up"] is w, "ours to follow")
            wait_for(lambda w=wanted: peer.carries() is w, "Linux's to follow")
            seen.append([ours.lag()["up"], peer.carries()])
        pair.wait_all()
        passes(pair.left.host, pair.right.host)
        return {"up": seen}
    except Exception:
        return {"error": f"{traceback.format_exc()}\n{peer.describe()}"}
    finally:
        peer.close()


def spanning_tree() -> Facts:
    """Two aggregations with Linux's bridge and its spanning tree at their other end: who forwards
    at first, with all cables of that one pulled, and with them back."""
    ours, peer = OfappSide(3, "system", STP_CONFIG), BridgedSide(4)
    try:
        cables = [cable(ours.namespace, peer.namespace) for _ in range(4)]
        lags = {"lag0": cables[:2], "lag1": cables[2:]}
        for name, some in lags.items():
            peer.bond(name, [one.right for one in some], FAST)
        ours.configure({name: [one.left for one in some] for name, some in lags.items()}, FAST)
        for one in cables:
            ours.plug(one.left)
        facts: Facts = {"first": (first := _tree(ours, peer, lags))}
        for one in lags[first]:
            one.cut()
        facts["pulled"] = _tree(ours, peer, {k: v for k, v in lags.items() if k != first})
        for one in lags[first]:
            one.restore()
        return facts | {"back": _tree(ours, peer, lags)}
    except Exception:
        return {
            "error": f"{traceback.format_exc()}\n{peer.describe()}\n{ours.controller.log()[-2000:]}"
        }
    finally:
        peer.close()
        ours.close()


def _tree(ours: OfappSide, peer: BridgedSide, lags: dict[str, list[Cable]]) -> str:
    """The aggregation that forwards at both ends, once it is one alone and every frame passes.

    The spanning tree of 1998 has bridges forget addresses for a while after a change.
    """

    def forwarding() -> list[str]:
        there = peer.states()
        tree = ours.controller.get(f"/v1/bridges/{ours.switch.bridge.dpid16}/stp")
        here = {port["name"]: port["state"] for port in tree["ports"]}
        return [n for n in lags if here.get(n) == "forwarding" == there[n]]

    def used() -> bool:
        return all(
            {one["name"] for one in ours.lag(name)["members"] if one["distributing"]}
            == {one.left.interface for one in some}
            for name, some in lags.items()
        )

    wait_for(lambda: used() and len(forwarding()) == 1, "one tree", seconds=STP_SECONDS)
    one, other = ours.host, peer.host
    wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=STP_SECONDS)
    wait_for(lambda: _lost(one, other) == (0, 0), "no frame to be lost", seconds=STP_SECONDS)
    return forwarding()[0]


def _lost(one: Host, other: Host) -> tuple[int, int]:
    """Frames there and back; none comes twice, while bridges are still forgetting as well."""
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(200)
        lost = there.lost(), back.lost()
        assert (there.doubled(), back.doubled()) == (0, 0)
        return lost


def main() -> None:
    file, everything = Path(sys.argv[1]), "all" in sys.argv[2:]
    facts: dict[str, Facts] = {}
    try:
        for module in MODULES:
            sh("modprobe", module)
        sh("ip", "link", "set", "lo", "up")
        wait_for(
            lambda: float(Path("/proc/uptime").read_text().split()[0]) > HANDLERS_FROM,
            "upcall handlers",
            seconds=HANDLERS_FROM,
        )
        ours = OfappSide(1, "system")
        for name, case in CASES.items():
            if everything or not case.long:
                facts[name] = tried(ours, case)
        facts["min_links"] = min_links(ours)
        if everything:
            facts["spanning tree"] = spanning_tree()
        facts["log"] = {"trouble": "Traceback" in ours.controller.log()}
    except BaseException:
        facts["error"] = {"error": traceback.format_exc()}
    file.write_text(json.dumps(facts))


if __name__ == "__main__":
    main()

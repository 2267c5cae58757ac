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
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.bonds import Mode, OfappSide, Pair, Side
from tests.support.kernelbonds import KernelSide, TeamSide
from tests.support.lab import Stream, frame, sh
from tests.support.waiting import wait_for

HANDLERS_FROM = 11.0
"""Seconds of uptime below which Open vSwitch 3.1 starts without upcall handlers, for good."""
MODULES = (
    *("openvswitch", "bridge", "veth", "bonding"),
    *("team", "team_mode_loadbalance", "team_mode_roundrobin"),
)
RATE = 1000
FAST, SLOW, STATIC = Mode("active", "fast"), Mode("active", "slow"), Mode("off")
BROADCAST = "ff:ff:ff:ff:ff:ff"

Facts = dict[str, object]


@dataclass(frozen=True)
class Case:
    """make: the peer; long: not in every run."""

    make: Callable[[], Side]
    mine: Mode
    theirs: Mode
    long: bool = False
    options: dict[str, object] = field(default_factory=dict)


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


def passes(pair: Pair) -> None:
    """Every frame arrives once, both ways; broadcasts too, and none comes back."""
    one, other = pair.left.host, pair.right.host
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
    with Stream(pair.left.host, pair.right.host, RATE) as stream:
        cable.restore()
        pair.wait_all()
        stream.more(100)
        return {"pulled": lost, "plugged in": stream.lost(), "doubled": stream.doubled()}


def tried(ours: OfappSide, case: Case) -> Facts:
    """What became of one peer."""
    peer = case.make()
    try:
        pair = Pair(ours, peer, mode=case.mine, right_mode=case.theirs)
        passes(pair)
        facts: Facts = {"lost": pulled(pair)}
        passes(pair)
        return facts
    except Exception:
        return {"error": f"{traceback.format_exc()}\n{peer.told()}"}
    finally:
        peer.close()


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
        facts["log"] = {"trouble": "Traceback" in ours.controller.log()}
    except BaseException:
        facts["error"] = {"error": traceback.format_exc()}
    file.write_text(json.dumps(facts))


if __name__ == "__main__":
    main()

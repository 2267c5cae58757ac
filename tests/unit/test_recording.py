"""Recordings of bridges: complete, replayed alike, bounded, and without secrets."""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import ofapp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import OwnTrees
from ofapp.bridge.stp.bpdu import encode
from ofapp.config import Config
from ofapp.recording import INPUTS, RESTART, Recorder, replay
from tests.unit.bridge.multicast.lan import V4
from tests.unit.bridge.port_access.controlled import ALICE, Site
from tests.unit.bridge.port_access.controlled import params as access_params
from tests.unit.bridge.stp.lab import BETTER, WORSE, rst

LIFE = 12
KEY = b"a key that hosts must not know"
FILE = {
    "stp": {"enabled": True},
    "multicast": {"mcast_snooping": True},
    "lldp": {"enabled": True},
    "lags": {"lag0": {"members": ["eth5", "eth6"]}},
    "ports": {"eth1": {"trust": "guest"}, "eth2": {"vlan": 7}},
}


def params(**more: object) -> BridgeParams:
    config = Config.model_validate({"bridges": {"0000000000000001": {**FILE, **more}}})
    return config.bridges["0000000000000001"].params()


def recorded(most: int = 1 << 20, last: int = 1 << 20, **more: object) -> tuple[Recorder, Bridge]:
    recorder = Recorder(LIFE, "test", most, last)
    bridge = Bridge(1, params(**more), SharedState(OwnTrees(LIFE), OwnAgents(KEY)))
    recorder.record(bridge)
    return recorder, bridge


def lines(recorder: Recorder) -> list[str]:
    return gzip.decompress(recorder.packed()).decode().splitlines()


def live(bridge: Bridge, seed: int, steps: int = 300) -> None:
    """What a switch, its neighbours and its users do in some minutes, by chance."""
    chance = random.Random(seed)
    now = 1000.0
    present = [Port(LOCAL_PORT, "br0", 1, True)]
    present += [Port(number, f"eth{number}", number, True) for number in range(1, 7)]
    bridge.stp.hear_of_leaving()
    bridge.resume(now)
    bridge.set_ports(iter(present), now)
    for _ in bridge.restart_stp(True, iter([now + step / 10 for step in range(50)]).__next__):
        bridge.beat(now)
    bridge.go_on(now)

    def port() -> int:
        return chance.randint(1, 6)

    def learn() -> None:
        samples = [(port(), 0, 0x525400000000 + chance.randint(0, 50)) for _ in range(9)]
        for effect in bridge.addresses.learn(samples, now):
            if chance.random() < 0.3 and hasattr(effect, "serial"):
                bridge.addresses.expired(effect.vid, effect.mac, effect.serial)

    def hear() -> None:
        message = rst(chance.choice([BETTER, WORSE]))
        bridge.hear("bpdu", [(port(), encode(message, 0x99)) for _ in range(2)], now)

    def snoop() -> None:
        sources = [f"10.9.0.{chance.randint(1, 9)}" for _ in range(4)]
        report = V4.report((chance.randint(3, 6), "239.1.1.2", sources), host=chance.randint(1, 3))
        frame = chance.choice([V4.query(src="10.0.0.5"), V4.join("239.1.1.1"), report, bytes(70)])
        bridge.hear("snooped", [(port(), frame)], now)

    def flap() -> None:
        number = port()
        bridge.put_port(Port(number, f"eth{number}", number, up=chance.random() < 0.7), now)

    def use() -> None:
        if chance.random() < 0.3:
            stp = {"enabled": bridge.params.stp is not None}
            bridge.set_params(params(ageing_time=chance.randint(60, 90), stp=stp), now)
        elif chance.random() < 0.5:
            mac = 0x525400000000 + chance.randint(0, 50)
            bridge.add_static(7, mac, f"eth{port()}", now)
        else:
            address = BoundAddress(bytes([10, 0, 0, chance.randint(1, 9)]), 32)
            bridge.first_hop.add("eth1", 0, 0x525400000001, address, Origin.API, now)

    def answer() -> None:
        bridge.stp.bpdus_left([(port(), chance.randint(1, 60))], now)
        bridge.follow_load(Load(1.0, {port(): 90}, {port(): 9}, 0), None, now)

    def compare() -> None:
        for serial in bridge.addresses.cohorts():
            bridge.addresses.cohort(serial)

    def beware() -> None:
        bridge.carry_out(bridge.stp.beware(now + 9, now), now)
        bridge.carry_out(bridge.stp.check_migration(port(), now), now)

    def leave() -> None:
        bridge.remove_ports([port()], now)
        bridge.flush(port=port())

    for _ in range(steps):
        now += chance.choice([0.01, 0.3, 2.0])
        due = bridge.next_wakeup()
        if due is not None and due <= now:
            bridge.tick(now)
        with suppress(InputError):
            chance.choice(
                [learn, learn, hear, hear, snoop, snoop, flap, use, answer, compare, beware, leave]
            )()
    bridge.pause(now)
    bridge.send_last(now)


@pytest.mark.parametrize("seed", range(5))
def test_a_replay_is_alike_in_another_process(seed: int, tmp_path: Path) -> None:
    """Another process has other hashes of strings, so that no order depends on them."""
    recorder, bridge = recorded(stp={"enabled": seed % 2 == 0})  # then some ports forward early
    live(bridge, seed)
    file = tmp_path / "recording.jsonl.gz"
    file.write_bytes(recorder.packed())
    whole = lines(recorder)
    inputs = {json.loads(line).get("input") for line in whole}
    assert {"hear", "tick", "addresses.learn", "set_params", RESTART} <= inputs
    environment = os.environ | {"PYTHONHASHSEED": str(seed + 1)}
    command = [sys.executable, "-m", "ofapp", "replay", file]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(whole) - 2} inputs: no difference\n")


def test_the_first_difference_is_named() -> None:
    recorder, bridge = recorded()
    live(bridge, 1)
    whole = lines(recorder)
    at = next(i for i, line in enumerate(whole) if '"state"' in line and '"hear"' in line)
    assert '"FORWARDING"' in whole[at] or '"DISCARDING"' in whole[at] or '"LEARNING"' in whole[at]
    changed = whole[at]
    for state in ("FORWARDING", "LEARNING"):
        changed = changed.replace(f'"{state}"', '"DISCARDING"')
    if changed == whole[at]:
        changed = changed.replace('"DISCARDING"', '"FORWARDING"')
    count, difference, _ = replay([*whole[:at], changed, *whole[at + 1 :]])
    assert difference is not None
    assert (difference.number, count) == (at + 1, at - 1)
    assert "recorded" in str(difference)


def test_a_change_of_behaviour_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, bridge = recorded()
    live(bridge, 2)
    monkeypatch.setattr(Bridge, "flush", lambda *_, **__: [])
    _, difference, _ = replay(lines(recorder))
    assert difference is not None
    assert difference.line["input"] == "flush"


def test_memory_is_bounded_and_the_beginning_and_the_last_minutes_are_kept() -> None:
    recorder, bridge = recorded(most=20_000, last=40_000)
    complete, same = recorded(most=1 << 24)
    for seed in range(4):
        live(bridge, seed, 1500)
        live(same, seed, 1500)
    assert recorder.full
    assert len(recorder.packed()) < 20_000 + 40_000 + 100_000  # what zlib holds back, at most
    bridge.addresses.learn([(3, 0, 0x525400001111)], 9999.0)
    whole = lines(recorder)
    assert "9999.0" in whole[-1]
    count, difference, left = replay(whole)
    assert count > 3
    assert difference is None
    gap = whole.index(f'{{"gap":"{1:016x}"}}')
    assert left == len(whole) - gap - 1
    assert left < len(lines(complete)) / 2, "older lines are dropped"


def test_the_last_minutes_of_a_bridge_are_kept_beside_a_busy_one() -> None:
    recorder, busy = recorded(most=20_000, last=40_000)
    quiet = Bridge(2, params(), SharedState(OwnTrees(LIFE), OwnAgents(KEY)))
    recorder.record(quiet)
    live(busy, 1, 1500)
    quiet.addresses.learn([(3, 0, 0x525400002222)], 9999.0)
    live(busy, 2, 1500)
    assert [line for line in lines(recorder) if "9999.0" in line]


def test_no_secret_is_recorded() -> None:
    recorder, bridge = recorded()
    sent = [*bridge.set_ports([Port(1, "eth1", 1, True)], 1.0), *bridge.go_on(1.0)]
    sent += [effect for at in range(2, 40) for effect in bridge.tick(float(at))]
    frames = [effect.frame for effect in sent if hasattr(effect, "frame")]
    assert any(frame[12:14] == b"\x88\xcc" for frame in frames), "LLDP has run"
    text = "\n".join(lines(recorder))
    assert "88cc" not in text
    assert KEY.hex() not in text


def test_no_password_of_a_host_is_recorded_and_its_exchange_is_replayed() -> None:
    controlled = replace(access_params(), port_access=AccessParams(servers="192.0.2.1"))
    recorder = Recorder(life=1, version="test")
    site = Site(controlled, begin=recorder.record)
    password = b"wonderland"
    site.hear(ALICE, eapol.START)
    site.identity()
    site.answer(Answer("challenge", eap=bytes([1, 7, 0, 16, 4, 0]) + password, state=b"s"))
    site.hear(ALICE, eapol.EAP, bytes([2, 7, 0, 16, 4, 0]) + password)
    assert site.asked[-1].eap.endswith(password)
    site.answer(Answer("accept"))
    text = "\n".join(lines(recorder))
    assert password.hex() not in text
    assert b"alice".hex() in text
    count, difference, _ = replay(lines(recorder))
    assert difference is None, str(difference)
    assert count > 5


def test_without_a_recorder_a_bridge_is_the_plain_one() -> None:
    bridge = Bridge(1, BridgeParams())
    assert not {*INPUTS[""], RESTART} & vars(bridge).keys()
    assert type(bridge.addresses.learn).__name__ == "method"


# Completeness

QUERIES = {
    "": {"desired", "desired_as_of_now"},
    "stp": {"status", "dump", "settled_on"},
    "lags": {"status", "dump", "desired"},
    "multicast": {"status", "dump", "desired"},
    "first_hop": {"status", "dump", "desired", "seconds_left"},
    "port_access": {"status", "hosts", "dump"},
    "lldp": {"status", "dump"},
    "loop_protect": {"status", "dump"},
    "one_way": {"status", "dump"},
}
"""Methods with a time that change nothing."""


def test_every_method_that_a_caller_passes_a_time_to_is_recorded() -> None:
    """Of those that code outside the core calls; inside it is one input and its effects."""
    called = {name for name, _ in _calls()}
    missing = []
    bridge = Bridge(1, BridgeParams())
    for part in ("", *{*INPUTS, "lldp"} - {""}):
        owner = getattr(bridge, part) if part else bridge
        for name, method in inspect.getmembers(owner, inspect.ismethod):
            timed = {"now", "until"} & {*inspect.signature(method).parameters}
            known = {*INPUTS.get(part, ()), *QUERIES.get(part, ()), "problems"}
            known |= {RESTART} if not part else {*INPUTS[""]}  # the bridge passes it on
            if timed and not name.startswith("_") and name in called and name not in known:
                missing.append(f"{part}.{name}")
    assert not missing, f"{missing}: add them to INPUTS of recording.py"


def _calls() -> Iterator[tuple[str, int]]:
    """Names of methods that code outside of the core calls."""
    root = Path(ofapp.__file__).parent
    for path in root.rglob("*.py"):
        folders = path.relative_to(root).parts
        if folders[0] != "bridge" or "fabric" in folders:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    yield node.func.attr, node.lineno


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        '{"format": 9, "life": 1}',
        '{"format": 1, "life": 1}\n{"bridge": "01", "input": "tick"}',
        '{"format": 1, "life": 1}\n{"bridge": "01", "params": {"$": "os.system"}, "name": ""}',
    ],
)
def test_what_is_no_recording_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line|recording"):
        replay(text.splitlines())


def test_only_inputs_can_be_called() -> None:
    recorder, bridge = recorded()
    bridge.tick(1.0)
    wrong = {"bridge": f"{1:016x}", "input": "__init__", "with": [[]], "effects": []}
    with pytest.raises(ValueError, match="no input"):
        replay([*lines(recorder), json.dumps(wrong)])

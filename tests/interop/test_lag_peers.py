"""An aggregation of ofapp and one of Open vSwitch's own: independent LACP, and a bond
that does NORMAL.

    host 1 --- ofapp === Open vSwitch --- host 2

Both ends of every cable are asked whether they use it, and frames are numbered and counted.
Linux's bonds are in tests/guest/test_lag_kernel.py, as this machine's kernel may have none.
"""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.support import frames
from tests.support.bonds import BOND, Mode, NormalSide, OfappSide, Pair, cable, panel_of
from tests.support.lab import Stream, Wire, _in_namespace, frame
from tests.support.ownswitch import BRIDGE
from tests.support.streams import Member, Streams
from tests.support.waiting import wait_for

FAST, SLOW = Mode("active", "fast"), Mode("active", "slow")
TURNS = 20 if os.environ.get("OFAPP_THOROUGH") else 2
TIMEOUT = 3.0
"""Seconds of silence after which a partner that was asked to be fast is given up (802.1AX-2020
6.4.4), and what a busy machine may take for it."""
GRACE = 30.0
FLOWS = 1000
NINE = struct.pack("!H", 9)
SLOW_PROTOCOLS = "01:80:c2:00:00:02"
ETH_SLOW = 0x8809


@pytest.fixture(scope="module")
def made() -> Iterator[Pair]:
    with closing(OfappSide(1)) as left, closing(NormalSide(2)) as right:
        yield Pair(left, right, mode=FAST)


@pytest.fixture
def pair(made: Pair) -> Iterator[Pair]:
    """Both fast and active, all in use."""
    made.mode(FAST)
    yield made
    for each in made.cables:
        each.restore()
        for end in (each.left, each.right):
            each.heal(end)


def ours(pair: Pair) -> OfappSide:
    assert isinstance(pair.left, OfappSide)
    return pair.left


def passes(pair: Pair, many: int = 200) -> None:
    """Every frame arrives, each once, both ways."""
    assert _lost(pair, many) == (0, 0)


def _lost(pair: Pair, many: int) -> tuple[int, int]:
    one, other = pair.left.host, pair.right.host
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(many)
        lost = there.lost(), back.lost()
        assert (there.doubled(), back.doubled()) == (0, 0)
        return lost


def broadcasts_arrive_once(pair: Pair) -> None:
    """From many addresses, so that both cables are used; and nothing comes back to its sender."""
    ends = (pair.left.host, pair.right.host)
    with ends[0].wire() as one, ends[1].wire() as other:
        sent = {one: [], other: []}  # type: dict[object, list[bytes]]
        for number in range(64):
            for side, wire in enumerate((one, other)):
                known = frame(frames.BROADCAST, f"02:0c:00:{side:02x}:00:{number:02x}", b"once")
                wire.send(known)
                sent[wire].append(known)
        got = {one: [], other: []}  # type: dict[object, list[bytes]]

        def all_there() -> bool:
            for wire in (one, other):
                got[wire] += [known for known in wire.received() if known[14:18] == b"once"]
            return set(got[one]) >= set(sent[other]) and set(got[other]) >= set(sent[one])

        wait_for(all_there, "broadcasts")
        assert sorted(got[one]) == sorted(sent[other])
        assert sorted(got[other]) == sorted(sent[one])


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (FAST, FAST),
        (SLOW, Mode("passive", "fast")),
        (Mode("passive", "fast"), SLOW),
        pytest.param(SLOW, SLOW, marks=pytest.mark.thorough),
        pytest.param(Mode("passive", "slow"), FAST, marks=pytest.mark.thorough),
    ],
    ids=["fast", "passive partner", "passive ourselves", "slow", "passive, fast partner"],
)
def test_both_agree_and_everything_arrives_once(made: Pair, mine: Mode, theirs: Mode) -> None:
    made.mode(mine, theirs)
    said = {"aggregation", "synchronization", "collecting", "distributing"}
    said |= {"activity"} if theirs.lacp == "active" else set()
    said |= {"timeout"} if theirs.rate == "fast" else set()
    wait_for(
        lambda: [set(one["partner"]["state"]) for one in ours(made).lag()["members"]] == [said] * 2,
        "the partner to be reported as it is",
    )
    assert ours(made).lag()["up"]
    passes(made)
    broadcasts_arrive_once(made)


def test_a_host_behind_it_is_known_on_the_aggregation(pair: Pair) -> None:
    left = ours(pair)
    passes(pair, 20)
    bridge, mac = left.switch.bridge, pair.right.host.mac
    (entry,) = wait_for(lambda: left.controller.fdb(bridge, mac=mac), f"{mac} to be known")
    assert entry["port"]["name"] == "lag0"


def test_a_cable_is_pulled_and_plugged_in_again(pair: Pair) -> None:
    """Frames are lost as long as it takes to see it, and none when it comes back."""
    for _ in range(TURNS):
        with Stream(pair.left.host, pair.right.host, 1000) as stream:
            cable = pair.carrying()
            cable.cut()
            others = [one for one in pair.cables if one is not cable]
            pair.left.wait_used([one.left for one in others])
            stream.more(300)
            assert stream.lost() < 500
        pair.right.wait_used([one.right for one in others])
        with Stream(pair.left.host, pair.right.host) as stream:
            stream.more(20)
            cable.restore()
            pair.wait_all()
            stream.more(100)
            assert (stream.lost(), stream.doubled()) == (0, 0)


@pytest.mark.parametrize("deaf", ["we", "they"])
def test_a_cable_that_passes_one_way_is_given_up(pair: Pair, deaf: str) -> None:
    """Both links stay up: only the silence tells."""
    cable = pair.cables[0]
    cable.deafen(cable.left if deaf == "we" else cable.right)
    begun = time.monotonic()
    pair.left.wait_used([pair.cables[1].left], GRACE)
    pair.right.wait_used([pair.cables[1].right], GRACE)
    assert time.monotonic() - begun > TIMEOUT / 3, "the link went down, which is another test"
    passes(pair, 100)
    cable.heal(cable.left if deaf == "we" else cable.right)
    pair.wait_all()


def expiries(pair: Pair) -> list[str]:
    """How often the partner has given up a member."""
    right = pair.right
    assert isinstance(right, NormalSide)
    return right.expiries()


@pytest.mark.parametrize("mode", [SLOW, pytest.param(FAST, marks=pytest.mark.thorough)])
def test_the_controller_is_killed_and_started_again(made: Pair, mode: Mode) -> None:
    """The partner does not notice."""
    made.mode(mode)
    left = ours(made)
    before = expiries(made)
    one, other = made.left.host, made.right.host
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(50)
        left.controller.restart()
        left.controller.wait_ready(left.switch.bridge)
        made.wait_all()
        there.more(100)
        assert (there.lost(), back.lost()) == (0, 0)
        assert (there.doubled(), back.doubled()) == (0, 0)
    assert expiries(made) == before


def test_a_partner_becomes_passive_and_slow_and_active_and_fast_again(pair: Pair) -> None:
    """Open vSwitch goes on waiting for three seconds until it hears the next LACPDU."""
    right = pair.right
    assert isinstance(right, NormalSide)
    one, other = pair.left.host, pair.right.host
    try:
        with Stream(one, other) as there, Stream(other, one) as back:
            there.more(100)
            for mode in (Mode("passive", "slow"), FAST):
                right.change(BOND, mode)
                there.more(1600)  # four seconds
            assert (there.lost(), back.lost()) == (0, 0)
    finally:
        right.change(BOND, FAST)


def test_a_partner_that_gave_up_is_there_again_as_soon_as_the_controller(
    pair: Pair, figure: Callable[[str], None]
) -> None:
    """With the short timeout nothing else is possible when a controller is away for ten seconds;
    but it stays in use then, and its port does not wait to become an edge."""
    left, right = ours(pair), pair.right
    assert isinstance(right, NormalSide)
    one, other = pair.left.host, pair.right.host
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(100)
        begun = time.monotonic()
        left.controller.kill9()
        wait_for(lambda: right.describe().count(": defaulted") == 2, "it to give up", seconds=20)
        known = len(left.controller.log())
        left.controller.start()
        left.controller.wait_ready(left.switch.bridge)
        away = time.monotonic() - begun
        wait_for(lambda: len(right.used()) == 2, "the partner to use both again", seconds=20)
        there.more(400)
        lost = there.lost() / there.rate, back.lost() / back.rate
    figure(f"a controller away for {away:.1f} s: {lost[0]:.1f} and {lost[1]:.1f} s of frames lost")
    assert max(lost) < away - TIMEOUT + 1.5
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(2400)  # six seconds
        assert (there.lost(), back.lost()) == (0, 0)
    said = left.controller.log()[known:]
    assert "lacp.expired" not in said
    assert "lag.member.down" not in said


def test_open_vswitch_speaks_lacp_itself_while_the_controller_is_away(
    figure: Callable[[str], None],
) -> None:
    """What is left to do beside a partner that insists on the short timeout."""
    with closing(OfappSide(1)) as left, closing(NormalSide(2)) as right:
        cables = [cable(left.namespace, right.namespace) for _ in range(2)]
        ends = [each.left for each in cables]
        left.configure({"lag0": ends}, Mode("off"))
        left.switch.vsctl(
            *("add-bond", BRIDGE, BOND, *(end.interface for end in ends), "lacp=active"),
            *("bond_mode=balance-tcp", "other_config:lacp-time=fast"),
        )
        right.bond(BOND, [each.right for each in cables], FAST)
        left.wait_used(ends, GRACE)
        right.wait_used([each.right for each in cables], GRACE)
        one, other = left.host, right.host
        wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=20)
        with Stream(one, other) as there, Stream(other, one) as back:
            there.more(100)
            left.controller.kill9()
            there.more(2400)  # six seconds
            left.controller.start()
            left.controller.wait_ready(left.switch.bridge)
            there.more(400)
            lost = there.lost(), back.lost()
        figure(f"Open vSwitch speaks LACP, controller away for six seconds: lost {lost}")
        assert lost == (0, 0)


def test_flows_spread_over_the_members(pair: Pair) -> None:
    """1,000 flows between two addresses: by their ports with layer3+4."""
    left = ours(pair)
    ends = [cable.left for cable in pair.cables]
    left.configure({"lag0": ends}, FAST, hash="layer3+4")
    pair.wait_all()
    before = [end.count("tx_packets") for end in ends]
    one, other = pair.left.host, pair.right.host
    missing = set(range(1024, 1024 + FLOWS))
    with one.wire() as wire, other.wire() as ear:

        def all_there() -> bool:
            """Each is new to the switch, whose queue for those is short: what is lost goes
            again."""
            for port in sorted(missing)[:25]:
                wire.send(_udp(one.mac, other.mac, one.ip, other.ip, port))
            missing.difference_update(
                struct.unpack_from("!H", got, 34)[0] for got in ear.received() if got[36:38] == NINE
            )
            return not missing

        wait_for(all_there, "a frame of every flow", seconds=30)
    shares = [end.count("tx_packets") - was for end, was in zip(ends, before, strict=True)]
    assert min(shares) > 350, shares
    left.configure({"lag0": ends}, FAST)


def _udp(source: str, destination: str, ip: str, to: str, port: int) -> bytes:
    def packed(address: str) -> bytes:
        return bytes(int(part) for part in address.split("."))

    head = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0) + packed(ip) + packed(to)
    total = sum(struct.unpack("!10H", head))
    total = (total >> 16) + (total & 0xFFFF)
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
    datagram = head + struct.pack("!HHHH", port, 9, 8, 0)
    return frames.ethernet(destination, source, datagram, ethertype=0x0800)


def test_a_member_of_a_group_behind_it_gets_every_frame_once(pair: Pair) -> None:
    with Streams([pair.left.host, pair.right.host]) as streams:
        stream = streams.start(pair.left.host, "239.1.2.3")
        with Member(pair.right.host, "239.1.2.3"):
            streams.wait(stream, [pair.right.host])
            streams.expect(stream, [pair.right.host])
            left = ours(pair)
            mdb = left.controller.get(f"/v1/bridges/{left.switch.bridge.dpid16}/mdb")
            ports = {
                port["name"]
                for entry in mdb["entries"]
                for port in entry.get("ports", [entry.get("port")])
                if entry["group"] == "239.1.2.3"
            }
            assert ports == {"lag0"}


HOSTILE = {
    "nothing": b"",
    "a subtype alone": b"\x01",
    "no version": bytes([1, 0]) + bytes(108),
    "truncated": bytes([1, 1, 1, 20]) + bytes(6),
    "lengths of zero": bytes([1, 1, 1, 0, *bytes(18), 2, 0]) + bytes(86),
    "lengths that overrun": bytes([1, 1, 1, 255]) + bytes(106),
    "another subtype": bytes([10, 1]) + bytes(50),
    "marker": bytes([2, 1, 1, 16]) + bytes(range(14)) + bytes(92),
    "all ones": b"\x01" + b"\xff" * 109,
    "too long": bytes([1, 1, 1, 20]) + bytes(1400),
}


def test_malformed_pdus_of_a_partner_change_nothing(pair: Pair) -> None:
    """Put a frame into the cable, as only a host between the two could."""
    cable = pair.cables[0]
    source = "02:0d:00:00:00:01"
    before = expiries(pair)
    with Stream(pair.left.host, pair.right.host) as stream:
        with _in_namespace(cable.left.namespace, lambda: Wire(panel_of(cable.left))) as wire:
            for _ in range(20):
                for payload in HOSTILE.values():
                    wire.send(frames.ethernet(SLOW_PROTOCOLS, source, payload, ethertype=ETH_SLOW))
        stream.more(200)
        assert (stream.lost(), stream.doubled()) == (0, 0)
    pair.wait_all()
    assert expiries(pair) == before
    assert "Traceback" not in ours(pair).controller.log()


def test_a_host_floods_pdus(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As many as it can, on a port that is no member: the aggregation and the host's neighbours go
    on, and none of the frames passes the bridge."""
    left, host = ours(pair), pair.left.host
    before = expiries(pair)
    config = tmp_path_factory.mktemp("flood") / "pdu"
    config.write_text(
        "{ eth(da=01:80:c2:00:00:02, sa=02:0d:00:00:00:02, type=0x8809),"
        " 1, 1, 1, 20, drnd(18), 2, 20, drnd(18), 3, 16, drnd(14), 0, 0, fill(0, 50) }"
    )
    flood = ("trafgen", "--in", str(config), "--dev", "eth0", "--cpus", "1", "--rate", "100kpps")
    process = subprocess.Popen(
        ["ip", "netns", "exec", host.namespace, *flood, "--num", "300000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with pair.right.host.wire() as ear:
            process.wait(60)
            heard = [got for got in ear.received() if got[:6] == frames.mac(SLOW_PROTOCOLS)]
    finally:
        process.kill()
        process.wait()
    assert heard == []
    pair.wait_all()
    assert expiries(pair) == before
    assert left.controller.bridge(left.switch.bridge)["connected"]
    passes(pair)

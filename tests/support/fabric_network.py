"""A fabric of many real switches, a real controller, and anything that happens to them.

The switches are bridges of one ovs-vswitchd, and their cables Unix sockets.  Each frame has a
number, by which it is found wherever a switch has sent it: no edge port may get it twice, and no
switch may send it twice by the same cable with the same outer destination, as only a loop does.
Another colour is another destination: a detour may come back once.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import LOCAL, Bridge, VSwitchd, read_pcap
from tests.support.waiting import wait_for

EDGE = 1
MTU = 1600
_MARK = b"ofapp fabric"
_FIRST = 0xFB00  # datapath ids


class Cable(NamedTuple):
    """A link: (member, port) at both ends."""

    one: tuple[int, int]
    other: tuple[int, int]

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Both."""
        return self.one, self.other


def random_cables(members: int, links: int, chance: random.Random) -> list[Cable]:
    """A connected topology of members from 1 on; some cables are parallel."""
    pairs = [(chance.randint(1, at - 1), at) for at in range(2, members + 1)]
    while len(pairs) < links:
        one, other = chance.sample(range(1, members + 1), 2)
        pairs.append((min(one, other), max(one, other)))
    ports: Counter[int] = Counter(dict.fromkeys(range(1, members + 1), EDGE))
    cables = []
    for one, other in pairs:
        ports[one] += 1
        ports[other] += 1
        cables.append(Cable((one, ports[one]), (other, ports[other])))
    return cables


class FabricNetwork:
    """Members s1, s2, and so on, each with a host at its port 1.

    down: cables without carrier; cut: members without a controller; gone: deleted ones.
    sent: frames that were sent so far.  file: the configuration.
    """

    def __init__(
        self, switch: VSwitchd, controller: Controller, members: int, cables: list[Cable]
    ) -> None:
        self.switch, self.controller, self.cables = switch, controller, cables
        self.members: dict[int, Bridge] = {}
        self.down: set[Cable] = set()
        self.cut: set[int] = set()
        self.gone: set[int] = set()
        self.sent = 0
        self.tick = switch.in_pace()
        self._read: dict[tuple[int, int], int] = {}
        self._edges: Counter[tuple[int, int, int]] = Counter()  # (member, port, frame)
        self._crossings: Counter[tuple[int, int, bytes, int]] = Counter()
        for member in range(1, members + 1):
            self._make(member)
        file = {
            f"s{member}": {"bridge": bridge.dpid16, "links": ["*to*"]}
            for member, bridge in self.members.items()
        }
        self.file = {"fabrics": {"pod": {"members": file}}}
        controller.configure(yaml.safe_dump(self.file))
        self._collect()  # what an earlier network of the same names has left
        self._edges.clear()
        self._crossings.clear()

    def _make(self, member: int) -> None:
        name = f"sw{member}"
        bridge = self.switch.add_bridge(dpid=_FIRST + member, name=name)
        self.members[member] = bridge
        ports: dict[int, tuple[str, ...]] = {EDGE: (f"{name}edge",)}
        for cable in self.cables:
            for end, role in zip(cable.ends, ("pstream=punix", "stream=unix"), strict=True):
                if end[0] == member:
                    path = f"{self.switch.dir}/c{self.cables.index(cable)}.sock"
                    settings = f"options:{role}:{path}", f"mtu_request={MTU}"
                    ports[end[1]] = (f"{name}to{end[1]}", *settings)
        bridge.add_ports(ports)

    def connect(self) -> None:
        """Connect all to the controller, and wait until the fabric carries frames."""
        for bridge in self.members.values():
            bridge.set_controller(self.controller.target)
        self.settle()

    def close(self) -> None:
        """Remove all bridges."""
        for bridge in self.members.values():
            bridge.destroy()

    # What happens

    @property
    def present(self) -> list[int]:
        """Members that are not deleted."""
        return sorted(self.members.keys() - self.gone)

    def _carrier(self, cable: Cable) -> None:
        for member, port in cable.ends:
            if member not in self.gone:
                up = cable not in self.down
                self.members[member].link(port, up=up)

    def fail(self, cable: Cable) -> None:
        """Take the carrier away at both ends, one after the other."""
        self.down.add(cable)
        self._carrier(cable)

    def mend(self, cable: Cable) -> None:
        """Give it back."""
        self.down.discard(cable)
        self._carrier(cable)

    def cut_off(self, member: int) -> None:
        """End a member's connection to the controller; it goes on with what it has."""
        self.cut.add(member)
        self.members[member].disconnect()

    def connect_again(self, member: int) -> None:
        """Restore it."""
        self.cut.discard(member)
        self.members[member].set_controller(self.controller.target)

    def delete(self, member: int, *, carrier: bool) -> None:
        """Delete a member's bridge.  carrier: its neighbours notice nothing."""
        self.gone.add(member)
        self.cut.discard(member)
        self.members[member].destroy()
        for cable in self._of(member):
            if not carrier:
                self.fail(cable)

    def create(self, member: int) -> None:
        """Create it again."""
        self.gone.discard(member)
        self._make(member)
        for cable in self._of(member):
            self.mend(cable)
        self.members[member].set_controller(self.controller.target)

    def _of(self, member: int) -> list[Cable]:
        return [
            cable
            for cable in self.cables
            if any(end[0] == member for end in cable.ends)
            and not any(end[0] in self.gone - {member} for end in cable.ends)
        ]

    def together(self, without: Iterable[Cable] = (), gone: Iterable[int] = ()) -> bool:
        """Whether all members that are there are connected by cables with carrier."""
        cables = {*self.cables} - self.down - {*without}
        return _is_connected({*self.present} - {*gone}, cables)

    # Frames

    def send(self, member: int, to: int | None = None, *, settle: bool = False) -> int:
        """Send a frame of a member's host, to another member's host or to all; its number.

        settle: first let changes of flows take effect, as half a second does.
        """
        self.sent += 1
        source = frames.host(member)
        target = frames.BROADCAST if to is None else frames.host(to)
        payload = _MARK + struct.pack("!I", self.sent)
        # Hosts' addresses are not in the frames' payload, which is what they are found by.
        frame = frames.ethernet(target, source, payload)
        if settle:
            self.switch.settle()
        port = self.members[member].port_name(EDGE)
        self.switch.appctl("netdev-dummy/receive", port, frame.hex())
        return self.sent

    def arrived(self, *numbers: int) -> dict[int, Counter[int]]:
        """Members whose hosts have got these frames; fails where a frame was sent twice."""
        for _ in range(4 * len(self.members)):
            self.switch.barrier()
        self._collect()
        twice = [key for key, count in self._edges.items() if count > 1]
        assert not twice, f"a host gets frames twice: (member, port, frame) {twice}"
        loops = [
            (member, port, to.hex(), number)
            for (member, port, to, number), count in self._crossings.items()
            if count > 1
        ]
        assert not loops, f"loops: (member, port, outer destination, frame) {loops}"
        found: dict[int, Counter[int]] = {number: Counter() for number in numbers}
        for (member, port, number), count in self._edges.items():
            if number in found and port == EDGE:
                found[number][member] += count
        return found

    def way(self, number: int) -> list[tuple[int, int, str]]:
        """By which link ports a frame was sent: (member, port, outer destination)."""
        sent = self._crossings
        return [(at, port, to.hex()) for at, port, to, frame in sent if frame == number]

    def _collect(self) -> None:
        for member, bridge in self.members.items():
            for port in bridge.ports:
                stem = bridge.name if port == LOCAL else f"{bridge.name}-{port}"
                path, at = self.switch.dir / f"{stem}.pcap", self._read.get((member, port), 0)
                sent, self._read[member, port] = read_pcap(path, at)
                for frame in sent:
                    self._count(member, port, frame)

    def _count(self, member: int, port: int, frame: bytes) -> None:
        at = frame.find(_MARK)
        if at < 0:
            return
        (number,) = struct.unpack_from("!I", frame, at + len(_MARK))
        if port in (EDGE, LOCAL):
            self._edges[member, port, number] += 1
        else:
            self._crossings[member, port, frame[:6], number] += 1

    # Waiting

    def _missing(self) -> Any:
        """What is not as it is to be; None if the fabric is settled."""
        try:
            reply = self.controller.api("GET", "/v1/fabrics/pod")
        except OSError as error:  # the machine is busy
            return error
        if reply.status != 200:
            return reply
        status = reply.body
        ready = {int(each["name"][1:]) for each in status["members"] if each["ready"]}
        absent = {*self.present} - self.cut - ready
        state = {link["one"]: link["state"] for link in status["links"]}
        state |= {link["other"]: link["state"] for link in status["links"] if link["other"]}
        wrong, carrying = [], []
        for cable in self.cables:
            names = {f"s{at}/sw{at}to{port}": at for at, port in cable.ends}
            there = not any(at in self.gone for at in names.values())
            states = {state.get(name, "none") for name, at in names.items() if at not in self.gone}
            if not there:
                expected = {"down", "probing", "none", "unreachable", "wrong"}
            elif cable in self.down:
                expected = {"down", "none"}
            elif any(at in self.cut for at in names.values()):
                expected = {"unreachable", "carries", "probing", "down"}
            else:
                expected = {"carries", "held"}
            if states - expected:
                wrong.append((names, states))
            if there and states == {"carries"}:
                carrying.append(cable)
        if not status["settled"] or absent or wrong:
            about = [each for each in status["members"] if int(each["name"][1:]) in absent]
            return status["settled"], status["paused"], about, wrong
        if not self.cut and not _is_connected({*self.present}, carrying):
            return "the members are not connected", carrying
        return None

    def settle(self, seconds: float = 90) -> None:
        """Wait until all members use a plan with all links that carry frames."""
        self._wait(self._missing, "the fabric to be settled", seconds)

    def _wait(self, missing: Callable[[], Any], what: str, seconds: float) -> None:
        last: list[Any] = []

        def done() -> bool:
            last[:] = [missing()]
            return last == [None]

        try:
            wait_for(done, what, tick=self.tick, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {last}") from None

    def learn(self) -> None:
        """Let all hosts send until all are known where they are."""

        def missing() -> Any:
            known = {
                entry["mac"]: entry["port"]["name"]
                for entry in self.controller.fdb(self.members[1])
                if entry["type"] != "local"
            }
            unknown = [
                member
                for member in self.present
                if known.get(frames.host(member)) != f"s{member}/sw{member}edge"
            ]
            for member in unknown:
                self.send(member)
            self.arrived()
            return unknown or None

        self._wait(missing, "all hosts to be known", 20)

    def check(self, chance: random.Random) -> None:
        """All frames arrive: broadcasts of some members, and from each member to another one."""
        present = self.present
        for member in chance.sample(present, min(3, len(present))):
            number = self.send(member, settle=True)
            got = self.arrived(number)[number]
            assert got == Counter({*present} - {member}), (member, {*present} - {member} - {*got})

        ways = [(at, chance.choice([to for to in present if to != at])) for at in present]

        def missing() -> Any:
            pairs = {self.send(*way, settle=True): way for way in ways}
            got = self.arrived(*pairs)
            wrong = [(pair, got[n]) for n, pair in pairs.items() if got[n][pair[1]] != 1]
            lost = [(way, self.way(number)) for number, way in pairs.items() if not got[number]]
            assert not wrong, f"frames do not arrive: {wrong}; where they were sent: {lost}"
            # The first frame of a conversation floods.
            return [pair for n, pair in pairs.items() if len(got[n]) > 1] or None

        self._wait(missing, "frames to go to one member only", 20)


def _is_connected(members: set[int], cables: Iterable[Cable]) -> bool:
    if not members:
        return True
    reached, waiting = {min(members)}, [min(members)]
    near: dict[int, set[int]] = {member: set() for member in members}
    for (one, _), (other, _) in cables:
        if one in members and other in members:
            near[one].add(other)
            near[other].add(one)
    while waiting:
        for other in near[waiting.pop()] - reached:
            reached.add(other)
            waiting.append(other)
    return reached == members


class Changes:
    """Random changes of such a network."""

    def __init__(self, network: FabricNetwork, seed: int) -> None:
        self.network, self.chance = network, random.Random(seed)
        self.done: list[str] = []

    def run(self, changes: int, *, between: int = 10) -> None:
        """Make so many changes, and let all be settled and checked after every `between`."""
        network = self.network
        for number in range(1, changes + 1):
            try:
                self.change()
                self.frames()
                if number % between == 0 or number == changes:
                    self.restore()
                    network.settle()
                    network.learn()
                    network.check(self.chance)
            except AssertionError as error:
                raise AssertionError(f"{error}\nafter {self.done[-40:]}") from None

    def frames(self) -> None:
        """Send some, and let some time pass; more than one may be under way."""
        network, chance = self.network, self.chance
        for _ in range(chance.randint(1, 4)):
            for _ in range(chance.randint(1, 3)):
                member = chance.choice(network.present)
                to = chance.choice([None, *network.present])
                network.send(member, None if to == member else to, settle=chance.random() < 0.3)
            network.tick()
        network.arrived()

    def change(self) -> None:
        """Make one change."""
        chance = self.chance
        kinds = ["link", "link", "link", "back", "back", "cut", "connect", "kill", "delete"]
        kinds += ["create", "create"]
        while not getattr(self, f"_{chance.choice(kinds)}")():
            pass

    def _note(self, what: str, *about: object) -> bool:
        self.done.append(" ".join(map(str, (what, *about))))
        return True

    def _usable(self, cable: Cable) -> bool:
        return not any(member in self.network.gone for member, _ in cable.ends)

    def _link(self) -> bool:
        network = self.network
        up = [
            cable
            for cable in network.cables
            if self._usable(cable) and cable not in network.down and network.together([cable])
        ]
        if not up or len(network.down) > len(network.cables) // 4:
            return False
        cable = self.chance.choice(up)
        network.fail(cable)
        return self._note("fail", *cable.ends)

    def _back(self) -> bool:
        down = [cable for cable in sorted(self.network.down) if self._usable(cable)]
        if not down:
            return False
        cable = self.chance.choice(down)
        self.network.mend(cable)
        return self._note("mend", *cable.ends)

    def _cut(self) -> bool:
        free = sorted({*self.network.present} - self.network.cut)
        if len(self.network.cut) >= 3 or len(free) < 2:
            return False
        member = self.chance.choice(free)
        self.network.cut_off(member)
        return self._note("cut off", member)

    def _connect(self) -> bool:
        if not self.network.cut:
            return False
        member = self.chance.choice(sorted(self.network.cut))
        self.network.connect_again(member)
        return self._note("connect", member)

    def _kill(self) -> bool:
        if self.chance.random() < 0.5:
            self._link()  # in the middle of an update
            for _ in range(self.chance.randint(0, 5)):
                self.network.tick()
        self.network.controller.kill9()
        self._note("kill")
        self.frames()
        self.network.controller.start()
        return True

    def _delete(self) -> bool:
        network = self.network
        may = [member for member in network.present if network.together(gone=[member])]
        if len(network.gone) >= 2 or not may:
            return False
        member, carrier = self.chance.choice(may), self.chance.random() < 0.3
        network.delete(member, carrier=carrier)
        return self._note("delete", member, "with carrier" if carrier else "")

    def _create(self) -> bool:
        if not self.network.gone:
            return False
        member = self.chance.choice(sorted(self.network.gone))
        self.network.create(member)
        return self._note("create", member)

    def restore(self) -> None:
        """Connect all members again, so that all that is to arrive can; links stay as they are."""
        network = self.network
        for member in sorted(network.cut):
            network.connect_again(member)
        self._note("restore")

"""Random histories of a fabric, whose members are switches that take OpenFlow messages."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from ofapp.bridge import multicast, stp
from ofapp.bridge.effects import NOTICES, AskServer, Effect, ForFabric, OnMember, SendFrame
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import Policies, VlanPolicy
from ofapp.bridge.port_access.params import BridgeParams as PortAccessBridge
from ofapp.controller.bridges.fabric.steps import Steps
from tests.support import multicast_frames
from tests.unit.bridge.fabric.simulation import Network
from tests.unit.openflow.histories import ANSWERS, CONTROLLED, LISTS, POLICIES, TREES, VLANS
from tests.unit.openflow.shell import Shell
from tests.vswitchd.stp.neighbour import DESIGNATED, PROPOSAL, rst

EDGES = (11, 12, 13)
MACS = range(0x020000000001, 0x020000000009)
GROUPS = ("239.1.1.1", "239.1.1.2")


class MessageNetwork(Network):
    """A network of which each member has a switch that takes messages, too.

    Steps of effects wait until the members of the step before have confirmed it: `confirm`.
    """

    def __init__(self, members: int, params: BridgeParams, metered: bool) -> None:
        self.shells: dict[int, Shell] = {}
        self.steps = Steps()
        self._metered = metered
        ring = [(at, at % members + 1) for at in range(1, members + 1)]
        super().__init__(members, ring[: 1 if members == 2 else None], params, edges=len(EDGES))

    def handle(self, effects: Iterable[Effect]) -> None:
        plain: list[Effect] = []
        for effect in effects:
            plain += effect.effects if isinstance(effect, ForFabric) else [effect]
        urgent = [each for each in plain if _is_probe(each)]
        others = [each for each in plain if type(each) not in NOTICES and not _is_probe(each)]
        for each in urgent:
            assert isinstance(each, OnMember)
            self.to_switch(each.member, each.effect)
        if others:
            self.steps.put(self.fabric.steps(others))
            self._go_on()
        while changed := self.fabric.contents(self.now):
            for member, content in changed:
                self.to_switch(member, self.fabric.fabric_effect(member))
                self.handle(self.fabric.confirm(member, content, self.now))

    def _go_on(self) -> None:
        running = {at for at, switch in self.switches.items() if switch.connected}
        while (step := self.steps.next(running)) is not None:
            self._number = step.number
            for member, effects in step.effects.items():
                for effect in effects:
                    self.to_switch(member, effect)

    def confirm(self) -> None:
        """All members confirm the step that was sent last."""
        for member in [*self.steps.awaited]:
            self.steps.confirmed(member, self._number)
        self._go_on()

    def to_switch(self, member: int, effect: Effect) -> None:
        if self.switches[member].connected:
            if not isinstance(effect, SendFrame):
                self.shells[member].send([effect], ahead=not self.steps.idle)
            super().to_switch(member, effect)

    def program(self, member: int) -> None:
        while not self.steps.idle:
            self.confirm()
        super().program(member)
        self.shells[member] = Shell(self.fabric.view(member), self._metered)
        self.shells[member].program()

    def disconnect(self, *members: int) -> None:
        """Members restart."""
        for member in members:
            self.switches[member].restart()
            self.switches[member].connected = False
            self.steps.left(member)
        super().disconnect(*members)
        self._go_on()

    def settle(self) -> None:
        """All is confirmed, and each member holds what the bridge wants of it then."""
        while not self.steps.idle or self.steps.awaited:
            self.confirm()
        for member, switch in self.switches.items():
            if switch.connected:
                self.shells[member].compare()


class FabricHistory:
    """A fabric of two to five members, and what has been done, for the message of a failure."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.done: list[str] = []
        self.members = range(1, random.randrange(2, 6) + 1)
        self.lags = random.random() < 1 / 2
        self.vlans = random.random() < 1 / 2
        limits = Policies(vlans={0: VlanPolicy(2, "drop"), 10: VlanPolicy(1, "drop")})
        params = BridgeParams(
            stp=stp.BridgeParams() if random.random() < 0.5 else None,
            multicast=multicast.Params() if random.random() < 0.5 else None,
            policies=random.choice((Policies(), Policies(acls=LISTS), limits)),
            port_access=PortAccessBridge(),
        )
        self.network = MessageNetwork(len(self.members), params, random.random() < 0.7)
        self.network.connect()
        self.network.run(5)
        self.network.settle()

    def step(self) -> None:
        """One change; members may confirm at once, or later."""
        name, change = self.random.choice(self._changes())
        self.done.append(name)
        try:
            self.network.handle(change())
        except InputError as error:
            self.done[-1] += f" ({error})"
        self.network.carry_frames()
        if self.random.random() < 0.7:
            self.network.settle()

    def _changes(self) -> list[tuple[str, Callable[[], Iterable[Effect]]]]:
        changes = {
            self.link: 4,
            self.cable: 2,
            self.learn: 3,
            self.port_params: 3,
            self.bridge_params: 2,
            self.lag_params: 4 * self.lags,
            self.bpdus: 3,
            self.tick: 3,
            self.static: 1,
            self.access: 3,
            self.groups: 2,
            self.restart: 1,
            self.return_: 2,
        }
        return [(each.__name__, each) for each, weight in changes.items() for _ in range(weight)]

    def _edge(self) -> tuple[int, int]:
        """(member, port), of a member that is connected."""
        there = [at for at, switch in self.network.switches.items() if switch.connected]
        return self.random.choice(there), self.random.choice(EDGES)

    def _name(self) -> str:
        member, port = self._edge()
        return self.random.choice([f"s{member}/vnet{port}"] * 3 + ["bond"] * self.lags)

    def link(self) -> list[Effect]:
        """An edge port's link comes up or goes down."""
        member, port = self._edge()
        up = not self.network.switches[member].edges[port]
        self.done[-1] += f" s{member}/vnet{port} {up}"
        self.network.set_link(member, port, up)
        return []

    def cable(self) -> list[Effect]:
        """A cable between members fails or is mended."""
        end = self.random.choice(sorted(self.network.cables))
        up = self.random.random() < 0.7
        for member, port in (end, self.network.cables[end]):
            self.network.set_link(member, port, up)
        return []

    def learn(self) -> list[Effect]:
        network, (member, port) = self.network, self._edge()
        samples = [
            (port, self.random.choice((0, 10)), self.random.choice(MACS))
            for _ in range(self.random.choice((1, 4)))
        ]
        return network.fabric.view(member).addresses.learn(samples, network.now)

    def port_params(self) -> list[Effect]:
        before, name = self.network.bridge.params, self._name()
        old = before.port(name)
        new = self.random.choice(
            (
                replace(old, vlans=self.random.choice(VLANS) if self.vlans else old.vlans),
                replace(old, policy=self.random.choice(POLICIES)),
                replace(old, stp=self.random.choice(TREES)),
                PortParams(),
            )
        )
        self.done[-1] += f" {name} {new.vlans} {new.policy}"
        return self._set(replace(before, ports={**before.ports, name: new}))

    def bridge_params(self) -> list[Effect]:
        before = self.network.bridge.params
        return self._set(
            self.random.choice(
                (
                    replace(before, stp=None if before.stp else stp.BridgeParams(hello_time=1)),
                    replace(before, multicast=None if before.multicast else multicast.Params()),
                )
            )
        )

    def lag_params(self) -> list[Effect]:
        """An aggregation of two members, or within one, begins, changes or ends."""
        members = self.random.choice(
            ((), (), ("s1/vnet12", "s2/vnet12"), ("s1/vnet12", "s2/vnet13"), ("s2/vnet12",))
        )
        self.done[-1] += f" {members}"
        lags = {"bond": LagParams(members, lacp="off")} if members else {}
        return self._set(replace(self.network.bridge.params, lags=lags))

    def _set(self, params: BridgeParams) -> list[Effect]:
        return self.network.bridge.set_params(params, self.network.now)

    def bpdus(self) -> list[Effect]:
        member, port = self._edge()
        flags = self.random.choice((DESIGNATED, DESIGNATED | PROPOSAL))
        frame = rst(flags, root=0x1000 * self.random.randrange(4), number=member + port % 10)
        return self.network.fabric.view(member).hear("bpdu", [(port, frame)], self.network.now)

    def tick(self) -> list[Effect]:
        self.network.run(self.random.choice((0.1, 1.0, 4.0, 16.0)))
        return []

    def static(self) -> list[Effect]:
        bridge = self.network.bridge
        if bridge.static_entries.ports and self.random.random() < 0.5:
            return bridge.remove_static(*self.random.choice([*bridge.static_entries.ports]))
        where = self.random.choice((0, 10)), self.random.choice(MACS), self._name()
        return bridge.add_static(*where, self.network.now)

    def access(self) -> list[Effect]:
        """A controlled port begins, or a host on one sends, and the server answers."""
        bridge, now = self.network.bridge, self.network.now
        controlled = [each.port for each in bridge.port_access.status(now)]
        if not controlled or self.random.random() < 0.3:
            name = self._name()
            new = replace(bridge.params.port(name), port_access=self.random.choice(CONTROLLED))
            return self._set(replace(bridge.params, ports={**bridge.params.ports, name: new}))
        number = bridge.ports.numbers[self.random.choice(controlled)]
        head = b"\xff" * 6 + self.random.choice(MACS).to_bytes(6, "big") + b"\x08\x00"
        effects = bridge.hear("first_frame", [(number, head)], now)
        for asked in [each for each in effects if isinstance(each, AskServer)]:
            more = bridge.port_access.answer(asked.number, self.random.choice(ANSWERS), now)
            effects += bridge.carry_out(more, now)
        return effects

    def groups(self) -> list[Effect]:
        (member, port), group = self._edge(), self.random.choice(GROUPS)
        frame = self.random.choice(
            (
                multicast_frames.query(port),
                multicast_frames.join(port, group),
                multicast_frames.leave(port, group),
            )
        )
        return self.network.fabric.view(member).hear("snooped", [(port, frame)], self.network.now)

    def restart(self) -> list[Effect]:
        """A member's switch restarts; another one stays."""
        there = [at for at, switch in self.network.switches.items() if switch.connected]
        if len(there) > 1:
            self.network.disconnect(self.random.choice(there))
        return []

    def return_(self) -> list[Effect]:
        """Members that restarted connect."""
        self.network.connect()
        return []


def check(seed: int, changes: int) -> None:
    """One history; an error tells its seed and what was done last."""
    history = FabricHistory(seed)
    try:
        for _ in range(changes):
            history.step()
        history.network.settle()
    except Exception as error:
        done = "\n".join(history.done[-8:])
        text = f"history {seed}, after {len(history.done)} changes: {error}\n{done}"
        raise AssertionError(text) from error


def _is_probe(effect: Effect) -> bool:
    return isinstance(effect, OnMember) and isinstance(effect.effect, SendFrame)

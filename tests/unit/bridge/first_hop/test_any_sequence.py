"""Any sequence of frames, ports, settings and restarts: one owner for each address, limits hold,
and the switch knows the hosts that the bridge wants, also if it only follows effects."""

from collections import Counter
from dataclasses import replace

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.guarded import prober
from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.params import BridgeParams, PortParams
from tests.support.dhcp_frames import (
    Arp,
    Nd,
    ack,
    advertisement,
    dad,
    ia_pd,
    link_local,
    nak,
    prefix_option,
    release,
    reply6,
    request,
    request6,
    router_advertisement,
)
from tests.unit.bridge.first_hop.guarded import (
    GUEST,
    PARAMS,
    UPLINK,
    A,
    B,
    C,
    Guarded,
    address,
    guarded_bridge,
    tap,
)

OF_PORT, OF_VLAN, OF_BRIDGE = 2, 3, 4
LIMITED = replace(
    PARAMS,
    first_hop=replace(PARAMS.first_hop, max_bindings=OF_BRIDGE, max_vlan_bindings=OF_VLAN),
    ports={"tap*": PortParams(first_hop=replace(GUEST, max_bindings=OF_PORT))},
)
SETTINGS = (
    LIMITED,
    replace(LIMITED, ports=LIMITED.ports | {"tap12": PortParams()}),
    replace(
        LIMITED, ports=LIMITED.ports | {"tap11": replace(LIMITED.ports["tap*"], trust="learn")}
    ),
)

taps = st.sampled_from((11, 12, 13))
ports = st.sampled_from((11, 12, 13, UPLINK))
macs = st.sampled_from((A, B, C))
vids = st.sampled_from((0, 5))
fours = st.sampled_from(("10.0.0.1", "10.0.0.2", "10.0.0.3"))
sixes = st.sampled_from(("2001:db8::1", "2001:db8::2", "fe80::9"))


class AnySequence(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.guarded = Guarded(guarded_bridge(LIMITED))
        self.names = {number: f"tap{number}" for number in (11, 12, 13)}
        self.xid = 0
        self.announce(0)

    @rule(vid=vids)
    def announce(self, vid: int) -> None:
        option = prefix_option("2001:db8::", 64)
        self.guarded.hear("router", UPLINK, router_advertisement(C + 1, option, vid=vid).frame)

    @rule(port=taps, mac=macs, text=fours, vid=vids, seconds=st.sampled_from((1, 60, 100_000)))
    def lease(self, port: int, mac: int, text: str, vid: int, seconds: int) -> None:
        self.xid += 1
        self.guarded.hear("dhcp", port, request(mac, text, xid=self.xid, vid=vid))
        answer = ack(mac, text, xid=self.xid, vid=vid, seconds=seconds)
        self.guarded.hear("dhcp_server", UPLINK, answer)

    @rule(port=taps, mac=macs, seconds=st.sampled_from((0, 60)))
    def lease_prefix(self, port: int, mac: int, seconds: int) -> None:
        self.xid += 1
        self.guarded.hear("dhcp", port, request6(mac, xid=self.xid))
        answer = reply6(mac, ia_pd("2001:db8:7::", 56, seconds), xid=self.xid)
        self.guarded.hear("dhcp_server", UPLINK, answer)

    @rule(port=taps, mac=macs, text=fours, vid=vids)
    def release(self, port: int, mac: int, text: str, vid: int) -> None:
        self.guarded.hear("dhcp", port, release(mac, text, vid=vid))

    @rule(mac=macs, vid=vids)
    def refuse_lease(self, mac: int, vid: int) -> None:
        self.guarded.hear("dhcp_server", UPLINK, nak(mac, xid=self.xid, vid=vid))

    @rule(port=taps, mac=macs, text=sixes, vid=vids)
    def detect(self, port: int, mac: int, text: str, vid: int) -> None:
        self.guarded.hear("nd", port, dad(mac, text, vid=vid).frame)

    @rule(port=ports, mac=macs, text=sixes, vid=vids)
    def answer(self, port: int, mac: int, text: str, vid: int) -> None:
        to = link_local(prober(1))
        self.guarded.hear("answer", port, advertisement(mac, text, dest=to, vid=vid).frame)

    @rule(port=taps, mac=macs, text=sixes, vid=vids)
    def send(self, port: int, mac: int, text: str, vid: int) -> None:
        sample = Nd(kind=135, mac=mac, source=text, dest="ff02::1", body=bytes(20), vid=vid).frame
        self.guarded.hear("refused", port, sample)

    @rule(port=taps, mac=macs, text=fours, vid=vids)
    def send_arp(self, port: int, mac: int, text: str, vid: int) -> None:
        self.guarded.hear("refused", port, Arp(mac, text, text).frame(vid=vid))

    @rule(port=ports, mac=macs, vid=vids)
    def learn(self, port: int, mac: int, vid: int) -> None:
        bridge, now = self.guarded.bridge, self.guarded.now
        self.guarded.do(bridge.learning.learn([(port, vid, mac)], now))

    @rule(seconds=st.sampled_from((0.3, 1.0, 3.0, 61.0, 3700.0)))
    def wait(self, seconds: float) -> None:
        self.guarded.wait(seconds)

    @rule(port=taps, up=st.booleans())
    def link(self, port: int, up: bool) -> None:
        changed = replace(tap(port, up), name=self.names[port])
        self.guarded.do(self.guarded.bridge.put_port(changed, self.guarded.now))

    @rule(port=taps)
    def remove(self, port: int) -> None:
        self.guarded.do(self.guarded.bridge.remove_port(port, self.guarded.now))

    @rule(port=taps, name=st.sampled_from(("tap11", "tap12", "tap13", "tap14", "eth7")))
    def rename(self, port: int, name: str) -> None:
        if name not in self.names.values():
            self.names[port] = name
            self.link(port, up=True)

    @rule(params=st.sampled_from(SETTINGS))
    def set_params(self, params: BridgeParams) -> None:
        self.guarded.do(self.guarded.bridge.set_params(params, self.guarded.now))

    @rule(
        port=st.sampled_from(("tap11", "tap12", "tap99")),
        mac=macs,
        text=st.one_of(fours, sixes),
        vid=vids,
        origin=st.sampled_from((Origin.FILE, Origin.API)),
        shared=st.booleans(),
    )
    def add(self, port: str, mac: int, text: str, vid: int, origin: Origin, shared: bool) -> None:
        first_hop, now = self.guarded.first_hop, self.guarded.now
        try:
            effects = first_hop.add(port, vid, mac, address(text), origin, now, shared)
        except InputError:
            return
        self.guarded.do(effects)

    @rule(text=st.one_of(fours, sixes), vid=vids, all_hosts=st.booleans())
    def remove_binding(self, text: str, vid: int, all_hosts: bool) -> None:
        first_hop = self.guarded.first_hop
        bound = first_hop.bindings_of(vid, address(text))
        if bound:
            only = None if all_hosts else [(bound[-1].port, bound[-1].mac)]
            self.guarded.do(first_hop.remove(vid, address(text), self.guarded.now, only))
            assert first_hop.bindings_of(vid, address(text)) == (() if all_hosts else bound[:-1])

    @rule(seconds=st.sampled_from((0.0, 5.0, 10_000.0)))
    def disconnect(self, seconds: float) -> None:
        before = {each.address for each in self.guarded.first_hop.bindings()}
        self.guarded.bridge.pause(self.guarded.now)
        self.guarded.now += seconds
        assert self.guarded.first_hop.next_wakeup() is None
        self.guarded.bridge.resume(self.guarded.now)
        self.guarded.do(self.guarded.bridge.go_on(self.guarded.now))
        assert {each.address for each in self.guarded.first_hop.bindings()} == before

    @rule(passed=st.sampled_from((0.0, 5.0, 10_000.0)))
    def restart(self, passed: float) -> None:
        old = self.guarded
        bridge = Bridge(1, old.bridge.params)
        for each in old.first_hop.bindings():
            if not each.origin.dynamic:
                about = each.port, each.vid, each.mac, each.address, each.origin
                bridge.first_hop.add(*about, old.now, each.shared)
        assert bridge.first_hop.restore({**old.first_hop.dump(), "passed": passed}) == []
        self.guarded = Guarded(bridge)
        self.guarded.now = old.now + passed
        now = self.guarded.now
        self.guarded.do(bridge.set_ports([*old.bridge.ports], now))
        bridge.resume(now)
        self.guarded.do(bridge.go_on(now))
        before = {(each.vid, each.address) for each in old.first_hop.bindings()}
        assert {(each.vid, each.address) for each in bridge.first_hop.bindings()} == before

    @invariant()
    def the_switch_knows_the_hosts(self) -> None:
        assert self.guarded.switch == self.guarded.wanted()

    @invariant()
    def an_address_has_one_owner_and_is_found_by_all_ways(self) -> None:
        first_hop = self.guarded.first_hop
        bindings = [*first_hop.bindings()]
        owners = Counter((each.vid, each.address) for each in bindings if not each.shared)
        assert set(owners.values()) <= {1}
        sharers = [each for each in bindings if each.shared]
        assert not owners.keys() & {(each.vid, each.address) for each in sharers}
        assert len({(each.vid, each.address, each.port, each.mac) for each in sharers}) == len(
            sharers
        )
        assert len(first_hop) == len(bindings)
        for each in bindings:
            assert each in first_hop.of_host(each.vid, each.mac)
            assert each in first_hop.having(each.address.octets)
        counted = first_hop.status(self.guarded.now).bindings
        assert +Counter(counted) == Counter(each.origin for each in bindings)

    @invariant()
    def limits_hold(self) -> None:
        bindings = [each for each in self.guarded.first_hop.bindings() if each.origin.dynamic]
        assert len(bindings) <= OF_BRIDGE
        assert all(count <= OF_VLAN for count in Counter(each.vid for each in bindings).values())

    @invariant()
    def nothing_is_overdue(self) -> None:
        due = self.guarded.first_hop.next_wakeup()
        assert due is None or due > self.guarded.now - 1e-6


TestAnySequence = AnySequence.TestCase

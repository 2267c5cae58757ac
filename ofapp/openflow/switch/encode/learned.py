"""Effects on learned addresses to messages, fast.

Building and serialising one flow-mod through a message library costs 46 microseconds; a new host
takes two.  So the flows of `ofapp.openflow.pipeline.flows.learned_flows` are serialised once with
marker values, and each host's messages are those bytes with its own values packed in.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ofapp.bridge.effects import (
    InstallDestination,
    InstallEntry,
    InstallSticky,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.params.params import MAX_AGEING_TIME
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.flow import Action, Output
from ofapp.openflow.pipeline.egress import way_out
from ofapp.openflow.pipeline.flows import learned_flows
from ofapp.openflow.wire.messages import bundle, codec

_PORT, VID, MAC, _SERIAL = 0x01020304, 0xABC, 0xA1A2A3A4A5A6, 0x51525354
_MARKERS = {
    "port": (_PORT.to_bytes(4, "big"), "I"),
    "vid": (VID.to_bytes(2, "big") + b"\x0f\xff", "H2x"),
    "mac": (MAC.to_bytes(6, "big"), "6s"),
    "serial": (_SERIAL.to_bytes(4, "big"), "I"),
}


_IDLE = 10  # where the idle timeout is, behind the serial


class Template:
    """A message with holes.  `pack` takes the values of the holes in their order.

    bundled: it is part of a bundle.
    """

    def __init__(self, message: bytes, *holes: str, bundled: bool = False) -> None:
        if bundled:
            message = bundle.add(bundle.LEARNED, message)
        layout, constants, at = "!", [], 0
        for hole in holes:
            marker, code = _MARKERS[hole]
            begin = message.index(marker, at)
            mask = b"\x0f\xff" if hole == "vid" else b""
            layout += f"{begin - at}s{code.removesuffix('2x')}"
            constants.append(message[at:begin])
            at = begin + len(marker) - len(mask)
        layout += f"{len(message) - at}s"
        self.constants = (*constants, message[at:])
        self.struct = struct.Struct(layout)


class _Templates(NamedTuple):
    """Templates of messages that add the halves of an address, or delete them."""

    destination: Template
    source: Template
    no_destination: Template
    no_source: Template
    no_source_any: Template


@lru_cache(16)
def _templates(ageing_time: int | None, bundled: bool) -> _Templates:
    """Made once: ports may come by the hundred, and each gives a bridge another `Reach`."""
    destination, source = learned_flows(_PORT, VID, MAC, _SERIAL, ageing_time)
    to, by = ("serial", "mac", "vid"), ("serial", "port", "mac", "vid")
    return _Templates(
        Template(codec.add_flow(destination), *to, "port", bundled=bundled),
        Template(codec.add_flow(source), *by, bundled=bundled),
        Template(codec.delete_flow(destination), *to, bundled=bundled),
        Template(codec.delete_flow(source), *by, bundled=bundled),
        Template(codec.delete_flow(source, any_serial=True), *by, bundled=bundled),
    )


@lru_cache(16)
def _idle_timeouts(ageing_time: int) -> tuple[int, ...]:
    """Seconds, by the serial: eight cohorts have the same.

    Hosts that fell silent together would expire together, and a switch that takes out a hundred
    thousand flows in one go does nothing else meanwhile: a hello was seconds late [measured].  So
    some stay up to a tenth longer.
    """
    steps = range(32)
    return tuple(min(ageing_time + ageing_time * step // 320, MAX_AGEING_TIME) for step in steps)


@lru_cache(16)
def _compile_install(
    ageing_time: int | None, bundled: bool
) -> Callable[[InstallEntry | InstallSticky], bytes]:
    """Made once for all switches: it depends on nothing of theirs."""
    made = _templates(ageing_time, bundled)
    destination, source = made.destination, made.source
    d0, d1, d2, d3, d4 = destination.constants
    s0, s1, s2, s3, s4 = source.constants
    idle = _idle_timeouts(ageing_time or 0)
    s1s = [s1[:_IDLE] + seconds.to_bytes(2, "big") + s1[_IDLE + 2 :] for seconds in idle]
    joined = struct.Struct(destination.struct.format + source.struct.format[1:])
    pack = joined.pack
    remove = made.no_source_any
    r0, r1, r2, r3, r4 = remove.constants
    pack_remove = remove.struct.pack

    def install(effect: InstallEntry | InstallSticky) -> bytes:
        """Both halves; for a move then also the end of the source half at the old port."""
        port, vid, mac, serial, old_port = effect
        addr = mac.to_bytes(6, "big")
        message = pack(
            *(d0, serial, d1, addr, d2, vid, d3, port, d4),
            *(s0, serial, s1s[serial >> 3 & 31], port, s2, addr, s3, vid, s4),
        )
        if old_port:
            message += pack_remove(r0, serial, r1, old_port, r2, addr, r3, vid, r4)
        return message

    return install


class LearnedWriter:
    """Effects on learned addresses to messages, for one ageing time.

    It is in seconds, 0 for never, None for sticky addresses, which are a separate kind.
    idle: the idle timeouts that stand for it.

    How frames leave by a port (see `way_out`) is known in advance for plain ports, which are
    nearly all, and made when it is first asked for others.

    port_policies: None where every port is plain; bundled: the messages are parts of a bundle.
    """

    def __init__(
        self, ageing_time: int | None, policies: PortPolicies | None = None, bundled: bool = False
    ) -> None:
        self._ageing_time = ageing_time
        self.port_policies = policies
        self._bundled = bundled
        made = _templates(ageing_time, bundled)
        self._add, self._delete_destination = (made.destination, made.source), made.no_destination
        self._delete_source, self._delete_source_any = made.no_source, made.no_source_any
        self.idle = _idle_timeouts(ageing_time or 0)
        self._install = _compile_install(ageing_time, bundled)
        self._special: dict[tuple[Action, ...], Template] = {}
        self._instructions: dict[tuple[int, bool], bytes] = {}
        plain = policies is None or policies.plain
        self.install = self._install if plain else self._install_as_reached

    def _install_as_reached(self, effect: InstallEntry | InstallSticky) -> bytes:
        port, vid, mac, serial, _ = effect
        message = self._install(effect)
        template = self._template(port, vid)
        if template is None:
            return message
        (length,) = struct.unpack_from("!H", message, 2)
        c0, c1, c2, c3 = template.constants
        addr = mac.to_bytes(6, "big")
        return template.struct.pack(c0, serial, c1, addr, c2, vid, c3) + message[length:]

    def _template(self, port: int, vid: int) -> Template | None:
        """The destination half for a port where frames do not just go out; else None."""
        if self.port_policies is None:
            return None
        out = way_out(self.port_policies, port, vid)
        if out == (Output(port),):
            return None
        template = self._special.get(out)
        if template is None:
            destination, _ = learned_flows(port, VID, MAC, _SERIAL, self._ageing_time, out)
            message = codec.add_flow(destination)
            template = Template(message, "serial", "mac", "vid", bundled=self._bundled)
            self._special[out] = template
        return template

    def instructions(self, port: int, vid: int) -> bytes:
        """The instructions of a destination half."""
        pops = self.port_policies is not None and self.port_policies.vlans(port).pops(vid)
        made = self._instructions.get((port, pops))
        if made is None:
            message = self.install_destination(InstallDestination(port, vid, MAC, _SERIAL))
            (match_length,) = struct.unpack_from("!H", message, 50)
            made = message[48 + match_length + (-match_length % 8) :]
            self._instructions[port, pops] = made
        return made

    def install_destination(self, effect: InstallDestination) -> bytes:
        """The destination half alone."""
        addr = effect.mac.to_bytes(6, "big")
        special = self._template(effect.port, effect.vid)
        if special is not None:
            c0, c1, c2, c3 = special.constants
            return special.struct.pack(c0, effect.serial, c1, addr, c2, effect.vid, c3)
        template = self._add[0]
        c0, c1, c2, c3, c4 = template.constants
        return template.struct.pack(
            c0, effect.serial, c1, addr, c2, effect.vid, c3, effect.port, c4
        )

    def remove_source(self, effect: RemoveSource) -> bytes:
        """The end of a source half, if its cookie still has the serial; 0: whichever it has."""
        template = self._delete_source if effect.serial else self._delete_source_any
        c0, c1, c2, c3, c4 = template.constants
        addr = effect.mac.to_bytes(6, "big")
        return template.struct.pack(
            c0, effect.serial, c1, effect.port, c2, addr, c3, effect.vid, c4
        )

    def remove_destination(self, effect: RemoveDestination) -> bytes:
        """The end of a destination half, if its cookie still has the serial."""
        c0, c1, c2, c3 = self._delete_destination.constants
        addr = effect.mac.to_bytes(6, "big")
        return self._delete_destination.struct.pack(c0, effect.serial, c1, addr, c2, effect.vid, c3)

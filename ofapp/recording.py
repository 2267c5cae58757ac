"""Recordings: the inputs of all bridges of a controller with their times, and their effects.

A recording is lines of JSON, one value each.  The first line has the format; a line with `params`
makes a bridge; each other line is an input: the bridge, the part and method that got it, the
arguments, and the effects.  `replay` makes the same bridges, passes the same inputs, and compares
the effects.  The core has no clock and draws no numbers, so the same inputs have the same effects.

When a recording has the most octets, the rest of each bridge is kept in a ring: the last minutes.
They follow a line with `gap`, and can be read but not replayed, as what came before is not there.

Times are those of the recording controller, in seconds.  A value that JSON does not have is an
object with the key `$`, which names its type; octets are hexadecimal.

LLDP is not recorded: its frames are sealed with a key that is secret.  What it finds out of links
is an input of another part.  Frames that loop protection
sends are left out for the same reason; those that come back are taken for right when replayed.
Of EAP the headers and identities are recorded, and not what methods say of passwords.  Texts of
events are left out, as other words are no other behaviour.  No key, token or password is an input
of a bridge.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, partial
from typing import Any, NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import AskServer, CheckedLink, SendFrame, SetTrap
from ofapp.bridge.event import Event
from ofapp.bridge.fdb.fdb import Entry
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.loop_protect.frame import ETHERTYPE, MARK
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.eapol import frame_without_data, without_data
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import OwnTrees
from ofapp.bridge.stp.stored import Revision

FORMAT = 1

MOST = 32 << 20
"""Octets of a compressed recording in memory: some days of an idle network's protocols."""

LAST = 8 << 20
"""Octets of the compressed lines of all bridges that are kept after that: minutes of a storm."""

SEGMENT = 64 << 10
"""Octets of lines that are compressed together, and dropped together."""

INPUTS: Mapping[str, tuple[str, ...]] = {
    "": (
        *("set_ports", "retain", "put_port", "put_ports", "remove_port", "remove_ports"),
        *("add_static", "remove_static", "teach", "release", "flush", "follow_load"),
        *("set_params", "hear", "tick", "pause", "resume", "go_on", "beat", "send_last"),
        *("restart_ports", "leave", "carry_out"),
    ),
    "addresses": (
        *("learn", "add_extern", "expired", "forget", "adopt", "adopt_held", "settle_held"),
        *("reinstall", "taken_back", "cohort", "set_trace"),
    ),
    "ip_addresses": ("hear",),
    "stp": (
        *("bpdus_left", "hear_of_leaving", "be_cautious", "beware", "calm", "recover"),
        *("check_migration", "set_trace", "written", "restore"),
    ),
    "lags": ("restore",),
    "multicast": ("add_permanent", "remove_permanent", "join", "forget", "restore_entries"),
    "loop_protect": ("free", "restore"),
    "one_way": ("check", "follow", "free", "restore"),
    "first_hop": ("add", "remove", "clear_refused", "restore"),
    "port_access": ("answer", "change", "reauthenticate", "clear", "restore"),
}
"""Methods that change a bridge, by the part of it that has them."""

GZIP = 16 + zlib.MAX_WBITS

SILENT = {"addresses.cohort"}
"""Inputs whose answers are not recorded: a query that forgets addresses that are gone."""

RESTART = "restart_stp"
"""The input that yields its effects in portions; each portion is a line."""

CARRY_OUT = "carry_out"
"""The input whose first argument is the answer of the one before."""

Line = dict[str, Any]


class Difference(NamedTuple):
    """Where a replay differs.  number: number of the line, from 1;
    then and now: effects as JSON."""

    number: int
    line: Line
    then: Any
    now: Any

    def __str__(self) -> str:
        of, name = self.line["bridge"], self.line["input"]
        return (
            f"line {self.number}, bridge {of}, {name}({json.dumps(self.line['with'])}):\n"
            f"  recorded: {json.dumps(self.then)}\n  replayed: {json.dumps(self.now)}"
        )


class Replayed(NamedTuple):
    """inputs: how many were replayed; left: lines after a gap, which cannot be."""

    inputs: int
    difference: Difference | None
    left: int = 0


class _Ring:
    """The last lines of one bridge."""

    def __init__(self, bridge: str) -> None:
        self._gap = gzip.compress(_text({"gap": bridge}))
        self._segments: deque[bytes] = deque()
        self._size = 0
        self._open: list[bytes] = []
        self._octets = 0

    def write(self, line: bytes, most: int) -> None:
        """Keep a line, and drop the oldest lines beyond `most` compressed octets."""
        self._open.append(line)
        self._octets += len(line)
        if self._octets < SEGMENT:
            return
        self._segments.append(gzip.compress(b"".join(self._open)))
        self._size += len(self._segments[-1])
        self._open, self._octets = [], 0
        while self._size > most and len(self._segments) > 1:
            self._size -= len(self._segments.popleft())

    def packed(self) -> bytes:
        """The lines after their gap, compressed by gzip."""
        return b"".join([self._gap, *self._segments, gzip.compress(b"".join(self._open))])


class Recorder:
    """Records bridges from their beginning, in memory.  life: that of the trees they share.

    full: whether the part that can be replayed has ended, because it has the most octets.
    """

    def __init__(self, life: int, version: str, most: int = MOST, last: int = LAST) -> None:
        """last: octets of the lines that are kept after that."""
        self.full = False
        self._most = most
        self._last = last
        self._rings: dict[str, _Ring] = {}
        self._packer = zlib.compressobj(wbits=GZIP)
        self._packed: list[bytes] = []
        self._size = 0
        self._depth = 0  # an input that is passed on inside of the bridge is none
        self._write({"format": FORMAT, "version": version, "life": life})

    def record(self, bridge: Bridge) -> None:
        """Record a bridge that has just been made, and has got no input yet."""
        params = _encoded(_without_lldp(bridge.params))
        name = bridge.name if bridge.name != f"{bridge.datapath_id:016x}" else ""
        self._write({"bridge": _key(bridge), "params": params, "name": name})
        for part, names in INPUTS.items():
            owner = getattr(bridge, part) if part else bridge
            for name in names:
                label = f"{part}.{name}" if part else name
                setattr(owner, name, partial(self._pass, bridge, label, getattr(owner, name)))
        bridge.restart_stp = partial(self._restart, bridge, bridge.restart_stp)  # type: ignore[method-assign]

    def packed(self) -> bytes:
        """The recording until now, compressed by gzip."""
        rings = [ring.packed() for ring in self._rings.values()]
        return b"".join([*self._packed, self._packer.copy().flush(), *rings])

    def _pass(
        self, bridge: Bridge, label: str, method: Callable[..., Any], *given: Any, **named: Any
    ) -> Any:
        """Pass an input on, and write it down with its effects."""
        if self._depth or (label == "hear" and given[0] == "lldp"):
            return method(*given, **named)
        given = tuple([*each] if isinstance(each, Iterator) else each for each in given)
        arguments = _arguments(bridge, label, _without_passwords(label, given), named)
        self._depth += 1
        try:
            answer = method(*given, **named)
        except Exception as error:
            self._write_input(bridge, label, arguments, _encoded(error))
            raise
        finally:
            self._depth -= 1
        effects = None if label in SILENT else _encoded(answer)
        self._write_input(bridge, label, arguments, effects)
        return answer

    def _restart(
        self,
        bridge: Bridge,
        restart: Callable[[bool, Callable[[], float]], Iterator[list[Any]]],
        lost: bool,
        clock: Callable[[], float],
    ) -> Iterator[list[Any]]:
        """Write each portion with the times that were read for it."""
        times: list[float] = []

        def read() -> float:
            times.append(clock())
            return times[-1]

        portions = restart(lost, read)
        while True:
            self._depth += 1
            try:
                effects = next(portions, None)
            finally:
                self._depth -= 1
            self._write_input(bridge, RESTART, [lost, times], _encoded(effects))
            if effects is None:
                return
            yield effects
            times.clear()

    def _write_input(self, bridge: Bridge, label: str, arguments: Any, answer: Any) -> None:
        self._write({"bridge": _key(bridge), "input": label, "with": arguments, "effects": answer})

    def _write(self, line: Line) -> None:
        if self.full:
            key = line["bridge"]
            ring = self._rings.setdefault(key, _Ring(key))
            ring.write(_text(line), self._last // len(self._rings))
            return
        packed = self._packer.compress(_text(line))
        self._packed.append(packed)
        self._size += len(packed)
        self.full = self._size > self._most


def _text(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def replay(lines: Iterable[str], compared: Collection[str] = ()) -> Replayed:
    """Pass a recording to new bridges, until the first difference or gap.

    compared: types of effects to compare; all without any.  Raises ValueError for lines that are
    no recording.
    """
    replayer: _Replayer | None = None
    count = 0
    texts = iter(lines)
    for number, text in enumerate(texts, 1):
        try:
            line = json.loads(text)
            if replayer is not None and "gap" in line:
                return Replayed(count, None, sum(1 for _ in texts))
            if replayer is None:
                replayer = _Replayer(line)
            elif "params" in line:
                replayer.make(line)
            else:
                count += 1
                now = _of_types(replayer.input(line), compared)
                then = _of_types(line["effects"], compared)
                if now != then:
                    return Replayed(count, Difference(number, line, then, now))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise ValueError(f"line {number} is no line of a recording: {error!r}") from error
    if replayer is None:
        raise ValueError("there is no line")
    return Replayed(count, None)


class _Replayer:
    def __init__(self, head: Line) -> None:
        if head["format"] != FORMAT:
            raise ValueError(f"its format is {head['format']}, and this program reads {FORMAT}")
        self._shared = SharedState(OwnTrees(head["life"]), OwnAgents(replays=True))
        self._bridges: dict[str, Bridge] = {}
        self._answer: Any = None
        self._restarts: dict[str, tuple[list[float], Iterator[list[Any]]]] = {}

    def make(self, line: Line) -> None:
        """Make a bridge; one of the same id is forgotten."""
        key = line["bridge"]
        self._bridges[key] = Bridge(
            int(key, 16), _decoded(line["params"]), self._shared, line["name"]
        )

    def input(self, line: Line) -> Any:
        """Pass an input on; gives its effects as JSON."""
        bridge, label = self._bridges[line["bridge"]], line["input"]
        if label == RESTART:
            return _encoded(self._restart(line["bridge"], bridge, *line["with"]))
        part, _, name = label.rpartition(".")
        if name not in INPUTS[part]:
            raise ValueError(f"{label} is no input")
        method = getattr(getattr(bridge, part) if part else bridge, name)
        given, named = _given(bridge, label, line["with"])
        if label == CARRY_OUT:
            given.insert(0, self._answer)
        try:
            self._answer = method(*given, **named)
        except Exception as error:  # the recording has its type
            return _encoded(error)
        return None if label in SILENT else _encoded(self._answer)

    def _restart(
        self, key: str, bridge: Bridge, lost: bool, times: list[float]
    ) -> list[Any] | None:
        if key not in self._restarts:
            left: list[float] = []
            self._restarts[key] = left, bridge.restart_stp(lost, lambda: left.pop(0))
        left, portions = self._restarts[key]
        left[:] = times
        effects = next(portions, None)
        if effects is None:
            del self._restarts[key]
        return effects


# Arguments

ENTRY = {"$": "entry"}
"""The entry of the address that the same input names."""


def _arguments(bridge: Bridge, label: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Arguments as JSON; those of `restore` are JSON, and a tree's revision is its number."""
    if label.endswith(".restore"):
        return {"document": given[0]}
    if label == "stp.written":
        return {"revision": given[0].number, "present": given[0].tree is bridge.stp.tree}
    if label == CARRY_OUT:
        given = given[1:]
    if label == "set_params":
        given = [_without_lldp(given[0]), *given[1:]]
    positional = [ENTRY if isinstance(each, Entry) else _encoded(each) for each in given]
    return [positional, _encoded(dict(named))] if named else [positional]


def _given(bridge: Bridge, label: str, arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    if label.endswith(".restore"):
        return [arguments["document"]], {}
    if label == "stp.written":
        tree = bridge.stp.tree if arguments["present"] else None
        return [Revision(tree, arguments["revision"])], {}  # type: ignore[arg-type]
    positional, *more = arguments
    given = [_decoded(each) for each in positional if each != ENTRY]
    if ENTRY in positional:
        given.insert(positional.index(ENTRY), bridge.addresses.get(*given[:2]))
    return given, _decoded(more[0]) if more else {}


def _without_lldp(params: BridgeParams) -> BridgeParams:
    return replace(params, lldp=None)


def _without_passwords(label: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an input, EAPOL frames without what methods say."""
    if label != "hear" or given[0] != "eapol":
        return given
    frames = [(port, frame_without_data(frame)) for port, frame in given[1]]
    return (given[0], frames, *given[2:])


def _key(bridge: Bridge) -> str:
    return f"{bridge.datapath_id:016x}"


# Values

_LLDP = b"\x88\xcc"


def _encoded(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, Enum):
        return {"$": _name(type(value)), "of": value.name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return {"$": "hex", "of": value.hex()}
    if isinstance(value, Event):
        return {"$": "Event", "kind": value.of.name, "port": value.port}
    if isinstance(value, AskServer | Answer):
        value = replace(value, eap=without_data(value.eap))
    elif type(value) is SendFrame:
        value = replace(value, frame=frame_without_data(value.frame))
    if is_dataclass(value):
        names = [each.name for each in fields(value) if each.init]
        named = {name: _encoded(getattr(value, name)) for name in names}
        return {"$": _name(type(value)), **named}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named = {key: _encoded(each) for key, each in value._asdict().items()}
        return {"$": _name(type(value)), **named}
    if isinstance(value, Mapping):
        return {"$": "map", "of": [[_encoded(key), _encoded(each)] for key, each in value.items()]}
    if isinstance(value, Set):
        return {"$": "set", "of": sorted(map(_encoded, value), key=json.dumps)}
    if isinstance(value, Iterable):
        return [_encoded(each) for each in value if not _is_sealed(each)]
    return {"$": _name(type(value))}  # an answer that is no effect, or an error


_FORMER = {
    **dict.fromkeys(("PortState", "SetPortState", "TopologyChanged"), "stp"),
    **dict.fromkeys(("Family", "SetGroup", "RemoveGroup", "SetUnregistered"), "multicast"),
    **dict.fromkeys(("BoundAddress", "BoundHost"), "first_hop"),
    "DesiredLag": "lag",
}
"""Folders that types had when the format was made; recordings keep them."""


def _name(form: type) -> str:
    """The name of a type with its folder: `stp.BridgeParams`."""
    if form.__module__ in ("ofapp.bridge.effects.content", "ofapp.bridge.packet.address"):
        return f"{_FORMER[form.__name__]}.{form.__name__}"
    if form.__module__ in ("ofapp.bridge.effects.addresses", "ofapp.bridge.effects.notices"):
        return form.__name__  # both were in `effects`
    if form.__module__ == "ofapp.bridge.effects.fabric":
        return f"fabric.{form.__name__}"
    folders = form.__module__.removeprefix("ofapp.bridge.").split(".")[:-1]
    return ".".join([*folders[:1], form.__name__])


def _is_sealed(effect: Any) -> bool:
    if type(effect) is SendFrame:
        frame = effect.frame
        return frame[12:14] == _LLDP or ETHERTYPE + MARK in (frame[12:16], frame[16:20])
    if type(effect) is SetTrap:
        return effect.kind == "lldp"
    if type(effect) is CheckedLink:
        return True
    return type(effect) is Event and effect.of.name.startswith("lldp.")


def _decoded(value: Any) -> Any:
    """The value of an argument; lists become tuples."""
    if isinstance(value, list):
        return tuple(map(_decoded, value))
    if not isinstance(value, dict):
        return value
    kind = value["$"]
    if kind == "hex":
        return bytes.fromhex(value["of"])
    if kind == "map":
        return {_decoded(key): _decoded(each) for key, each in value["of"]}
    if kind == "set":
        return frozenset(map(_decoded, value["of"]))
    form = _types()[kind]
    if issubclass(form, Enum):
        return form[value["of"]]
    return form(**{key: _decoded(each) for key, each in value.items() if key != "$"})


@cache
def _types() -> dict[str, type]:
    """Frozen values of the core, by `_name`."""
    return {
        _name(value): value
        for module in [*sys.modules.values()]
        if getattr(module, "__name__", "").startswith("ofapp.bridge.")
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and (is_dataclass(value) or issubclass(value, Enum) or hasattr(value, "_asdict"))
    }


def _of_types(effects: Any, types: Collection[str]) -> Any:
    """The effects of these types, as JSON."""
    if not types:
        return effects
    listed = effects if isinstance(effects, list) else []
    named = [(each["$"].rpartition(".")[2], each) for each in listed if isinstance(each, dict)]
    return [each for name, each in named if name in types]

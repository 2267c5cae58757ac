"""Refused claims: the latest ones, by the samples of refused frames from the switch."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ofapp.bridge.effects import Effect
from ofapp.bridge.first_hop.binding import Refused
from ofapp.bridge.first_hop.ethertypes import named
from ofapp.bridge.first_hop.events import BINDINGS_REFUSED
from ofapp.bridge.first_hop.refused.reasons import words
from ofapp.bridge.mac import format_mac
from ofapp.bridge.packet.address import text

OF_PORT, OF_BRIDGE = 32, 1024
"""Most claims that are remembered: of a port, and of all."""
EVENT_INTERVAL = 60.0
"""Least seconds between two events about claims of one kind on a port."""

_Key = tuple[str, int, int, str, bytes | int | None]


class Refusals:
    """The last claims.  Times are the core's.

    samples: how many of each present port, by port and kind of claim.
    """

    def __init__(self) -> None:
        self.samples: Counter[tuple[str, str]] = Counter()
        self._claims: dict[_Key, Refused] = {}  # the latest is the last
        self._on: dict[str, dict[_Key, None]] = {}
        self._reported: dict[tuple[str, str], float] = {}  # when, by port and kind
        self._unreported: Counter[tuple[str, str]] = Counter()  # samples since then

    def __iter__(self) -> Iterator[Refused]:
        """The last claims, the latest first."""
        return reversed(list(self._claims.values()))

    def note(self, refused: Refused) -> None:
        """Note a sample, as one that is the first of its claim."""
        port = refused.port
        what = refused.address if refused.ethertype is None else refused.ethertype
        key = port, refused.vid, refused.mac, refused.claim, what
        before = self._claims.get(key)
        if before is not None:
            self._drop(key)
            samples = before.samples + refused.samples
            refused = replace(refused, samples=samples, first=before.first)
        elif len(self._on.get(port, ())) >= OF_PORT:
            self._drop(next(iter(self._on[port])))
        elif len(self._claims) >= OF_BRIDGE:
            self._drop(next(iter(self._claims)))
        self._claims[key] = refused
        self._on.setdefault(port, {})[key] = None
        self._unreported[port, refused.claim] += 1
        self.samples[port, refused.claim] += 1

    def report(self, number: int, refused: Refused) -> list[Effect]:
        """Report a claim that was noted, unless one of its kind was lately; gives the event.

        number: number of the port.
        """
        kind, now = (refused.port, refused.claim), refused.last
        if now < self._reported.get(kind, -EVENT_INTERVAL) + EVENT_INTERVAL:
            return []
        self._reported[kind] = now
        address = None if refused.address is None else text(refused.address)
        data: dict[str, object] = {
            "claim": refused.claim,
            "mac": format_mac(refused.mac),
            "vlan": refused.vid,
            "address": address,
            "samples": self._unreported.pop(kind),
            "passed": refused.passed,
            "reason": refused.reason,
            "ethertype": None if refused.ethertype is None else f"0x{refused.ethertype:04x}",
        }
        claimed = refused.claim if address is None else f"{refused.claim} {address}"
        does = f"claims {claimed}"
        if refused.claim == "dhcp":
            does = "sends DHCP messages that are not allowed"
        if refused.ethertype is not None:
            does = f"sends frames of type {named(refused.ethertype)}, which is not admitted"
        sentence = f"{format_mac(refused.mac)} on port {refused.port} {does}"
        if (owner := refused.contradicts) is not None:
            data |= {"bound_port": owner.port, "bound_mac": format_mac(owner.mac)}
            sentence += f", bound to {format_mac(owner.mac)} on port {owner.port}"
        elif refused.reason:
            sentence += f" ({words(refused.reason)})"
        fate = "this is only reported" if refused.passed else "its frames are dropped"
        return [BINDINGS_REFUSED.event(f"{sentence}: {fate}", number, data)]

    def clear(self) -> None:
        """Forget all claims."""
        self._claims.clear()
        self._on.clear()

    def forget(self, port: str) -> None:
        """Forget the counts of a port that is gone; its claims stay."""
        for kind in [kind for kind in self._reported if kind[0] == port]:
            del self._reported[kind]
        for counts in (self._unreported, self.samples):
            for kind in [kind for kind in counts if kind[0] == port]:
                del counts[kind]

    def _drop(self, key: _Key) -> None:
        del self._claims[key]
        del self._on[key[0]][key]
        if not self._on[key[0]]:
            del self._on[key[0]]

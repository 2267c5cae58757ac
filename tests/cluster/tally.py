"""What was seen in all turns of a fault: a row of a table.

Every turn is made, also after one that did harm: how often something happens, all of them tell.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.cluster.watching import Seen

HEAD = """\
| fault | turns | lost | as a socket was full | lost over the fast bond | over the slow one\
 | as a socket was full | entries lost | written out of turn | roles moved | learned after\
 | longest without a hello |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


class Tally:
    """Of one fault."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.seen: list[Seen] = []

    def add(self, seen: Seen) -> None:
        """One turn's; shown at once to who runs pytest with -s."""
        self.seen.append(seen)
        print(f"{self.fault}, turn {len(self.seen)}: {seen}", flush=True)

    def __str__(self) -> str:
        seen = self.seen
        learned = [max(each.learned) for each in seen if each.learned] or [0.0]
        cells = (
            len(seen),
            sum(each.lost for each in seen),
            sum(each.dropped + each.overlooked for each in seen),
            _turns(each.bonds.get("fast", 0) for each in seen),
            _turns(each.bonds.get("slow", 0) for each in seen),
            sum(each.bonds_dropped for each in seen),
            sum(each.forgotten for each in seen),
            sum(len(each.strangers) for each in seen),
            sum(len(each.trees) for each in seen),
            f"{min(learned):.1f} to {max(learned):.1f} s",
            f"{max((each.silence for each in seen), default=0.0):.1f} s",
        )
        return f"| {self.fault} | {' | '.join(map(str, cells))} |"

    def assert_unharmed(self, learned: float | None = None, silence: float | None = None) -> None:
        """Times only where they are given, as a busy machine decides.  What a bond with the short
        timeout loses depends on the fault, and FAULTS.md has it."""
        for turn, seen in enumerate(self.seen, 1):
            assert not seen.strangers, (turn, seen.strangers[:5])
            assert not seen.trees, (turn, seen.trees)
            # On a busy machine a switch's own sockets overflow under any controller.
            assert seen.lost <= seen.dropped + seen.overlooked, f"turn {turn}: {seen}"
            slow = seen.bonds.get("slow", 0)
            assert slow <= seen.bonds_dropped, f"turn {turn}: {seen}"
            assert seen.forgotten == 0, f"turn {turn}: {seen}"
            assert seen.doubled == 0, f"turn {turn}: {seen}"
            assert learned is None or max(seen.learned) < learned, f"turn {turn}: {seen}"
            assert silence is None or seen.silence < silence, f"turn {turn}: {seen}"


def _turns(lost: Iterable[int]) -> str:
    """Of all turns together, and in how many of them."""
    those = [each for each in lost if each]
    return f"{sum(those)} (in {len(those)})" if those else "0"

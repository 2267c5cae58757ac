"""Effects of an actor, besides `Event`s.

A list of effects is carried out in its order: members that do less, then members that do more, then
frames. An LACPDU may promise that the member collects, and then the partner sends at once; so the
shell puts a barrier before it.
"""

from dataclasses import dataclass

from ofapp.bridge.event import Event


@dataclass(frozen=True, slots=True)
class SetMember:
    """New state of a member (6.4.15): both are False for one that was just added.

    collecting: frames received here are the aggregation's; otherwise they are dropped.
    distributing: frames of the aggregation may leave here.
    """

    port: int
    collecting: bool
    distributing: bool


@dataclass(frozen=True, slots=True)
class SendPdu:
    """Send a complete Ethernet frame, without FCS, out of a member in any state."""

    port: int
    frame: bytes


Effect = SetMember | SendPdu | Event


def in_safe_order(effects: list[Effect], before: dict[int, tuple[bool, bool]]) -> list[Effect]:
    """Reorder one step's effects.

    before: (collecting, distributing), before the step, of each member with a SetMember.

    Only the last SetMember of a member is kept: nothing happens between two of one step.
    """
    last: dict[int, SetMember] = {}
    for effect in effects:
        if isinstance(effect, SetMember):
            last[effect.port] = effect
    changes = [new for new in last.values() if before[new.port] != _of(new)]
    less = [new for new in changes if _of(new) < before[new.port]]
    return [
        *less,
        *(new for new in changes if new not in less),
        *(effect for effect in effects if isinstance(effect, Event)),
        *(effect for effect in effects if isinstance(effect, SendPdu)),
    ]


def _of(effect: SetMember) -> tuple[bool, bool]:
    return effect.collecting, effect.distributing

"""The state machine of a connection."""

from enum import Enum


class Phase(Enum):
    """Phase of one connection."""

    STANDBY = "another controller may be master of the switch: nothing is sent to it"
    ASKED = "it is ours, and being asked what it holds: nothing it sends counts yet"
    RUNNING = "protocols run; the learned addresses that it holds are being checked"
    LEARNING = "new hosts are learned, but it lacks something that the bridge wants there"
    IN_LINE = "it holds what the bridge wants"
    ENDED = "the connection is over"

    @property
    def runs(self) -> bool:
        """Whether protocols run."""
        return self in _RUNNING


_RUNNING = (Phase.RUNNING, Phase.LEARNING, Phase.IN_LINE)


class Transition(Enum):
    """Transitions of a connection's phase."""

    OURS = "this controller is master of the switch"
    PROGRAMMED = "the switch holds what effects build on"
    CHECKED = "its learned addresses have been checked"
    SOUND = "it was checked as a whole, and refuses nothing that it should hold"
    REFUSED = "it refuses something that it should hold"
    ENDED = "the connection is over"


_NEXT = {
    (Phase.STANDBY, Transition.OURS): Phase.ASKED,
    (Phase.ASKED, Transition.PROGRAMMED): Phase.RUNNING,
    (Phase.RUNNING, Transition.CHECKED): Phase.LEARNING,
    (Phase.LEARNING, Transition.SOUND): Phase.IN_LINE,
    (Phase.IN_LINE, Transition.REFUSED): Phase.LEARNING,
}


def after(phase: Phase, transition: Transition) -> Phase:
    """The phase that follows; where none is listed, a transition changes nothing."""
    return Phase.ENDED if transition is Transition.ENDED else _NEXT.get((phase, transition), phase)

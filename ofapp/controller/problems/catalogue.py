"""The catalogue of problems: all kinds, and what to do about them.

Each subject declares its kinds beside it, and has one line here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from ofapp.bridge.fdb import problems as fdb
from ofapp.bridge.first_hop import problems as first_hop
from ofapp.bridge.lag import problems as lag
from ofapp.bridge.loop_protect import problems as loop_protect
from ofapp.bridge.one_way import problems as one_way
from ofapp.bridge.port_access import problems as port_access
from ofapp.bridge.ports import problems as ports
from ofapp.bridge.problem import ProblemKind
from ofapp.bridge.stp import problems as stp
from ofapp.controller import member_problems
from ofapp.controller.problems import absent, certificates, kinds, notifier, overload

SUBJECTS = (
    kinds,
    overload,
    absent,
    certificates,
    notifier,
    member_problems,
    stp,
    fdb,
    lag,
    first_hop,
    port_access,
    loop_protect,
    one_way,
    ports,
)


def _declared(module: ModuleType) -> Iterator[ProblemKind]:
    for value in vars(module).values():
        found = value.values() if isinstance(value, Mapping) else (value,)
        yield from (each for each in found if isinstance(each, ProblemKind))


KINDS: Mapping[str, ProblemKind] = {
    kind.name: kind for subject in SUBJECTS for kind in _declared(subject)
}

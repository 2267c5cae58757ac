"""Tables and figures of papers, as data: what the paper measured, and the same load here.

A paper is a module with a `Paper`. Its exhibits hold the paper's own figures by row and column; a
row's parameters are a load of one of the tests, so that everything else is derived: the plan of
a run, the tables of the report, the plots. Claims are judged by what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

from ofapp.bench import BenchError
from ofapp.bench.model import Plan, Point, Remote
from ofapp.bench.names import Duplex, Dut, Measurement
from ofapp.bench.names import Paper as Name
from ofapp.bench.papers.found import At, Claim, Found

DRAWN = "drawn, no number"
"""A paper's figure that is only in a picture."""
NOT_IN_PAPER = "not in the paper"
OVERRIDES = ("mtu",)
"""Parameters that may be given although they are the same in all rows of an exhibit."""


@dataclass(frozen=True, slots=True)
class Head:
    """A column of names: the text for a row's parameters, or else the row's name."""

    title: str
    text: Callable[[At], str] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of the paper, and the same figure of each device here.

    key: its name in `Sample.values`, empty if it is the paper's alone; factor: from the stored
    unit to the paper's; net: what the wire takes for as many frames is subtracted; lost: the text
    where a trial has no such figure; at: parameters in addition to the row's.
    """

    title: str
    key: str = ""
    factor: float = 1.0
    net: bool = False
    lost: str = "not measurable"
    at: At = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the paper.

    at: the load; paper: the paper's figures, by column; only: the devices that it is about, and
    otherwise: the text in other devices' cells; name: for a head without a text; key: the
    beginning of the figures' names, before the column's.
    """

    at: At
    paper: tuple[float | str, ...]
    only: tuple[Dut, ...] = ()
    otherwise: str = ""
    name: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that the paper had and this machine has not, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure.

    name: `table 3`; text: how the paper measured it, and how it is measured here; duts: devices
    to show; beyond: loads that are measured in addition to the paper's; part: a parameter that
    rows have and loads do not, as one trial gives several rows; axis: what a figure plots
    against, and split: what makes separate curves.
    """

    name: str
    title: str
    text: str
    test: Measurement
    duts: tuple[Dut, ...]
    heads: tuple[Head, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    beyond: tuple[At, ...] = ()
    part: str = ""
    axis: str = ""
    split: str = ""
    lacks: tuple[Lack, ...] = ()
    marks: Callable[[Found], list[list[str]]] | None = None
    """Rows of a further table, its header first, whose first cell is the title."""

    def loads(self) -> list[dict[str, float]]:
        """The distinct loads, in the paper's order, then those beyond."""
        loads: list[dict[str, float]] = []
        for load in [load for row in self.rows for load in self._loads(row)]:
            if load not in loads:
                loads.append(load)
        return loads + [load for at in self.beyond if (load := dict(at)) not in loads]

    def measured(self, load: At) -> list[Dut]:
        """The devices to measure at a load: with the wire, if figures are taken net of its."""
        rows = [row.only or self.duts for row in self.rows if load in self._loads(row)]
        wire = (Dut.WIRE,) if any(column.net for column in self.columns) else ()
        return [dut for duts in (wire, *(rows or [self.duts])) for dut in duts]

    def shown(self, points: tuple[Point, ...]) -> list[Row]:
        """The paper's rows among the loads of a run, then the run's other loads, ascending."""
        loads = [point.at for point in points if self.name in point.exhibits]
        rows = [row for row in self.rows if any(load in loads for load in self._loads(row))]
        known = [load for row in self.rows for load in self._loads(row)]
        nothing = (NOT_IN_PAPER,) * len(self.columns)
        others = [Row(at, nothing) for at in loads if at not in known]
        return rows + sorted(others, key=lambda row: sorted(row.at.items()))

    def _loads(self, row: Row) -> list[dict[str, float]]:
        return [
            {key: value for key, value in (*row.at.items(), *column.at.items()) if key != self.part}
            for column in self.columns
            if column.key
        ]


@dataclass(frozen=True, slots=True)
class Length:
    """Duration of trials in seconds, number of repetitions, and parameters that are restricted."""

    seconds: float
    repetitions: int
    axes: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its exhibits in its own order, and its claims."""

    title: str
    exhibits: tuple[Exhibit, ...]
    claims: Sequence[Claim]
    quick: Length
    usual: Length

    def chosen(self, names: Sequence[str]) -> list[Exhibit]:
        """The exhibits of these names, all by default; BenchError for others."""
        known = {exhibit.name: exhibit for exhibit in self.exhibits}
        for name in names:
            if name not in known:
                raise BenchError(f"{name}: the paper's exhibits are {', '.join(known)}")
        return [exhibit for exhibit in self.exhibits if not names or exhibit.name in names]


def paper(name: str) -> Paper:
    """The declaration of a paper, by its name."""
    found: Paper = import_module(f"ofapp.bench.papers.{Name(name)}").PAPER
    return found


def _takes(exhibit: Exhibit, axis: str) -> bool:
    """Whether other values of a parameter make sense: it varies, or may be overridden."""
    values = {row.at.get(axis) for row in exhibit.rows}
    return len(values) > 1 or (axis in OVERRIDES and None not in values)


def at_values(exhibit: Exhibit, axis: str, values: Sequence[float]) -> Exhibit:
    """The exhibit at these values of a parameter: the paper's rows if it has them, or others."""
    if not _takes(exhibit, axis):
        return exhibit
    rows = tuple(row for row in exhibit.rows if row.at.get(axis) in values)
    loads = [at | {axis: value} for at in exhibit.loads() if axis in at for value in values]
    return replace(exhibit, rows=rows, beyond=tuple(loads))


def plan(
    name: str,
    exhibits: Sequence[str],
    axes: Mapping[str, Sequence[float]],
    *,
    quick: bool,
    duplex: Duplex = Duplex.FULL,
) -> Plan:
    """Return the plan that measures exhibits of a paper (all by default), on all their devices.

    axes: values of a parameter in place of the paper's.  Raises BenchError for an exhibit or a
    parameter that the paper has not.
    """
    declared = paper(name)
    length = declared.quick if quick else declared.usual
    chosen = declared.chosen(exhibits)
    for axis, asked in axes.items():
        values = asked or length.axes.get(axis, ())
        if values and not any(_takes(one, axis) for one in chosen):
            those = "yu's tables are" if axis == "rate" else "ibm's figures are"
            raise BenchError(f"--{axis}: nothing of that is measured at several; {those}")
        chosen = [at_values(one, axis, values) if values else one for one in chosen]
    made = points(chosen)
    if duplex is Duplex.HALF and not any("duplex" in point.at for point in made):
        raise BenchError("--duplex: nothing of that is sent both ways; varis is")
    return Plan(
        duts=tuple(dut for dut in Dut if any(dut in point.duts for point in made)),
        tests=tuple(point.test for point in made),
        repetitions=length.repetitions,
        seconds=length.seconds,
        paper=name,
        duplex=duplex,
        points=made,
    )


def across(made: Plan, remote: Remote) -> Plan:
    """Only the loads of a plan that are across two machines, with the far one by ssh.

    Raises BenchError if there is none, or the interfaces are missing.
    """
    chosen = tuple(point for point in made.points if point.at.get("machines", 1) > 1)
    if not chosen:
        raise BenchError(
            "--remote: nothing of that is measured across two machines; ibm's figure 3 is"
        )
    if not remote.link:
        raise BenchError("--remote: give --link, the interface that is cabled to the other machine")
    return made.model_copy(update={"points": chosen, "remote": remote})


def points(exhibits: Sequence[Exhibit]) -> tuple[Point, ...]:
    """The loads of all exhibits, each once, for the devices of all rows that show it."""
    made: dict[tuple[Measurement, frozenset[tuple[str, float]]], Point] = {}
    for exhibit, at in [(one, at) for one in exhibits for at in one.loads()]:
        key = exhibit.test, frozenset(at.items())
        duts, names = (made[key].duts, made[key].exhibits) if key in made else ((), ())
        duts = tuple(dict.fromkeys((*duts, *exhibit.measured(at))))
        made[key] = Point(test=exhibit.test, at=at, duts=duts, exhibits=(*names, exhibit.name))
    return tuple(made.values())

"""Plan and results of a run, as stored in results.json.

One `Sample` is one figure set of one device in one repetition: long and flat, so that reports are
made of it by filtering and nothing needs to be read twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ofapp.bench import BenchError
from ofapp.bench.frames import MIN_SIZE
from ofapp.bench.names import Datapath, Duplex, Dut, Measurement

FORMAT = 1
FILE = "results.json"
STANDARD_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 clause 9.1."""
JUMBO = 9000


_ONCE = AfterValidator(lambda values: tuple(dict.fromkeys(values)))
_ASCENDING = AfterValidator(lambda values: tuple(sorted(set(values))))


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Point(_Model):
    """One load of a paper's table or figure.

    at: the load's parameters; duts: devices that are measured at it; exhibits: the names of the
    tables and figures that show it.
    """

    test: Measurement
    at: dict[str, float]
    duts: tuple[Dut, ...]
    exhibits: tuple[str, ...]


class Remote(_Model):
    """Another machine: by what ssh reaches it, and the interfaces of the cable to it."""

    host: str
    link: str = Field(description="this machine's")
    far_link: str = Field(description="the other machine's")


class Plan(_Model):
    """Tests, devices and loads of a run."""

    duts: Annotated[tuple[Dut, ...], _ONCE] = Field(min_length=1)
    datapaths: Annotated[tuple[Datapath, ...], _ONCE] = Field((Datapath.NETDEV,), min_length=1)
    tests: Annotated[tuple[Measurement, ...], _ONCE] = Field(min_length=1)
    sizes: Annotated[tuple[int, ...], _ASCENDING] = Field(
        (MIN_SIZE,), min_length=1, description="octets with the checksum"
    )
    addresses: Annotated[tuple[int, ...], _ASCENDING] = Field(
        (1,), min_length=1, description="hosts behind the far side"
    )
    repetitions: int = Field(3, ge=1)
    seconds: float = Field(0.5, gt=0, description="of one trial")
    loss: float = Field(0.001, ge=0, lt=1, description="the share that may be lost")
    resolution: float = Field(0.03, gt=0, description="of searches, a ratio")
    side_by_side: bool = Field(False, description="all devices are up at once")
    paper: str = Field("", description="name of the paper whose tables are measured")
    duplex: Duplex = Field(Duplex.FULL, description="of loads that a paper sends both ways")
    guests: str = Field("", description="directory with the kernel of guests; none without")
    emulated: bool = Field(False, description="guests without KVM: emulation sets the speed")
    remote: Remote | None = Field(None, description="machine of the far end")
    points: tuple[Point, ...] = Field((), description="a paper's loads, in place of all others")


class Machine(_Model):
    """Machine that a run was measured on."""

    processor: str
    cores: int
    kernel: str
    system: str
    memory_mib: int
    virtual: str
    versions: dict[str, str]


class Sample(_Model):
    """One measurement of one device.

    device: its label; at: the parameters (`size`, `rate`, `addresses`, ...); values: the figures by
    name, in the unit that the name ends with; disturbed: cores that programs which have no part in
    this kept busy meanwhile.
    """

    test: Measurement
    device: str
    repetition: int
    at: dict[str, float] = {}
    values: dict[str, float]
    disturbed: float = 0.0


def described(at: Mapping[str, float]) -> str:
    """A load in words: `pairs 10, payload 64`."""
    return ", ".join(f"{name} {value:g}" for name, value in sorted(at.items())) or "no parameters"


class Results(_Model):
    """A run's outcome, whole or so far."""

    format: int = FORMAT
    title: str
    begun: str
    seconds: float
    plan: Plan
    machine: Machine
    samples: tuple[Sample, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write results.json into the directory, atomically."""
        scratch = folder / f".{FILE}"
        scratch.write_text(self.model_dump_json(indent=1) + "\n")
        scratch.replace(folder / FILE)


def writable(folder: Path) -> None:
    """Make a directory for results.  Raises BenchError if nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BenchError(
            f"--out {folder}: {error.strerror}; give a directory that can be written"
        ) from error


def read(folder: Path) -> Results:
    """The results of a folder.  BenchError when it has none, or others than this version writes."""
    path = folder / FILE
    try:
        return Results.model_validate_json(path.read_text())
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}; give the --out of a run") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BenchError(f"{path}: {where}: {first['msg']}") from error

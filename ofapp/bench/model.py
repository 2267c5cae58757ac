"""Plan and results of a run, as stored in results.json.

One `Sample` is one figure set of one device in one repetition: long and flat, so that reports are
made of it by filtering and nothing needs to be read twice.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath, Dut, Measurement

FORMAT = 1
FILE = "results.json"
STANDARD_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 clause 9.1."""
JUMBO = 9000


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Plan(_Model):
    """Tests, devices and loads of a run."""

    duts: tuple[Dut, ...] = Field(min_length=1)
    datapaths: tuple[Datapath, ...] = Field(min_length=1)
    tests: tuple[Measurement, ...] = Field(min_length=1)
    sizes: tuple[int, ...] = Field(min_length=1, description="octets with the checksum")
    addresses: tuple[int, ...] = Field(min_length=1, description="hosts behind the far side")
    repetitions: int = Field(ge=1)
    seconds: float = Field(gt=0, description="of one trial")
    loss: float = Field(0.001, ge=0, lt=1, description="the share that may be lost")
    resolution: float = Field(0.03, gt=0, description="of searches, a ratio")
    side_by_side: bool = Field(False, description="all devices are up at once")


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

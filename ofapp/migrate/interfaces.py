"""Reader of /etc/network/interfaces, of ifupdown as well as of ifupdown2."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ofapp.migrate.command import text_of
from ofapp.migrate.setting import ImportFault, Setting

MAX_FILES = 1000
OF_FAMILIES = ("bridge_", "bond_", "ovs_")
"""Options that ifupdown spells with `_`, and ifupdown2 with `-`."""
SINGLE = ("auto", "no-auto-down", "no-scripts", "rename")
_OLD_NAMES = {
    **{"slaves": "bond-slaves", "bond-lacp_rate": "bond-lacp-rate"},
    **{"bridge-pathcost": "bridge-pathcosts", "bridge-portprio": "bridge-portprios"},
}


@dataclass
class Interface:
    """An interface with the options of all its stanzas, spelled with `-`."""

    name: str
    where: str
    options: list[Setting] = field(default_factory=list)

    def get(self, key: str) -> Setting | None:
        """The last option of that name."""
        return next((option for option in reversed(self.options) if option.key == key), None)

    def words(self, key: str) -> list[str]:
        """The words of an option, of all its lines."""
        return [word for one in self.options if one.key == key for word in str(one.value).split()]


def read_interfaces(path: Path) -> dict[str, Interface]:
    """The interfaces of a file and of what it sources; ImportFault."""
    found: dict[str, Interface] = {}
    _read(path, found, set())
    return found


def _read(path: Path, found: dict[str, Interface], seen: set[Path]) -> None:
    if path.resolve() in seen:
        return
    if len(seen) >= MAX_FILES:
        raise ImportFault(f"{path}: more than {MAX_FILES} files are sourced: check `source`")
    seen.add(path.resolve())
    current: Interface | None = None
    skipped = False
    for number, line in _lines(text_of(path, "give the path of a file that can be read")):
        where = f"{path}:{number}"
        key, _, value = line.partition(" ")
        value = value.strip()
        if line.startswith("%"):
            what = "a template: import what `ifquery --print-all`, or a render of it, gives"
            raise ImportFault(f"{where}: {what}")
        if key == "iface":
            name = value.split()[0] if value else ""
            if not name:
                raise ImportFault(f"{where}: iface: the interface's name is missing: add it")
            current = found.setdefault(name, Interface(name, where))
            skipped = False
        elif key in SINGLE or key.startswith("allow-") or key in ("mapping", "template"):
            current, skipped = None, True
        elif key in ("source", "source-directory"):
            current, skipped = None, True
            for other in _sourced(path, key, value):
                _read(other, found, seen)
        elif current is not None:
            current.options.append(Setting(where, _key(key), value))
        elif not skipped:
            raise ImportFault(f"{where}: {key}: stands before the first `iface`: remove the line")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, continued ones joined, with the number of their first."""
    whole, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first or number
        if not whole and raw.lstrip().startswith("#"):
            first = 0
            continue
        if raw.endswith("\\"):
            whole += raw[:-1] + " "
            continue
        if line := " ".join((whole + raw).split()):
            yield first, line
        whole, first = "", 0


def _key(key: str) -> str:
    if key.startswith(OF_FAMILIES):
        key = key.replace("_", "-")
    return _OLD_NAMES.get(key, key)


def _sourced(path: Path, key: str, value: str) -> list[Path]:
    pattern = str(path.parent / value)
    if key == "source":
        return [Path(name) for name in sorted(glob.glob(pattern)) if Path(name).is_file()]
    files = (name for folder in glob.glob(pattern) for name in Path(folder).iterdir())
    return sorted(name for name in files if re.fullmatch(r"[\w-]+", name.name))

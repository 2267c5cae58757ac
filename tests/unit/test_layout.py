"""The layers of the package: imports go down only, and no modules import in circles.

The message of a failure names the import and what to do about it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import ofapp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams

ROOT = Path(ofapp.__file__).parent

LAYERS = [
    "common",
    "docs",
    "bridge",
    "recording",
    "openflow.model",
    "openflow.pipeline",
    "osken",
    "openflow.wire",
    "openflow.switch",
    "config",
    "controller",
    "api",
    "launcher",
    "cli",  # `ofapp run` is the launcher
    "app",
]
"""From the bottom up.  What a package is for is in its `__init__` and in ofapp/README.md."""

TOOLS = {
    "host_setup": ("common bridge", "config cli launcher app bench"),
    "fabric_setup": ("common bridge host_setup", "cli"),
    "bench": ("common host_setup", "cli"),
    "migrate": ("common bridge config", "cli"),
    "snmp": ("common", "cli"),
    "lab": ("common bridge", "cli"),
    "reference": ("docs config controller api launcher cli", ""),
}
"""Programs beside the bridge: what they may import, and what may import them."""


class Import(NamedTuple):
    """At line `line`, the module `of` imports the module `what`."""

    of: str
    what: str
    line: int


@cache
def modules() -> dict[str, Path]:
    """Files by module name, without `ofapp.`."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Imports of this package: at the top of a module, in a function, or for types alone."""
    return tuple(
        Import(name, target, line)
        for name, path in modules().items()
        for target, line in _targets(ast.parse(path.read_text()))
        if target != name
    )


def _targets(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ofapp":
            module = (node.module or "").partition(".")[2]
            for alias in node.names:
                whole = f"{module}.{alias.name}".strip(".")
                yield (whole if whole in modules() else module), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("ofapp."):
                    yield alias.name.partition(".")[2], node.lineno


def layer(module: str) -> str:
    """The layer of a module: the longest of the names in the table that it begins with."""
    layers = [*LAYERS, *TOOLS]
    fitting = [name for name in layers if module == name or module.startswith(f"{name}.")]
    return max(fitting, key=len, default="")


def test_every_module_is_in_a_layer() -> None:
    unknown = {name for name in modules() if not layer(name)} - {"", "__main__", "openflow"}
    assert not unknown, f"{unknown}: put them into a package of LAYERS, or add theirs"


def test_nothing_is_imported_from_above() -> None:
    faults = {
        f"{found.of}:{found.line} imports {found.what}" for found in imports() if _is_upward(found)
    }
    assert not faults, (
        "a package imports only from layers below it (LAYERS in this test). Pass what is needed "
        "as an argument, move it down, or answer with a value: " + "; ".join(sorted(faults))
    )


INSIDE = [
    "input_error",
    "mac",
    "datapath_status",
    "packet",
    "event",
    "problem",
    "pausable",
    "ports",
    "params",
    "effects",
    "fdb",
    "relay",
    "state",
    "protocol",
    "stp",
    "lag",
    "multicast",
    "lldp",
    "loop_protect",
    "one_way",
    "first_hop",
    "port_access",
    "reactions",
    "desired",
    "bridge",
    "queries",
    "fabric",
    "twin",
    "diagnosis",
]
"""Packages and modules of `bridge/`, from the bottom up: values, relay, protocols, bridge."""

UPWARD = {
    "params stp": "a bridge's parameters have a section of each protocol",
    "params lag": "the same",
    "params multicast": "the same",
    "params lldp": "the same",
    "params loop_protect": "the same",
    "params first_hop": "the same",
    "params port_access": "the same",
}
"""Pairs of them whose import runs upward, each with the reason."""


def test_nothing_in_the_bridge_is_imported_from_above() -> None:
    pairs = {
        (found.of.split(".")[1], found.what.split(".")[1]): f"{found.of}:{found.line}"
        for found in imports()
        if found.of.startswith("bridge.") and found.what.startswith("bridge.")
    }
    unknown = {name for pair in pairs for name in pair} - {*INSIDE}
    assert not unknown, f"{unknown}: put them at their place in INSIDE"
    upward = {
        f"{low} {high}": where
        for (low, high), where in pairs.items()
        if INSIDE.index(high) > INSIDE.index(low)
    }
    new = {pair: where for pair, where in upward.items() if pair not in UPWARD}
    assert not new, f"a value moves below what needs it, see `effects/content.py`: {new}"
    assert upward.keys() == UPWARD.keys(), "take the others off the list"


def test_no_modules_import_in_circles() -> None:
    found = [*_circles()]
    assert not found, (
        "modules import each other in a circle: move what both need below them, or pass it as "
        "an argument. " + "; ".join(", ".join(sorted(circle)) for circle in found)
    )


ADAPTERS = {"eventlet": "common.hub", "os_ken": "osken"}
"""Libraries that have one adapter each: the only module or package that imports them."""


@pytest.mark.parametrize("library", ADAPTERS)
def test_a_library_with_an_adapter_is_imported_there_alone(library: str) -> None:
    adapter = ADAPTERS[library]
    places = {
        (name, node.lineno)
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if library in _libraries(node)
    }
    faults = {
        f"{name}:{line}"
        for name, line in places
        if name != adapter and not name.startswith(f"{adapter}.")
    }
    assert not faults, f"import what {adapter} has of {library}, or add it there: {sorted(faults)}"
    assert places, f"{adapter} uses {library} no more: take it off the list"


def _libraries(node: ast.AST) -> set[str]:
    """The packages that an import names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    return set()


@pytest.mark.parametrize("listing", ["ofp", "parser", "application", "options"])
def test_what_is_listed_of_os_ken_is_used(listing: str) -> None:
    """A name that is used and not listed is an error of mypy."""
    here = f"osken.{listing}"
    listed = {
        alias.name
        for node in ast.parse(modules()[here].read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } - {"ofproto_parser"}  # which the module itself uses
    others = " ".join(path.read_text() for name, path in modules().items() if name != here)
    assert listed - set(re.findall(r"\w+", others)) == set(), "take off what no module uses"


OPENFLOW_USERS = {"controller.bridges.openflow_datapath"}
"""The only module of controller/ and api/ that knows OpenFlow; all others know a `Datapath`."""


def test_the_controller_and_the_api_know_a_datapath_and_not_openflow() -> None:
    users = {
        found.of: found.line
        for found in imports()
        if found.of.startswith(("controller.", "api.")) and found.what.startswith("openflow.")
    }
    others = users.keys() - OPENFLOW_USERS
    assert not others, (
        f"{others} import OpenFlow: use `Datapath` of controller/bridges/datapath.py, and add to "
        "it what it lacks, so that another kind of datapath has it, too"
    )
    assert users.keys() == OPENFLOW_USERS, "take the others off the list"


PARTS = {
    "fdb",
    "flooding",
    "learning",
    "rates",
    "relay",
    "static_entries",
}
"""Private parts of a `Bridge`."""

PROTOCOLS = {
    "first_hop",
    "lags",
    "lldp",
    "loop_protect",
    "multicast",
    "one_way",
    "port_access",
    "stp",
}
"""Its protocols: other packages use their queries, and nothing else of them."""

BRIDGES = {"bridge", "_bridge", "each", "other", "one"}
"""Names of variables that hold a bridge in the layers above."""


def test_a_bridge_is_asked_and_not_reached_into() -> None:
    faults = [
        f"{path.relative_to(ROOT.parent)}:{node.lineno} reads {ast.unparse(node)}"
        for name, path in modules().items()
        if layer(name) not in ("bridge", "config")  # there a bridge is a section of the file
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and _is_reached(node)
    ]
    assert not faults, (
        "code above ofapp/bridge/ neither reads a bridge's parts nor sets what `bridge.stp` has: "
        "use the bridge's queries, `bridge.addresses`, `bridge.stp` or `bridge/queries.py`, or "
        "add a query that returns a value. " + "; ".join(sorted(faults))
    )


def test_the_parts_of_a_bridge_are_known_to_this_test() -> None:
    public = {"addresses", "datapath_id", "former_name", "lags", "params", "port_policies", "ports"}
    public |= {"ip_addresses", "protocols", *PROTOCOLS}
    bridge = Bridge(1, BridgeParams())
    assert {protocol.name for protocol in bridge.protocols} == PROTOCOLS
    there = {name for name in vars(bridge) if not name.startswith("_")}
    assert there - public <= PARTS, "add it to PARTS, or to the public ones here"
    assert all(hasattr(bridge, name) for name in PARTS | public)


def _is_reached(node: ast.Attribute) -> bool:
    """Whether this reads a private part of a bridge, or sets an attribute of a protocol."""
    if node.attr in PARTS:
        return _last_name(node.value) in BRIDGES
    inside = isinstance(node.value, ast.Attribute) and node.value.attr in PROTOCOLS
    if inside and _last_name(node.value.value) in BRIDGES:  # type: ignore[attr-defined]
        return isinstance(node.ctx, ast.Store)
    return False


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_upward(found: Import) -> bool:
    here, there = layer(found.of), layer(found.what)
    if not here or not there or here == there:
        return False
    if here in TOOLS:
        return there not in TOOLS[here][0].split()
    if there in TOOLS:
        return here not in TOOLS[there][1].split()
    return LAYERS.index(there) > LAYERS.index(here)


@cache
def _circles() -> tuple[frozenset[str], ...]:
    """Groups of modules that import each other (Tarjan's algorithm)."""
    leads: dict[str, set[str]] = {name: set() for name in modules()}
    for found in imports():
        leads[found.of].add(found.what)
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[frozenset[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for to in leads.get(name, ()):
            if to not in order:
                visit(to)
                low[name] = min(low[name], low[to])
            elif to in stack:
                low[name] = min(low[name], order[to])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                circles.append(frozenset(stack[at:]))
            del stack[at:]

    for name in leads:
        if name not in order:
            visit(name)
    return tuple(circles)


PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ofapp/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_what_the_pages_point_at_is_there(page: str) -> None:
    path = ROOT.parent / page
    text = path.read_text()
    links = {target for target in re.findall(r"\]\(([^):#]+)\)", text) if "//" not in target}
    lost = {target for target in links if not (path.parent / target).exists()}
    if page == "ofapp/README.md":  # modules are named by path, or by name alone
        names = set(re.findall(r"`([\w/]+\.py)`", text))
        lost |= {name for name in names if not [*ROOT.rglob(name), *ROOT.parent.glob(name)]}
    assert not lost, f"{page} names {lost}, which is not there: name the new place"


MOST_FILES = 12
"""Modules beside each other in a folder, without its `__init__` and the declarations of
its events and problems: more are a heap."""

BY_SUBJECT = ("bridge", "api", "controller", "openflow.switch")
"""Packages whose folders are kept small; elsewhere a folder has one module per machine, table,
message or command."""

ONE_KIND = {"bridge.stp", "bridge.multicast", "bridge.lag.lacp", "controller.state"}
"""Folders of state machines, one module per machine of the standard."""


def test_folders_are_no_heaps() -> None:
    folders = Counter(
        name.rpartition(".")[0]
        for name, path in modules().items()
        if path.name not in ("__init__.py", "events.py", "problems.py")
        and name.startswith(BY_SUBJECT)
    )
    heaps = {name for name, count in folders.items() if count > MOST_FILES} - ONE_KIND
    assert not heaps, f"{heaps} have more than {MOST_FILES} modules: group them by subject"

"""Reading the stored document of a fabric, which `FabricState.dump` makes."""

from typing import Any

from ofapp.bridge.fabric.address import VERSIONS


def read_uses(data: Any) -> dict[int, list[int]]:
    """Read the stored versions that members may use.  Raises ValueError."""
    try:
        uses = {int(member): [int(version) for version in used] for member, used in data.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"not the versions that members use: {error!r}") from error
    if not all(0 <= version < VERSIONS for used in uses.values() for version in used):
        raise ValueError(f"not the versions that members use: some is not below {VERSIONS}")
    return uses


def read_address(data: Any) -> int | None:
    """Read the stored address of the bridge, which its first member may not be there to tell."""
    if data is not None and not (type(data) is int and 0 < data < 1 << 48):
        raise ValueError("not the address of the bridge")
    return data


def read_proven(data: Any) -> list[tuple[str, str]]:
    """Read the stored links that were proven.  Raises ValueError."""
    try:
        pairs = [(one, other) for one, other in data]
    except (TypeError, ValueError) as error:
        raise ValueError(f"not the links that were proven: {error!r}") from error
    if not all(isinstance(name, str) for pair in pairs for name in pair):
        raise ValueError("not the links that were proven: some port has no name")
    return pairs

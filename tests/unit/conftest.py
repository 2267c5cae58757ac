"""What these tests share."""

# eventlet looks through all that is loaded for locks to replace, and writes a traceback for each
# object that does not bear it, as pydantic's and werkzeug's do not: so it comes before them here,
# as it does in `ofapp-manager`.
import ofapp.hub  # noqa: F401

# isort: split
import pytest

CORE = {"bridge", "stp", "multicast"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage is asked of the core, and of its own tests: it makes them slower by a half."""
    for item in items:
        if item.path.parent.name not in CORE:
            item.add_marker(pytest.mark.no_cover)

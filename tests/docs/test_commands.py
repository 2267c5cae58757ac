"""Every command of the documentation is typed, and prints what the page says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.docs.typed import bed_of, blocks_of, differences, names, type_page

BLOCKS = [(name, block) for name in names() for block in blocks_of(name)]
TYPED = [
    pytest.param(name, marks=pytest.mark.thorough if name.startswith("lab-") else ())
    for name in dict.fromkeys(name for name, block in BLOCKS if block.typed)
]
"""Labs are typed by test_labs.py."""
AT_ONCE = 2
"""Pages that are typed side by side, each in a bed: they mostly wait for switches."""
NOT_TYPED = [(name, block.line, block.fence.skip) for name, block in BLOCKS if block.fence.skip]


@pytest.fixture(scope="module")
def typing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[list[str]]]]:
    """The faults of each page that is to be typed in this run."""
    wanted = [
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "typing" in item.fixturenames
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(type_page, name, tmp_path_factory.mktemp("page")) for name in wanted
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", TYPED)
def test_the_commands_of_a_page_work(name: str, typing: dict[str, Future[list[str]]]) -> None:
    faults = typing[name].result()
    assert not faults, f"bed {bed_of(name)}: " + "\n".join(faults)


@pytest.mark.parametrize(("name", "line", "reason"), NOT_TYPED)
def test_a_block_that_is_not_typed(name: str, line: int, reason: str) -> None:
    pytest.skip(f"{name}:{line}: {reason}")


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("a  b\n", "a b\n"),
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("a\n...\nd\n", "a\nd\n"),
        ("port ... is up (eth1)\n", "port 7 is up (eth1)\n"),
        ("...\n", ""),
    ],
)
def test_outputs_that_are_as_the_page_says(page: str, printed: str) -> None:
    assert not differences(page, printed)


@pytest.mark.parametrize(
    ("page", "printed", "shown"),
    [
        ("a\nb\n", "a\nc\n", "  a\n- b\n+ c"),
        ("a\n", "a\nb\n", "  a\n+ b"),
        ("a ... c\n", "a b\n", "- a ... c\n+ a b"),
        ("a.c\n", "abc\n", "- a.c\n+ abc"),
    ],
)
def test_outputs_that_differ_are_shown_line_by_line(page: str, printed: str, shown: str) -> None:
    assert differences(page, printed) == shown

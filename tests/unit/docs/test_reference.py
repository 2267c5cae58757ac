"""The generated pages are those of the declarations."""

from __future__ import annotations

from ofapp.reference.__main__ import PAGES, pages


def test_the_generated_pages_are_current() -> None:
    old = {name for name, text in pages().items() if (PAGES / name).read_text("utf-8") != text}
    assert not old, f"{sorted(old)}: run `.venv/bin/python -m ofapp.reference`, and commit"

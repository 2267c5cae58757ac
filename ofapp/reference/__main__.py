"""Write the generated pages into ofapp/docs/pages: `python -m ofapp.reference`."""

from __future__ import annotations

from pathlib import Path

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp import docs

# isort: split
from ofapp.reference import api, commands, configuration, events, metrics, options, problems

MAKERS = (options, configuration, commands, problems, events, metrics, api)
PAGES = Path(docs.__file__).with_name("pages")


def pages() -> dict[str, str]:
    """The text of the generated pages, by file name."""
    return {
        f"reference-{maker.__name__.rpartition('.')[2]}.md": "\n\n".join(maker.page()) + "\n"
        for maker in MAKERS
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (PAGES / name).write_text(text, "utf-8")

"""Colours of meanings on the page: all can distinguish them, and none stands without a sign."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from ofapp.api import page
from tests.support.colours import MISSING_CONES, ciede2000, contrast, difference, parsed, seen

FOLDER = Path(page.__file__).parent
MEANINGS = ("ok", "notice", "inactive", "warning", "fault", "accent")
"""Tokens of states, roles and alarms; the accent is that of links, paths and the root's role."""
BACKGROUNDS = ("surface", "back", "selected")
LEAST = 10.0
"""CIEDE2000 between any two of them: small signs of such colours are distinguished at a glance."""
ENOUGH = 4.5
"""Contrast of text (WCAG 2.2, 1.4.3)."""


def tokens(theme: str) -> dict[str, str]:
    """The colours of a theme, by name; those of `dark` replace those of `light`."""
    css = (FOLDER / "style" / "base.css").read_text()
    light, dark, *_ = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", light))
    return found | (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", dark)) if theme == "dark" else {}
    )


def signs(module: str, name: str) -> dict[str, str]:
    """A dictionary of words and strings in a module of the page."""
    text = (FOLDER / "js" / module).read_text()
    (body,) = re.findall(rf"const {name} = \{{(.*?)\}};", text)
    return dict(re.findall(r'"?([a-z][a-z ]*?)"?: "(.*?)"', body))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("sight", ["normal", *MISSING_CONES])
def test_meanings_have_colours_that_all_can_distinguish(theme: str, sight: str) -> None:
    shown = {name: seen(parsed(tokens(theme)[name]), sight) for name in MEANINGS}
    close = {
        (one, other): round(found, 1)
        for one, other in combinations(MEANINGS, 2)
        if (found := difference(shown[one], shown[other])) < LEAST
    }
    assert close == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_in_the_colour_of_a_meaning_can_be_read(theme: str) -> None:
    own = {name: parsed(text) for name, text in tokens(theme).items()}
    faint = {
        (name, under): round(found, 2)
        for name in (*MEANINGS, "text", "muted")
        for under in BACKGROUNDS
        if (found := contrast(own[name], own[under])) < ENOUGH
    }
    assert faint == {}


def test_the_difference_of_colours_is_that_of_the_published_pairs() -> None:
    """Of Sharma, Wu and Dalal 2005, table 1."""
    for one, other, expected in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ):
        assert ciede2000(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("module", "name", "alike"),
    [
        ("front.js", "SIGNS", ()),
        ("words.js", "SHAPES", ("disabled", "disconnected")),
        ("standing.js", "SHAPES", ()),
        ("events.js", "SHAPES", ()),
        ("words.js", "ROLE_LETTERS", ()),
    ],
)
def test_each_state_has_its_own_sign(module: str, name: str, alike: tuple[str, ...]) -> None:
    """So none depends on colours; alike: states that are the same to a user."""
    found = signs(module, name)
    assert len(found) >= 3
    one_each = [sign for state, sign in found.items() if state not in alike[1:]]
    assert len({*one_each}) == len(one_each), found

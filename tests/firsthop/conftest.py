"""Controllers of this tier start at once."""

from __future__ import annotations

from tests.support.controller import Controller

Controller.preloaded = True

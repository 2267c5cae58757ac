"""Every tier has what tests/support offers."""

pytest_plugins = ["tests.support.plugin"]

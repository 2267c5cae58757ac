"""The default place of the configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.launcher import options


def test_the_usual_file_is_read_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / "ofapp.yaml"
    assert options.CONFIG_FILE == "/etc/ofapp/ofapp.yaml"
    monkeypatch.setattr(options, "CONFIG_FILE", str(usual))
    options.CONF([], default_config_files=[], default_config_dirs=[])
    assert options.config_file() is None
    usual.write_text("")
    assert options.config_file() == usual
    options.CONF(["--config-file", "/elsewhere"], default_config_files=[], default_config_dirs=[])
    assert options.config_file() == Path("/elsewhere")
    options.CONF.clear()

"""The settings of `ofapp deploy`: by the file, by options, and by both."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.cli.client import ApiError
from ofapp.cli.commands.deploy.options import read_config
from ofapp.host_setup.model import DeployPort

FILE = """\
defaults: {ageing_time: 60}
deploy:
  bridge: br7
  nics: [eth0]
  datapath: netdev
  ports: ["v0:vhost-user:/run/v0", {name: t0, type: tap}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ofapp.yaml"
    path.write_text(FILE)
    return path


def test_options_go_before_the_file(file: Path) -> None:
    config = read_config(file, {"nics": ["eth1", "eth2"], "mtu": None})
    assert (config.bridge, config.nics, config.mtu) == ("br7", ("eth1", "eth2"), None)
    assert config.ports == (
        DeployPort(name="v0", type="vhost-user", path="/run/v0"),
        DeployPort(name="t0", type="tap"),
    )


def test_without_a_file_there_are_defaults() -> None:
    assert read_config(None, {"nics": ["eth0"]}).bridge == "br0"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (FILE, {"nics": ["much-too-long-a-name"]}, r"^--nic: 'much-too-long-a-name' is too long"),
        (FILE, {"bridge": "eth0"}, r"^eth0 is named more than once$"),
        ("deploy: {nic: eth0}", {}, r"ofapp.yaml:1:10: deploy.nic: .*did you mean nics\?"),
        ("defaults: {ageing_tim: 1}", {}, r":1:12: defaults.ageing_tim: .*mean ageing_time\?"),
        ("a: [", {}, "not YAML"),
    ],
)
def test_what_is_wrong_is_named(
    file: Path, text: str, options: dict[str, object], said: str
) -> None:
    file.write_text(text)
    with pytest.raises(ApiError, match=said):
        read_config(file, options)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="No such file"):
        read_config(tmp_path / "none.yaml", {})

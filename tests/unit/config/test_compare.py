"""Differences between two forms of a bridge, in the words of the file."""

from __future__ import annotations

import pytest

from ofapp.config import Config
from ofapp.config.bridge import Bridge
from ofapp.config.compare import differences

STATIC = {"mac": "52:54:00:00:00:01", "port": "a"}
OTHER = {"mac": "52:54:00:00:00:02", "port": "a"}


def bridge(own: object) -> Bridge:
    return Config.model_validate({"bridges": {"1": own}}).bridge(1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({}, {}, []),
        ({}, {"ageing_time": 300}, []),
        ({}, {"ageing_time": 5}, ["ageing_time: default -> 5"]),
        ({"stp": {"enabled": False}}, {}, ["stp.enabled: false -> default"]),
        ({"ports": {"a": {}}}, {"ports": {"a": {"vlan": 5}}}, ["ports.a.vlan: default -> 5"]),
        (
            {"ports": {"a": {"vlan": 5}}},
            {"ports": {"a": {"vlan": {"trunk": [1, "3-4"]}}}},
            ["ports.a.vlan: 5 -> {trunk: [1, 3-4]}"],
        ),
        ({}, {"static": [STATIC]}, ["static: + {mac: 52:54:00:00:00:01, port: a}"]),
        (
            {"static": [STATIC]},
            {"static": [OTHER]},
            ["static: - {mac: 52:54:00:00:00:01, port: a} + {mac: 52:54:00:00:00:02, port: a}"],
        ),
        ({"static": [STATIC, OTHER]}, {"static": [OTHER, STATIC]}, ["static: in another order"]),
    ],
)
def test_differences(old: object, new: object, words: list[str]) -> None:
    assert [*differences(bridge(old), bridge(new)).values()] == words

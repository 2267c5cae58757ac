"""Who sets the addresses of a NIC, by the traces that are left on a disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.host_setup.links import managers_of
from tests.unit.host_setup.hosts import FIRST, LINK_LOCAL, SECOND


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("run/NetworkManager/devices/7", "[device]\nmanaged=true\n", "NetworkManager"),
        ("run/systemd/netif/links/7", "ADMIN_STATE=configured\n", "systemd-networkd"),
        ("run/network/ifstate", "lo=lo\neth0=eth0\n", "ifupdown (/etc/network/interfaces)"),
        ("proc/12/cmdline", "/sbin/dhclient\0-4\0eth0\0", "dhclient (process 12)"),
    ],
)
def test_a_manager_is_known_by_its_file(tmp_path: Path, path: str, text: str, name: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert managers_of("eth0", 7, (FIRST,), tmp_path) == (name,)
    assert managers_of("eth1", 8, (FIRST,), tmp_path) == ()


def test_an_address_with_a_lifetime_was_leased(tmp_path: Path) -> None:
    assert managers_of("eth0", 7, (FIRST,), tmp_path) == ()
    assert "DHCP" in managers_of("eth0", 7, (SECOND,), tmp_path)[0]


def test_without_an_address_there_is_nothing_to_manage(tmp_path: Path) -> None:
    (tmp_path / "run/network").mkdir(parents=True)
    (tmp_path / "run/network/ifstate").write_text("eth0=eth0\n")
    assert managers_of("eth0", 7, (LINK_LOCAL,), tmp_path) == ()

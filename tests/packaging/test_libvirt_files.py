"""libvirt's files against libvirt's own schemas, and against the bridge's configuration.

Guests that libvirt boots on an ofapp bridge are in the guest tier.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from lxml import etree
from lxml.etree import _Element as Element

from ofapp.config import load_config
from ofapp.config.port import PortSection
from tests.packaging.machine import REPOSITORY
from tests.support.debs import unpacked

FOLDER = REPOSITORY / "deploy/libvirt"
IFNAMSIZ = 15

AROUND = """<domain type='kvm'><name>guest</name><memory>262144</memory>
<os><type arch='x86_64'>hvm</type></os><devices>{}</devices></domain>"""


@cache
def schema(kind: str) -> etree.RelaxNG:
    """What `virt-xml-validate` asks: it comes with libvirt's library."""
    return etree.RelaxNG(file=unpacked("libvirt0") / f"usr/share/libvirt/schemas/{kind}.rng")


def document(file: Path) -> tuple[etree.RelaxNG, Element]:
    kind = file.name.partition("-")[0].partition(".")[0]
    text = file.read_text()
    if kind == "interface":
        return schema("domain"), etree.fromstring(AROUND.format(text))
    return schema(kind), etree.fromstring(text)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.xml")), ids=lambda file: file.name)
def test_libvirt_understands_it(file: Path) -> None:
    rules, root = document(file)
    rules.assertValid(root)


def test_a_mistake_would_be_found() -> None:
    text = (FOLDER / "network.xml").read_text()
    wrong = etree.fromstring(text.replace("type='openvswitch'", "type='openswitch'"))
    assert not schema("network").validate(wrong)


def interface(name: str) -> Element:
    return etree.fromstring((FOLDER / f"interface-{name}.xml").read_text())


def port(name: str) -> PortSection:
    """What the example configuration tells the port of that interface."""
    target = interface(name).find("target").get("dev")
    assert len(target) <= IFNAMSIZ
    assert not target.startswith("vnet"), "libvirt would rename it"
    return load_config(FOLDER / "ports.yaml").bridge(1, "br0").port(target, 5)


def test_the_names_mean_to_the_bridge_what_the_files_say() -> None:
    assert port("vlan").vlan.access == 10
    assert not port("vlan").isolated
    assert port("isolated").isolated
    assert port("trunk").vlan.trunk == ("10-12",)
    plain = load_config(FOLDER / "ports.yaml").bridge(1, "br0").port("vnet3", 5)
    assert plain.vlan.access is None
    assert plain.stp.admin_edge


def test_interfaces_are_on_networks_that_there_are() -> None:
    networks = {etree.parse(file).findtext("name"): file for file in FOLDER.glob("network*.xml")}
    used = {
        etree.parse(file).find("source").get("network") for file in FOLDER.glob("interface-*.xml")
    }
    assert used == set(networks)

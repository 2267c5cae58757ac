"""Names that identify ports, however a switch calls them."""

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.ports.names import identified, news, reported
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.config.base import port_number

NAMES = st.sampled_from(["eth0", "eth0#2", "eth0#2#2", "2", "LOCAL", "#1", "a#", "#"]) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=15
)
SWITCHES = st.dictionaries(st.integers(1, 9) | st.just(LOCAL_PORT), NAMES).map(
    lambda names: [Port(number, name, number, True) for number, name in names.items()]
)


@given(SWITCHES)
def test_each_name_is_one_ports_and_no_number_and_leads_back(ports: list[Port]) -> None:
    made = identified(ports)
    assert [reported(port) for port in made if port.number != LOCAL_PORT] == [
        port for port in ports if port.number != LOCAL_PORT
    ]
    others = [port.name for port in made if port.number != LOCAL_PORT]
    assert len({*others}) == len(others)
    assert not [name for name in others if port_number(name) is not None]


@given(SWITCHES, SWITCHES)
def test_the_end_of_each_ambiguity_is_reported(before: list[Port], after: list[Port]) -> None:
    old, new = identified(before), identified(after)
    began = {str(event.data["name"]) for event in news([], old)}
    states = dict.fromkeys(began, True)
    for event in news(old, new):
        states[str(event.data["name"])] = not event.kind.endswith("cleared")
    assert {name for name, on in states.items() if on} == {
        str(event.data["name"]) for event in news([], new)
    }

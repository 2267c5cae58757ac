"""The map: no box lies over another, it fills its canvas, and what is missing is red."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from tests.page.browser import Browser, browser, until
from tests.page.site import OFFICE, Site
from tests.support import frames
from tests.support.controller import Controller

ARRANGE = """
    const [links, done] = arguments;
    import("/page/js/layout.js").then(({arranged}) => {
      const nodes = new Map();
      for (const id of links.flat()) nodes.set(id, {width: 90, height: 36, root: id === "0"});
      const edges = links.map(([a, b], at) => ({id: `${at}`, a, b}));
      const found = arranged(nodes, edges, {width: 1000, height: 700});
      const [placed, drawn] = [found.nodes, found.edges].map(Object.fromEntries);
      done(JSON.stringify({nodes: placed, edges: drawn}));
    }, (error) => done(JSON.stringify(String(error))));
"""
RING = [(number, (number + 1) % 12) for number in range(12)]
STAR = [(0, number) for number in range(1, 40)]
MESH = [(one, other) for one in range(6) for other in range(one)]
PARALLEL = [(0, 1), (0, 1), (0, 1), (1, 2), (3, 4)]


@pytest.mark.parametrize(
    "links", [RING, STAR, MESH, PARALLEL], ids=["ring", "star", "mesh", "parallel"]
)
def test_no_box_or_link_lies_over_another(page: Browser, links: list[tuple[int, int]]) -> None:
    page.open("#/map")
    pairs = [[str(a), str(b)] for a, b in links]
    found = json.loads(page.driver.execute_async_script(ARRANGE, pairs))
    nodes, edges = found["nodes"], found["edges"]
    boxes = [(f"node {name}", at["x"], at["y"], 90, 36) for name, at in nodes.items()]
    assert len(boxes) == len({name for pair in pairs for name in pair})
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert not overlap(one, other), (one, other)
    for name, edge in edges.items():
        apart = [box for box in boxes if box[0] not in {f"node {end}" for end in pairs[int(name)]}]
        for x, y in along(edge["points"]):
            crossed = [box[0] for box in apart if inside(x, y, box)]
            assert not crossed, (name, crossed)


def overlap(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    aside = abs(one[1] - other[1]) * 2 - one[3] - other[3]
    below = abs(one[2] - other[2]) * 2 - one[4] - other[4]
    return max(aside, below) < -1


def inside(x: float, y: float, box: tuple[Any, ...]) -> bool:
    return bool(abs(x - box[1]) * 2 < box[3] - 4 and abs(y - box[2]) * 2 < box[4] - 4)


def along(points: list[dict[str, float]]) -> list[tuple[float, float]]:
    """Places on a line with bends, close to each other."""
    return [
        (a["x"] + (b["x"] - a["x"]) * step / 20, a["y"] + (b["y"] - a["y"]) * step / 20)
        for a, b in pairwise(points)
        for step in range(21)
    ]


def test_the_load_of_links_and_the_hosts_of_a_switch_on_demand(page: Browser, site: Site) -> None:
    host = frames.host(0x51)

    def known() -> bool:
        site.say(site.bridges[0], OFFICE, 0x51)
        return bool(site.controller.get("/v1/fdb", mac=host)["entries"])

    until(known, "the host to be learned")
    page.open("#/map")
    page.reads("3 links")
    until(lambda: "bit/s there" in page.text, "the load of a link")
    page.click(".panel .row", "br1")
    page.reads("Hosts that are attached here", host)


def test_links_are_drawn_in_the_colour_of_their_state(page: Browser) -> None:
    page.open("#/map")
    page.reads("3 links, 1 blocked")
    painted = """
        const count = (name) => {
          const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
          const octet = (at) => parseInt(text.trim().slice(at, at + 2), 16);
          const [red, green, blue] = [1, 3, 5].map(octet);
          let found = 0;
          for (const canvas of document.querySelectorAll(".canvas canvas")) {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            for (let at = 0; at < data.length; at += 4)
              found += [red, green, blue].every((own, of) => Math.abs(data[at + of] - own) < 40);
          }
          return found;
        };
        return [count("ok"), count("inactive")];
    """
    until(lambda: min(page.js(painted)) > 50, "both kinds of links to be drawn")


def test_disconnected_switches_stand_together_and_are_removed_at_once(
    page: Browser, site: Site
) -> None:
    gone = [site.switch.add_bridge() for _ in range(2)]
    for bridge in gone:
        bridge.set_controller(site.controller.target)
        site.controller.wait_ready(bridge)
    for bridge in gone:
        bridge.destroy()
    page.open("#/map")
    page.reads("2 disconnected")
    page.click(".panel button", "Remove…")
    page.reads("Remove all 2 disconnected switches?")
    page.click("dialog button", "Remove")
    page.reads("2 switches removed.")
    until(lambda: "2 disconnected" not in page.text, "them to go")
    page.reads("4 switches")


CONTENTS = """
    const [known, opened, done] = arguments;
    Promise.all([import("/page/js/drawing.js"), import("/page/js/canvas.js")]).then(
      ([{contents}, {elements}]) => {
        const shown = {outside: true, opened: new Set()};
        const room = {width: 1000, height: 700};
        elements(known, shown, room);  // the groups, before some of them are opened
        for (const id of opened) shown.opened.add(id);
        const boxes = elements(known, shown, room).filter((own) => own.position);
        const {nodes, edges} = contents(known, shown);
        const labels = Object.fromEntries([...nodes].map(([id, {label}]) => [id, label]));
        const places = boxes.map(({position: {x, y}, data: {width, height}}) =>
          [x - width / 2, x + width / 2, y - height / 2, y + height / 2]);
        done(JSON.stringify({labels, edges, places}));
      }, (error) => done(JSON.stringify(String(error))));
"""


def known(links: list[tuple[str, str]], problems: list[object] | None = None) -> dict[str, Any]:
    """What the map is drawn from: bridges named 0, 1, ... of which 0 is the root."""

    def end(own: str, other: str) -> dict[str, Any]:
        port = {"number": 1, "name": f"to{other}"}
        return {"datapath_id": own, "connected": True, "port": port}

    names = sorted({name for pair in links for name in pair} or {"0", "1"}, key=int)
    bridges = [
        {"datapath_id": name, "name": f"switch{name}", "connected": True, "root": name == "0"}
        for name in names
    ]
    ends = [{"a": end(a, b), "b": end(b, a), "stp": {}, "lag": None} for a, b in links]
    drawn = {"bridges": bridges, "links": ends, "neighbours": []}
    return {"bridges": [], "map": drawn, "problems": problems or [], "loads": None}


def drawn(page: Browser, what: dict[str, Any], *opened: str) -> Any:
    """Labels of boxes, links, and places of boxes on a canvas of 1000 x 700 pixels."""
    return json.loads(page.driver.execute_async_script(CONTENTS, what, opened))


def test_a_hundred_switches_are_readable_groups_that_open(page: Browser) -> None:
    """Two cores, eight distribution switches, and ninety access switches in four pods."""
    links = [("0", "1"), *((core, str(dist)) for dist in range(2, 10) for core in "01")]
    for own in range(10, 100):
        links += [(str(2 + 2 * (own % 4) + side), str(own)) for side in (0, 1)]
    page.open("#/map")
    found = drawn(page, known(links))
    labels = [label.split("\n")[0] for label in found["labels"].values()]
    assert sorted(label for label in labels if "switches" in label) == [
        *("22 switches", "22 switches", "23 switches", "23 switches")
    ]
    assert len(labels) == 14
    left, right, top, bottom = zip(*found["places"], strict=True)
    assert max(right) - min(left) <= 1000  # at its full size, which is 12 pixels
    assert max(bottom) - min(top) <= 700
    assert max(right) - min(left) > 900  # and the canvas is full
    group = next(key for key, label in found["labels"].items() if label.startswith("23"))
    assert len(drawn(page, known(links), group)["labels"]) == 14 - 1 + 23


def test_a_hundred_switches_in_a_deep_tree_are_levels_that_open(page: Browser) -> None:
    """Each switch has three below, and a cable to the next one beside it."""
    links = [(str((own - 1) // 3), str(own)) for own in range(1, 100)]
    links += [(str(own), str(own + 1)) for own in range(1, 99, 2)]
    page.open("#/map")
    found = drawn(page, known(links))
    groups = {key: label for key, label in found["labels"].items() if "switches" in label}
    assert sum(int(label.split()[0]) for label in groups.values()) + 4 == 100
    assert len(found["labels"]) == 4 + 3
    left, right, top, bottom = zip(*found["places"], strict=True)
    assert 900 < max(right) - min(left) <= 1000  # at its full size, which is 12 pixels
    assert 600 < max(bottom) - min(top) <= 700
    opened = drawn(page, known(links), "g:2/")["labels"]
    assert {"7", "8", "9", "g:1/", "g:3/", "g:7/", "g:8/", "g:9/"} <= opened.keys()
    missing = {"kind": "port.down", "severity": "error", "datapath_id": "98", "message": ""}
    faulty = [missing | {"acknowledged": None, "data": {}}]
    assert "98" in drawn(page, known(links, faulty))["labels"], "a faulty switch is shown"


SMALL = """
    const [known, done] = arguments;
    import("/page/js/canvas.js").then(({Canvas, elements}) => {
      const place = document.createElement("div");
      place.style.cssText = "position: fixed; left: 0; top: 0; width: 380px; height: 300px";
      document.body.append(place);
      const canvas = new Canvas(place, {picked() {}, opened() {}});
      canvas.update(elements(known, {outside: true, opened: new Set()}, canvas.room));
      const size = (own) => parseFloat(own.style("font-size")) * canvas.cy.zoom();
      const node = canvas.cy.nodes()[5];
      const edge = node.connectedEdges()[0];
      const sizes = [size(node)];
      node.emit("mouseover");
      sizes.push(size(node));
      node.emit("mouseout");
      sizes.push(size(node));
      edge.emit("mouseover");
      sizes.push(size(edge));
      edge.emit("mouseout");
      canvas.choose(node.id());
      canvas.zoom(0.5);
      sizes.push(size(node), size(edge));
      canvas.choose("");
      sizes.push(size(node), size(edge));
      canvas.close();
      place.remove();
      done(sizes);
    }, (error) => done(String(error)));
"""


def test_where_the_map_is_small_what_is_pointed_at_or_selected_has_12_pixels(page: Browser) -> None:
    """A mesh of thirty switches on a canvas of a phone."""
    links = [(str(one), str(other)) for one in range(30) for other in (one // 3, one // 2) if one]
    page.open("#/map")
    sizes = page.driver.execute_async_script(SMALL, known(links))
    plain, pointed, left, link, chosen, its, *after = sizes
    assert plain < 8, sizes
    assert [round(own) for own in (pointed, link, chosen, its)] == [12] * 4
    assert max(left, *after) < 8, sizes


def test_a_missing_cable_is_red_until_it_is_back_or_acknowledged(page: Browser) -> None:
    """It keeps its place on the map: it has the id of the link that it was."""

    def missing(acknowledged: object = None) -> dict[str, object]:
        data = {"ends": [["0", "to1"], ["1", "to0"]]}
        about = {"kind": "cable.missing", "severity": "error", "datapath_id": "0"}
        return about | {"message": "gone", "acknowledged": acknowledged, "data": data}

    page.open("#/map")
    for links, problems, classes in (
        ([("0", "1")], [], "unknown"),
        ([], [missing()], "missing"),
        ([("0", "1")], [missing()], "missing"),
        ([], [missing({"by": "me"})], "missing seen"),
    ):
        (edge,) = drawn(page, known(links, problems))["edges"]  # type: ignore[arg-type]
        assert (edge["id"], edge["classes"]) == ("0/to1-1/to0", classes)


def test_without_the_controller_the_page_says_how_old_its_data_is() -> None:
    with closing(Controller()) as controller:
        controller.start()
        with browser(f"http://127.0.0.1:{controller.api_port}/") as page:
            page.open("#/map")
            page.reads("No switch has connected yet", "data")
            controller.kill9()
            page.reads("The controller does not answer. What is shown is of", "s old")
            grey = "return getComputedStyle(document.querySelector('main')).filter"
            assert page.js(grey) == "grayscale(1)"
            controller.start()
            until(lambda: "does not answer" not in page.text, "the page to be current again")

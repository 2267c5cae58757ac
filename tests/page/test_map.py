"""The map: nothing on it lies over anything else, and switches that are away are kept apart."""

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
      const edges = links.map(([a, b], at) => ({id: `${at}`, a, b, width: 110, height: 30}));
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
def test_no_box_label_or_link_lies_over_another(
    page: Browser, links: list[tuple[int, int]]
) -> None:
    page.open("#/map")
    pairs = [[str(a), str(b)] for a, b in links]
    found = json.loads(page.driver.execute_async_script(ARRANGE, pairs))
    nodes, edges = found["nodes"], found["edges"]
    boxes = [(f"node {name}", at["x"], at["y"], 90, 36) for name, at in nodes.items()]
    boxes += [(f"label {name}", at["x"], at["y"], 110, 30) for name, at in edges.items()]
    assert len(boxes) == len({name for pair in pairs for name in pair}) + len(pairs)
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert not overlap(one, other), (one, other)
    for name, edge in edges.items():
        apart = [box for box in boxes if box[0] != f"label {name}"]
        apart = [box for box in apart if box[0] not in {f"node {end}" for end in pairs[int(name)]}]
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
    page.click(".panel button", "Its hosts")
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
              found += data[at] === red && data[at + 1] === green && data[at + 2] === blue;
          }
          return found;
        };
        return [count("forwarding"), count("discarding")];
    """
    until(lambda: min(page.js(painted)) > 50, "both kinds of links to be drawn")


def test_switches_that_are_away_stand_together_and_are_forgotten_at_once(
    page: Browser, site: Site
) -> None:
    gone = [site.switch.add_bridge() for _ in range(2)]
    for bridge in gone:
        bridge.set_controller(site.controller.target)
        site.controller.wait_ready(bridge)
    for bridge in gone:
        bridge.destroy()
    page.open("#/map")
    page.reads("2 away")
    page.click(".panel button", "Forget…")
    page.reads("Forget all 2 switches that are away?")
    page.click("dialog button", "Forget")
    page.reads("2 switches forgotten.")
    until(lambda: "2 away" not in page.text, "them to go")
    page.reads("4 switches")


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

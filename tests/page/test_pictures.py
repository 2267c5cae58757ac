"""Pictures of every view: of a healthy network, and with a guard and a disconnected switch.

Pictures of the map, the switches and the configuration are compared without times and loads: the
same network looks the same, also after a cable was cut and is back.

Each is for a wide screen and a phone, in light and in dark.  `OFAPP_PICTURES=DIR` keeps them all.
`OFAPP_WRITE_PICTURES=1` makes those of the guide again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.page.browser import PHONE, WIDE, Browser, browser, until
from tests.page.campus import GUARDED, Campus
from tests.page.test_reader import findings
from tests.support import frames
from tests.support.ovs import missing
from tests.support.png import with_palette

IMAGES = Path("ofapp/docs/pages/img")
DOCUMENTED = {"problems": "problems", "map": "map", "ports": "port", "what-if": "what-if"}
"""Pictures of the guide, by view."""
MOST = 60_000
"""Bytes of a picture of the guide."""
SMALL = (960, 600)

HURT = f"{9:016x}"
VIEWS = {
    "problems": ("#/problems", "Load of the last hour"),
    "map": ("#/map", "12 switches"),
    "what-if": ("#/map?ask=%7B%22cut%22%3A%5B%22core1/core1-dist1%22%5D%7D", "predicted"),
    "switches": ("#/switches", "access6"),
    "ports": (f"#/bridge/{HURT}/ports?port=12", "leads to"),
    "hosts": ("#/hosts", "shown"),
    "events": ("#/events", "times"),
    "config": ("#/config", "In force"),
}


DRAWN = """
    if (document.body.innerText.includes("Loading")) return false;
    const canvas = [...document.querySelectorAll("main canvas")].at(-1);
    if (!canvas) return true;
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value > 0);
"""
"""Nothing is loading, and something is painted on the canvas."""


STABLE = {"map": ".map-tools .load", "switches": "", "config": ""}
"""Views whose pictures are compared, with the box to untick in them: loads change."""
HIDE = """
    const [text, box] = arguments;
    if (box && document.querySelector(box).checked) document.querySelector(box).click();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (new RegExp(text).test(walker.currentNode.data)) {
        walker.currentNode.parentElement.style.visibility = "hidden";
      }
    }
"""
TIMES = r"\bold$|current$|\bago$|\d:\d\d|^\d+ (s|min|h)$|bit/s"
"""Text that is another each time."""


@pytest.fixture(scope="module")
def campus() -> Iterator[Campus]:
    """Twelve switches, 21 links and 216 hosts."""
    if reason := missing():
        pytest.skip(reason)
    with closing(Campus()) as campus:
        campus.settle()
        yield campus


@pytest.fixture(scope="module")
def camera(campus: Campus) -> Iterator[Browser]:
    """A browser for this network."""
    with browser(campus.url) as camera:
        yield camera


def take(camera: Browser, name: str, state: str, folder: Path) -> None:
    """Take the pictures of a view; nothing may be wider than the screen."""
    fragment, says = VIEWS[name]
    for size, screen in ((WIDE, "wide"), (PHONE, "phone")):
        camera.size(*size)
        for dark in (False, True):
            camera.dark(dark)
            camera.open(fragment)
            camera.reads(says)
            until(lambda: camera.js(DRAWN), f"{name} to be drawn")
            path = folder / f"{name}-{state}-{screen}-{'dark' if dark else 'light'}.png"
            camera.picture(str(path))
            assert path.stat().st_size > 5000, "an empty page"
        assert camera.js("return document.scrollingElement.scrollWidth") <= size[0]
    camera.size(*WIDE)
    camera.dark(False)


def still(camera: Browser, name: str) -> str:
    """The picture of a view without what changes by itself, in base64."""
    fragment, says = VIEWS[name]
    camera.driver.get("about:blank")
    camera.open(fragment)
    camera.reads(says)
    until(lambda: camera.js(DRAWN), f"{name} to be drawn")
    camera.js(HIDE, TIMES, STABLE[name])
    return str(camera.driver.get_screenshot_as_base64())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the pictures are."""
    folder = Path(os.environ.get("OFAPP_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_a_healthy_network(camera: Browser, name: str, folder: Path) -> None:
    take(camera, name, "healthy", folder)
    assert "no problems" in camera.find(".standing").text


@pytest.mark.parametrize("name", STABLE)
def test_the_same_network_has_the_same_picture(camera: Browser, name: str) -> None:
    first = still(camera, name)
    until(lambda: still(camera, name) == first, f"{name} to look the same again")


def test_the_map_fills_its_canvas(camera: Browser) -> None:
    camera.open("#/map")
    camera.reads("21 links", "216 hosts")
    painted = """
        const canvas = [...document.querySelectorAll(".canvas canvas")].at(-1);
        const {width, height} = canvas;
        const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        let [left, right, top, bottom] = [width, 0, height, 0];
        for (let y = 0; y < height; y += 2) for (let x = 0; x < width; x += 2) {
          if (data[4 * (y * width + x) + 3] < 100) continue;
          [left, right] = [Math.min(left, x), Math.max(right, x)];
          [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
        }
        return [(right - left) / width, (bottom - top) / height];
    """
    until(lambda: min(camera.js(painted)) > 0.9, "the map to fill nine tenths in both directions")


def test_two_cables_that_are_cut_are_seen_in_the_first_view_and_on_the_map(
    camera: Browser, campus: Campus, folder: Path
) -> None:
    """Without a click; the measured time is printed."""
    cables = [("core1", "dist1"), ("dist3", "access4")]
    before = still(camera, "map")
    camera.open("#/problems")
    camera.reads("No problems")
    begin = time.monotonic()
    for cable in cables:
        campus.cut(*cable)
    camera.reads("2 problems", "from core1/core1-dist1 to dist1/dist1-core1 is missing")
    print(f"two cut cables were read after {time.monotonic() - begin:.1f} s")
    take(camera, "problems", "cut", folder)
    camera.open("#/map")
    camera.reads("2 missing")
    red = """
        const text = getComputedStyle(document.documentElement).getPropertyValue("--fault").trim();
        const wanted = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
        const canvas = [...document.querySelectorAll(".canvas canvas")].at(-1);
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let at = 0; at < data.length; at += 4)
          found += wanted.every((own, of) => Math.abs(own - data[at + of]) < 8);
        return found;
    """
    until(lambda: camera.js(red) > 200, "the missing cables to be red")
    take(camera, "map", "cut", folder)
    for cable in cables:
        campus.cut(*cable, whole=True)
    camera.reads("21 links")
    until(lambda: "missing" not in camera.find(".sum").text, "the cables to be back")
    until(lambda: camera.js(red) == 0, "nothing to be red")
    campus.greet()
    until(lambda: still(camera, "map") == before, "the map to be as before the cut")


def test_every_view_with_a_guard_and_a_disconnected_switch(
    camera: Browser, campus: Campus, folder: Path
) -> None:
    campus.bridges["access3"].inject(GUARDED, frames.bpdu(frames.host(0x99)))
    campus.bridges["access6"].disconnect()
    camera.open("#/problems")
    camera.reads("access6: the switch is not connected", "ofapp stp recover access3")
    camera.find(".standing", "errors")
    for name in VIEWS:
        take(camera, name, "hurt", folder)
    camera.open("#/map")
    camera.reads("1 disconnected")
    assert findings(camera) == []
    if os.environ.get("OFAPP_WRITE_PICTURES"):
        camera.size(*SMALL)
        for name, image in DOCUMENTED.items():
            fragment, says = VIEWS[name]
            camera.open(fragment)
            camera.reads(says)
            until(lambda: camera.js(DRAWN), f"{name} to be drawn")
            camera.picture(str(folder / f"{image}.png"))
            small = with_palette((folder / f"{image}.png").read_bytes())
            (IMAGES / f"{image}.png").write_bytes(small)


@pytest.mark.parametrize("image", DOCUMENTED.values())
def test_pictures_of_the_guide_are_small(image: str) -> None:
    assert (IMAGES / f"{image}.png").stat().st_size < MOST

"""The laboratory in a browser: built once, served as files, and used as a student does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from ofapp.lab import files
from tests.page.browser import PHONE, WIDE, Browser, Keys, browser, firefox, until
from tests.page.site import Site
from tests.page.test_reader import findings, tab_to


class Quiet(SimpleHTTPRequestHandler):
    """What `python3 -m http.server` answers."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of the laboratory below a folder, from a server of static files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/lab/"
        server.shutdown()


@pytest.fixture(scope="module")
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Pyodide's package, which is downloaded once."""
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("pyodide") if cache else tmp_path_factory.mktemp("pyodide")
    kept: Path = folder / f"pyodide-{files.VERSION}.tgz"
    if not kept.exists():
        try:
            kept.write_bytes(files.download())
        except OSError as error:
            pytest.skip(f"{files.SOURCE} cannot be downloaded: {error}")
    return kept.read_bytes()


@pytest.fixture(scope="module")
def address(package: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the laboratory."""
    folder = tmp_path_factory.mktemp("site")
    files.build(folder / "lab", package)
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="module")
def student(address: str) -> Iterator[Browser]:
    with browser(address) as student:
        student.open("")
        student.find(".canvas-box")
        yield student


@pytest.fixture
def lab(student: Browser) -> Iterator[Browser]:
    """The same window, which may not have complained."""
    student.forget()
    yield student
    assert student.complaints() == []


def choose(lab: Browser, css: str, says: str) -> None:
    """Choose an entry of a list."""
    lab.click(f"{css} option", says)


def open_lab(lab: Browser, title: str) -> None:
    choose(lab, ".map-side > .filters select", title)
    lab.find(".panel h2", title)


def clock(lab: Browser) -> float:
    return float(lab.find(".clock").text.removesuffix(" s"))


def run(lab: Browser, seconds: float) -> None:
    """Let so much time pass in the laboratory."""
    end = clock(lab) + seconds
    lab.click(".time button", "Run")
    until(lambda: clock(lab) >= end, f"{end} s of the laboratory's time")
    lab.click(".time button", "Pause")


def click_on(lab: Browser, selector: str) -> None:
    """Click on an element of the map, by Cytoscape's selector."""
    x, y = lab.js(
        "const own = document.querySelector('.canvas')._cyreg.cy.$(arguments[0])[0];"
        "const at = own.isEdge() ? own.renderedMidpoint() : own.renderedPosition();"
        "const box = document.querySelector('.canvas').getBoundingClientRect();"
        "return [Math.round(box.x + at.x), Math.round(box.y + at.y)]",
        selector,
    )
    actions = ActionChains(lab.driver)
    actions.w3c_actions.pointer_action.move_to_location(x, y)
    actions.w3c_actions.pointer_action.click()
    actions.perform()


def test_a_ring_is_cut_and_the_exercise_checks_itself(lab: Browser) -> None:
    open_lab(lab, "A ring")
    lab.reads("s1 eth1 – s2 eth1")
    click_on(lab, '[source="0000000000000001"][target="0000000000000002"]')
    lab.find(".panel button", "Plug in")
    assert "cut" in lab.find(".panel .rows-of", "s1 eth1 – s2 eth1").text
    first = ".panel ol > li:first-child"
    lab.click(f"{first} button", "Check")
    lab.find(first, "has not shown it yet")
    run(lab, 2)
    choose(lab, f"{first} select", "s1 eth1")
    lab.click(f"{first} button", "Check")
    lab.find(first, "something else")
    choose(lab, f"{first} select", "s3 eth2")
    lab.click(f"{first} button", "Check")
    lab.find(first, "solved")


def test_s3_becomes_the_root_by_its_priority(lab: Browser) -> None:
    open_lab(lab, "Which bridge is the root?")
    click_on(lab, '[id="0000000000000003"]')
    lab.find(".panel h3", "s3")
    choose(lab, ".panel .fields select", "4096")
    run(lab, 4)
    lab.find(".panel ol > li:nth-child(2)", "solved")
    assert "this bridge" in lab.find(".panel .facts").text


def test_a_network_is_drawn_by_clicks(lab: Browser) -> None:
    open_lab(lab, "Your own network")
    for name in ("s1", "s2"):
        lab.click(".panel button", "Add a bridge")
        lab.find(".panel button", name)
    click_on(lab, '[id="0000000000000001"]')
    lab.click(".panel button", "Cable from s1")
    click_on(lab, '[id="0000000000000002"]')
    lab.reads("s1 eth1 – s2 eth1")
    lab.click(".panel button", "Add a host")
    lab.reads("h1")
    run(lab, 2)
    lab.find(".panel table", "designated")


def test_steps_show_bpdus_and_the_slider_shows_the_past(lab: Browser) -> None:
    open_lab(lab, "Which bridge is the root?")
    cy = "document.querySelector('.canvas')._cyreg.cy"
    words = f"return {cy}.edges().map((own) => own.data().word)"
    until(lambda: step(lab) and "RST BPDU, proposal" in lab.js(words), "a proposal on its way")
    now = clock(lab)
    lab.click(".time button", "Earlier")
    lab.reads("You look at the past")
    assert clock(lab) <= now
    lab.click(".time button", "Later")
    until(lambda: "You look at the past" not in lab.text, "the present to be shown")


def step(lab: Browser) -> bool:
    lab.click(".time button", "Step")
    return True


def test_by_keyboard_alone(lab: Browser) -> None:
    open_lab(lab, "Learning addresses")
    lab.js("document.activeElement.blur()")
    tab_to(lab, "h1", within=".panel")
    lab.keys(Keys.ENTER)
    lab.find(".panel h3", "h1")
    tab_to(lab, "Send", within=".panel")
    lab.keys(Keys.ENTER)
    end = clock(lab) + 1
    tab_to(lab, "Run", within=".time")
    lab.keys(Keys.ENTER)
    until(lambda: clock(lab) >= end, "a second to pass")
    lab.keys(Keys.ENTER)
    lab.click(".panel button", "h3")
    lab.reads("1 of h1")


def test_a_frame_that_circles_is_seen(lab: Browser) -> None:
    open_lab(lab, "A loop without spanning tree")
    lab.click(".panel button", "h1")
    choose(lab, ".panel section select", "all")
    lab.click(".panel button", "Send")
    lab.click(".time button", "Run")
    lab.click(".panel button", "h2")
    until(lambda: int(lab.find(".panel p", "of h1").text.split(": ")[1].split()[0]) > 5, "a storm")
    lab.click(".time button", "Pause")


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_nothing_serious_stands_in_a_readers_way(lab: Browser, size: tuple[int, int]) -> None:
    open_lab(lab, "VLANs")
    lab.click(".panel button", "s1")
    lab.size(*size)
    try:
        assert lab.js("return document.scrollingElement.scrollWidth") <= size[0]
        assert findings(lab) == []
        lab.dark(True)
        assert findings(lab, "['color-contrast']") == []
    finally:
        lab.dark(False)
        lab.size(*WIDE)


def test_nothing_comes_from_elsewhere(lab: Browser, address: str) -> None:
    lab.open("")
    lab.find(".canvas-box")
    requests = [each for each in lab.requests() if each.startswith("http")]
    assert requests
    assert all(each.startswith(address) for each in requests)


def test_without_python_the_page_says_so(package: bytes, tmp_path: Path, lab: Browser) -> None:
    files.build(tmp_path / "lab", package)
    (tmp_path / "lab" / "pyodide" / "pyodide.mjs").unlink()
    with serving(tmp_path) as address:
        lab.driver.get(address)
        lab.find("[role=alert]", "The laboratory cannot begin")
    lab.driver.get("about:blank")
    lab.complaints()  # the browser may have complained of the file


def test_a_controller_serves_it_where_it_was_built(
    page: Browser, site: Site, package: bytes
) -> None:
    files.build(site.controller.dir / "state" / "site" / "lab", package)
    page.driver.get(f"{site.url}lab/")
    page.find(".canvas-box")
    step(page)
    page.reads("discarding -> forwarding")


def test_in_firefox(address: str) -> None:
    with firefox(address) as other:
        other.open("")
        other.find(".canvas-box")
        open_lab(other, "A ring")
        other.click(".panel .rows-of button", "Cut")
        run(other, 2)
        choose(other, ".panel ol select", "s3 eth2")
        other.click(".panel ol button", "Check")
        other.find(".panel ol", "solved")

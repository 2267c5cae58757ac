"""What others put into the page stays text, and no other page gets anything out of this one."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.page.browser import Browser, until
from tests.page.site import EVIL_BRIDGE, EVIL_PORT, PLAIN, Site

BR3, EVIL = f"{3:016x}", "00000000000000e1"

MARKUP = "return document.querySelectorAll('main img, #evil, main b[id], main script').length"
"""Elements that only a name can have made."""


@pytest.mark.parametrize(
    ("fragment", "name"),
    [
        ("#/map", EVIL_BRIDGE),
        ("#/switches", EVIL_BRIDGE),
        (f"#/bridge/{EVIL}/ports", EVIL_BRIDGE),
        (f"#/bridge/{BR3}/ports?port=2", EVIL_PORT),
        (f"#/bridge/{BR3}/stp", EVIL_PORT),
        (f"#/bridge/{BR3}/vlans", EVIL_PORT),
        (f"#/bridge/{BR3}/bindings", EVIL_PORT),
        (f"#/bridge/{BR3}/events?text=img", EVIL_PORT),
        ("#/events?text=img", EVIL_PORT),
        ("#/search?q=%3Cimg", EVIL_PORT),
        ("#/search?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "<img src=x onerror=alert(1)>"),
        ("#/bridge/%3Cb%20id%3Devil%3E", EVIL_BRIDGE),
    ],
)
def test_a_name_is_text(page: Browser, fragment: str, name: str) -> None:
    page.open(fragment)
    page.reads(name)
    assert page.js(MARKUP) == 0


NEIGHBOUR = "<img src=x onerror=alert(1)>"
ABOUT = "<b id=evil>a phone</b><script>alert(2)</script>"


@pytest.fixture(scope="module")
def introduced(site: Site) -> None:
    """A neighbour on a port of br3 has markup in its name and its description."""
    site.introduce(site.bridges[2], PLAIN, NEIGHBOUR, ABOUT)

    def known() -> bool:
        neighbours = site.controller.get("/v1/topology")["neighbours"]
        return any(own["lldp"] and own["lldp"]["system_name"] == NEIGHBOUR for own in neighbours)

    until(known, "the neighbour to be heard")


@pytest.mark.usefixtures("introduced")
@pytest.mark.parametrize(
    ("fragment", "texts"),
    [
        ("#/map", ["br3"]),  # which is painted: it is no text of the page
        (f"#/bridge/{BR3}/ports?port={PLAIN}", [NEIGHBOUR, ABOUT]),
        ("#/search?q=onerror", [NEIGHBOUR]),
    ],
)
def test_what_a_neighbour_says_by_lldp_is_text(
    page: Browser, fragment: str, texts: list[str]
) -> None:
    page.open(fragment)
    page.reads(*texts)
    assert page.js(MARKUP) == 0


def test_a_name_is_text_in_the_question_and_in_the_answer(page: Browser, site: Site) -> None:
    page.open(f"#/bridge/{BR3}/ports?port=2")
    page.click(".detail button", "Take down…")
    page.reads(f"Take {EVIL_PORT} of br3 down?")
    page.click("dialog button.primary", "Take down")
    page.reads(f"{EVIL_PORT} of br3 is down.")
    assert page.js("return document.querySelectorAll('dialog img, #notices img').length") == 0
    reply = site.controller.api("PATCH", f"/v1/bridges/{BR3}/ports/2", {"shutdown": False})
    assert reply.status == 200


def test_the_policy_is_enforced(window: Browser) -> None:
    """What a mistake of ours would let in does not run, sends no request, and is reported."""
    window.open()
    window.reads("br1")
    window.complaints()
    for attempt in (
        "const s = document.createElement('script'); s.textContent = 'ran.push(1)'; b.append(s)",
        "const s = document.createElement('script'); s.src = 'data:text/javascript,ran.push(2)';"
        " b.append(s)",
        "b.innerHTML = '<img src=x onerror=ran.push(3)>'",
        "b.setAttribute('onclick', 'ran.push(4)'); b.click(); b.removeAttribute('onclick')",
        "eval('ran.push(5)')",
        "new Function('ran.push(6)')()",
        "setTimeout('ran.push(7)')",
    ):
        window.js(  # later, as what a driver runs itself may do more
            "window.ran = window.ran || []; const b = document.body; window.tried = false;"
            f"setTimeout(() => {{ try {{ {attempt} }} catch (refused) {{ }} window.tried = true }})"
        )
        until(lambda: window.js("return window.tried"), "it to be tried")
    foreign = window.js(
        "return fetch('http://127.0.0.2:9/').then(() => 'asked', (error) => String(error))"
    )
    assert foreign != "asked"
    assert window.js("return window.ran") == []
    assert len(window.complaints()) >= 5


@contextmanager
def elsewhere(body: str) -> Iterator[str]:
    """A page of another site."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def test_no_other_page_shows_it_in_a_frame(window: Browser) -> None:
    with elsewhere(f'<iframe src="{window.url}"></iframe>') as url:
        window.driver.get(url)
        window.driver.switch_to.frame(0)
        try:
            assert "br1" not in window.driver.page_source
            assert not window.all("#top")
        finally:
            window.driver.switch_to.default_content()
        assert any("frame" in complaint.lower() for complaint in window.complaints())


def test_another_page_can_neither_read_nor_change_anything(window: Browser, site: Site) -> None:
    path = f"v1/bridges/{BR3}/ports/1"
    with elsewhere("<p>nothing here</p>") as url:
        window.driver.get(url)
        for options in ("{}", "{method: 'PATCH', body: '{\"shutdown\": true}'}"):
            asked = (
                f"return fetch('{window.url}{path}', {options})"
                ".then((answer) => answer.text(), (error) => 'refused')"
            )
            assert window.js(asked) == "refused"
        form = (
            f"const f = document.createElement('form'); f.method = 'POST'; f.action = "
            f"'{window.url}v1/bridges/{BR3}/stp/ports/1/recover'; document.body.append(f);"
            "f.submit()"
        )
        window.js(form)
        until(lambda: "may not change anything" in window.driver.page_source, "a refusal")
        window.complaints()
    assert "shutdown" not in site.controller.get(f"/{path}")["settings"]


def test_the_page_asks_nobody_else(window: Browser) -> None:
    window.requests()
    for view in ("map", "switches", "hosts", "events", f"bridge/{BR3}/ports?port=1"):
        window.open(f"#/{view}")
        window.reads("shown" if view == "hosts" else "br3")
    window.open("#/config")
    window.reads("In force, compared with the file")
    asked = {url for url in window.requests() if not url.startswith(("data:", "chrome:"))}
    assert asked
    assert {url for url in asked if not url.startswith(window.url)} == set()

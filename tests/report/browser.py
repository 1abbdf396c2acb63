"""A headless browser that opens reports and collects console messages and requests."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
SECONDS = 10.0


def start_chromium(profile: Path) -> Any:
    """Return a driver of Chromium with a separate profile, or skip the test."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no Chromium with its chromedriver is installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Browser:
    """One report at a time, without network."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.file = ""

    def open(self, path: Path, width: int = 1280, scheme: str = "light") -> None:
        """Load a page from its file, offline, in a window of this width."""
        self.command("Emulation.setEmulatedMedia", features=[_scheme(scheme)])
        self.command("Network.enable")
        self.command(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        self.resize(width)
        self.driver.get("about:blank")
        self.console_messages()
        self.requests()
        self.file = path.as_uri()
        self.driver.get(self.file)
        self.wait(lambda: self.all("#tabs a"))

    def resize(self, width: int, height: int = 900) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def command(self, name: str, **values: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, values)

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def go(self, *parts: object) -> None:
        """Open a section by its address and wait until it is drawn."""
        address = "#/" + "/".join(quote(str(part), safe="") for part in parts)
        self.run("window.location.hash = arguments[0]", address)
        self.wait_for_frames()

    def wait_for_frames(self) -> None:
        """Wait for two frames, after which the page is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())), 0)"
        )

    def wait(self, condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + SECONDS
        while not (found := condition()):
            assert time.monotonic() < end, "the page did not come to this in time"
            time.sleep(0.02)
        return found

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )

    def text(self, selector: str = "main") -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
        self.wait_for_frames()

    def click(self, element: Any) -> None:
        """Click a button or a link; fails if another element covers it."""
        self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()
        self.wait_for_frames()

    def type(self, selector: str, text: str) -> None:
        """Type a text into a field."""
        self.run(
            "const field = document.querySelector(arguments[0]); field.focus();"
            "field.value = arguments[1]; field.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            text,
        )
        self.wait_for_frames()

    def choose(self, selector: str, value: str) -> None:
        self.run(
            "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
            "field.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            value,
        )
        self.wait_for_frames()

    @property
    def fragment(self) -> str:
        """Return the fragment of the address."""
        return self.run("return window.location.hash")

    def addresses(self) -> set[str]:
        """Return the addresses of all links of the section."""
        return set(
            self.run(
                "return [...document.querySelectorAll('main a')].map((a) => a.getAttribute('href'))"
            )
        )

    def overflow(self) -> int:
        """Return the number of pixels by which the page is wider than its window."""
        return self.run("return document.documentElement.scrollWidth - window.innerWidth")

    def console_messages(self) -> list[str]:
        """Return the console messages since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the requests since the last call, except that for the page itself."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if address.partition("#")[0] not in (self.file, "about:blank", "data:,"):
                    found.append(address)
        return found


def _scheme(name: str) -> dict[str, str]:
    return {"name": "prefers-color-scheme", "value": name}

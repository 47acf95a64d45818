"""A real Chromium, driven through its driver's own protocol: JSON over HTTP, so no further package is needed."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

_TRIES = 5
_THERE = "return document.readyState === 'complete' && !document.documentElement.dataset.left"


class BrowserError(Exception):
    """What the driver answers when it cannot do something, by its code: ``no such alert``."""


class Browser:
    """One window. Elements are found by CSS selectors."""

    def __init__(self, port: int, profile: Path, binary: str) -> None:
        self._port = port
        self._session = ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        chosen = {"binary": binary, "args": [*arguments, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": chosen, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _call(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, self._session + path, json.dumps(body) if body is not None else None)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(f"{value['error']}: {value.get('message', '')[:300]}")
        return value

    def open(self, address: str) -> None:
        self._call("POST", "/url", {"url": address})

    @property
    def address(self) -> str:
        return str(self._call("GET", "/url"))

    @property
    def text(self) -> str:
        return str(self._call("GET", f"/element/{self._find('body')}/text"))

    def run(self, script: str) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def _find(self, selector: str) -> str:
        return str(self._call("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT])

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Do what loads another page, and wait until that is there."""
        self.run("document.documentElement.dataset.left = 1")
        yield
        until = time.monotonic() + 20
        while not self._is_there():
            assert time.monotonic() < until, f"still at {self.address}"
            time.sleep(0.02)

    def _is_there(self) -> bool:
        try:
            return self.run(_THERE) is True
        except BrowserError:  # between two pages there is none to ask
            return False

    def click(self, selector: str) -> None:
        """Follow a link."""
        with self.leaving():
            self._call("POST", f"/element/{self._find(selector)}/click", {})

    def press(self, label: str) -> None:
        """Send the form of the first button that says this."""
        found = self._call("POST", "/element", {"using": "xpath", "value": f"//button[normalize-space()='{label}']"})
        with self.leaving():
            self._call("POST", f"/element/{found[_ELEMENT]}/click", {})

    def type(self, selector: str, text: str, *, clear: bool = False) -> None:
        element = self._find(selector)
        if clear:
            self._call("POST", f"/element/{element}/clear", {})
        self._call("POST", f"/element/{element}/value", {"text": text})

    def keys(self, *keys: str) -> None:
        """Type with no element chosen: where the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def hover(self, selector: str, *, nth: int = 0, share: float = 0.5) -> None:
        """Move the pointer onto the nth such element, to this share of its width."""
        found = self._call("POST", "/elements", {"using": "css selector", "value": selector})[nth]
        width = self._call("GET", f"/element/{found[_ELEMENT]}/rect")["width"]
        x = round(width * (share - 0.5))
        move = {"type": "pointerMove", "duration": 0, "origin": found, "x": x, "y": 0}
        self._call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})

    def scripts(self, *, on: bool) -> None:
        self._command("Emulation.setScriptExecutionDisabled", value=not on)

    def resize(self, width: int, height: int) -> None:
        self._call("POST", "/window/rect", {"width": width, "height": height})

    def narrow(self, width: int) -> None:
        """Lay the page out as a window of this width does; a real one is not made narrower than 500 pixels."""
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)

    def theme(self, name: str) -> None:
        """Prefer a ``light`` or a ``dark`` page."""
        self._command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def _command(self, name: str, **values: object) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": values})

    def forget(self) -> None:
        """Drop every cookie of the page that is shown."""
        self._call("DELETE", "/cookie")

    def alert(self) -> bool:
        """Whether a script opened a dialog."""
        try:
            self._call("GET", "/alert/text")
        except BrowserError as exc:
            if str(exc).startswith("no such alert"):
                return False
            raise
        return True

    def log(self) -> list[str]:
        """What the browser complained about since this was last asked."""
        return [str(one["message"]) for one in self._call("POST", "/se/log", {"type": "browser"})]

    def picture(self, width: int, most_height: int) -> str:
        """The page as a PNG in base64, laid out for a window of this width, from its top."""
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=600, deviceScaleFactor=1, mobile=False)
        height = min(most_height, self.run("return document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        return str(self._command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])

    def close(self) -> None:
        self._call("DELETE", "")


def until(look: Callable[[], object], *, seconds: float = 20) -> None:
    """Wait until what a page does by itself is there."""
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, look()
        time.sleep(0.05)


@contextmanager
def chromium(room: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; the test is skipped where there is none."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no chromium and chromedriver here (Debian: apt install chromium chromium-driver)")
    process, port = _started(driver)
    try:
        browser = Browser(port, room, binary)
        try:
            yield browser
        finally:
            browser.close()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _started(driver: str) -> tuple[subprocess.Popen[str], int]:
    """The driver as a process and its port. It chooses one for IPv4 and IPv6 alike, which somebody else may have."""
    said = ""
    for _ in range(_TRIES):
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if found := re.search(r"successfully on port (\d+)", line):
                return process, int(found[1])
        process.wait(timeout=20)
    raise AssertionError(f"chromedriver did not start: {said}")

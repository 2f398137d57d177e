"""A browser for tests: as much of the W3C WebDriver protocol as they need, over the standard library.

``chromedriver`` speaks JSON over HTTP on a port of its own; every command is one request. Every wait has a deadline.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mcpref.cancellation import Deadline
from tests.threads import PATIENCE

T = TypeVar("T")

#: The member that marks an element in WebDriver's JSON.
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_POLL = 0.03
# The driver is on this machine, whatever the environment says of proxies.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class WebDriverError(Exception):
    """The driver refused a command."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(f"{error}: {message}")
        self.error = error


def missing() -> str | None:
    """Why there can be no browser here; None if there can."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def eventually(look: Callable[[], T | None], what: str) -> T:
    """Look again and again until something is there, and give it back.

    An element that the page has replaced meanwhile counts as not there yet.
    """
    deadline = Deadline(PATIENCE)
    while True:
        try:
            found = look()
        except WebDriverError as error:
            if error.error not in ("stale element reference", "no such element"):
                raise
            found = None
        if found:
            return found
        assert not deadline.expired, f"did not come about: {what}"
        threading.Event().wait(_POLL)


class Browser:
    """One headless Chromium with one window. Use it in a ``with``."""

    def __init__(self, profile: Path, *, width: int = 1400, height: int = 1000) -> None:
        command = [str(shutil.which("chromedriver")), "--port=0"]
        # In a group of its own, so that the browsers it starts end with it.
        self._driver = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        self._session = ""
        try:
            self._base = f"http://127.0.0.1:{self._port()}"
            self._start(profile, width, height)
        except BaseException:
            self.close()
            raise

    def _port(self) -> int:
        assert self._driver.stdout is not None
        found: list[int] = []
        told = threading.Event()

        def read() -> None:
            assert self._driver.stdout is not None
            for line in self._driver.stdout:
                if "started successfully on port" in line:
                    found.append(int(line.strip().rstrip(".").rpartition(" ")[2]))
                    told.set()
            told.set()

        self._reader = threading.Thread(target=read, name="chromedriver-output", daemon=True)
        self._reader.start()
        assert told.wait(PATIENCE), "chromedriver did not say its port"
        assert found, "chromedriver ended before it said its port"
        return found[0]

    def _start(self, profile: Path, width: int, height: int) -> None:
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-proxy-server",
            "--force-prefers-reduced-motion",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ]
        wanted = {
            "alwaysMatch": {
                "goog:chromeOptions": {"args": arguments, "binary": str(shutil.which("chromium"))},
                "goog:loggingPrefs": {"browser": "ALL"},
                # A dialog that nobody expects is an error of the test, and does not stay in the way.
                "unhandledPromptBehavior": "dismiss and notify",
            }
        }
        self._session = self._command("POST", "/session", {"capabilities": wanted})["sessionId"]

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, then its driver."""
        try:
            if self._session:
                self._do("DELETE", "")
        except (OSError, WebDriverError):
            pass  # The driver ends it too.
        self._driver.terminate()
        try:
            self._driver.wait(10)
        except subprocess.TimeoutExpired:
            self._driver.kill()
            self._driver.wait(10)
        if self._driver.stdout is not None:
            self._reader.join(10)
            self._driver.stdout.close()

    # ---- Commands -------------------------------------------------------------------------------------

    def _do(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._command(method, f"/session/{self._session}{path}", body)

    def _command(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self._base + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with _OPENER.open(request, timeout=PATIENCE * 2) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as refusal:
            with refusal:
                value = json.load(refusal)["value"]
            raise WebDriverError(value["error"], value["message"]) from None

    def go(self, url: str) -> None:
        self._do("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Make the page exactly this large; a window cannot be as narrow as a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.cdp("Emulation.setDeviceMetricsOverride", **metrics)

    def run(self, script: str, *arguments: object) -> Any:
        """Run a function body in the page; it may return a promise."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def cdp(self, command: str, **params: object) -> Any:
        """A command of Chromium's own protocol."""
        return self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def console(self) -> list[dict[str, Any]]:
        """What the console says since it was last asked."""
        entries: list[dict[str, Any]] = self._do("POST", "/se/log", {"type": "browser"})
        return entries

    def press(self, text: str) -> None:
        """Type into whatever has the focus."""
        active = self._do("GET", "/element/active")[_ELEMENT]
        self._do("POST", f"/element/{active}/value", {"text": text})

    def screenshot(self) -> bytes:
        return base64.b64decode(self._do("GET", "/screenshot"))

    # ---- Elements -------------------------------------------------------------------------------------

    def all(self, css: str, within: str | None = None) -> list[str]:
        """The ids of all elements that match now."""
        place = f"/element/{within}" if within else ""
        found = self._do("POST", f"{place}/elements", {"using": "css selector", "value": css})
        return [element[_ELEMENT] for element in found]

    def find(self, css: str, within: str | None = None) -> str:
        """The first element that matches, as soon as there is one."""
        return eventually(lambda: next(iter(self.all(css, within)), None), f"an element {css}")

    def text(self, css: str) -> str:
        """The text of the first match, hidden parts included; "" while there is none."""
        found = self.run("return document.querySelector(arguments[0])?.textContent ?? ''", css)
        return str(found)

    def wait_for_text(self, css: str, words: str) -> str:
        """Wait until the first match has these words in it."""

        def look() -> str | None:
            text = self.text(css)
            return text if words in text else None

        return eventually(look, f"{words!r} in {css}")

    def click(self, css: str) -> None:
        """Click the first match as soon as it can be clicked."""

        def look() -> bool:
            try:
                self._do("POST", f"/element/{self.find(css)}/click")
            except WebDriverError as error:
                if error.error not in ("element click intercepted", "element not interactable"):
                    raise
                return False
            return True

        eventually(look, f"a click on {css}")

    def type(self, css: str, text: str) -> None:
        """Replace what stands in a field."""
        element = self.find(css)
        self._do("POST", f"/element/{element}/clear")
        self._do("POST", f"/element/{element}/value", {"text": text})

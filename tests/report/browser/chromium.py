"""A headless Chromium, driven over its debugging pipe: no port, no driver, no package."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds for an answer


def find_browser() -> str | None:
    """The path of a Chromium, $LATENS_BROWSER first; None where there is none."""
    asked = os.environ.get("LATENS_BROWSER")
    return shutil.which(asked) if asked else next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One browser with one tab; everything a page asks for or complains of is kept.

    Attributes
    ----------
    requests : list of str
        Addresses asked for, the page itself first.
    messages : list of str
        Of the console, errors of scripts and refusals of the policy included.
    """

    def __init__(self, path: str, profile: Path) -> None:
        to_read, to_write = os.pipe(), os.pipe()
        command = [
            path,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        wiring = f'exec "$@" 3<&{to_read[0]} 4>&{to_write[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", wiring, "bash", *command],
            pass_fds=(to_read[0], to_write[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read[0])
        os.close(to_write[1])
        self._out, self._in, self._buffer, self._number = to_read[1], to_write[0], b"", 0
        self.requests: list[str] = []
        self.messages: list[str] = []
        self._loaded = False
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the protocol; events that come before it are noted."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def open(self, page: Path, *, width: int = 1280, dark: bool = False, scripts: bool = True) -> None:
        """Load a page from a file and wait until it stands."""
        self.requests.clear()
        self.messages.clear()
        self._loaded = False
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=page.as_uri())
        end = time.monotonic() + PATIENCE
        while not self._loaded and time.monotonic() < end:
            self._read()

    def run(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, *, held: bool = False) -> None:
        """Move, press or release: kind is mouseMoved, mousePressed or mouseReleased."""
        button = "left" if held or kind != "mouseMoved" else "none"
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(held), clickCount=1)

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._in, 1 << 16)
            if not part:
                raise RuntimeError("the browser has gone")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.messages.append(json.dumps(parameters)[:500])
            case "Log.entryAdded":
                self.messages.append(parameters["entry"]["text"])
            case "Page.loadEventFired":
                self._loaded = True

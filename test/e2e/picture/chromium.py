"""Chromium without a window, driven over its DevTools protocol; nothing else is between."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from helpers import wait_for

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
    "--hide-scrollbars", "--disable-default-apps", "--force-color-profile=srgb",
    "--remote-debugging-port=0",
]  # fmt: skip
ROWS = """
(async () => {
	const image = new Image(), canvas = document.createElement('canvas');

	image.src = 'data:image/png;base64,%s';
	await image.decode();
	const {width, height} = Object.assign(canvas, {width: image.width, height: image.height});
	const context = canvas.getContext('2d');

	context.drawImage(image, 0, 0);
	return Array.from({length: height}, (_, y) => {
		const {data} = context.getImageData(0, y, width, 1);
		let dark = 0;

		for (let i = 0; i < data.length; i += 4)
			dark += Math.min(data[i], data[i + 1], data[i + 2]) < 250;
		const near = data.slice(4 * (width - 14), 4 * (width - 14) + 3);
		return [dark / width, '#' + Array.from(near, (c) => c.toString(16).padStart(2, '0')).join('')];
	});
})()"""
KEYS = {
    "Escape": 27, "Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
    "ArrowDown": 40,
}  # fmt: skip
TIMEOUT = 60


def missing():
    """Why there is no browser here, or None."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    try:
        import websocket  # noqa: F401
    except ImportError:
        return "python3-websocket is not installed"
    return None


def capture(folder, url, width, height):
    """A page's PNG, as `chromium --screenshot` takes it."""
    path = folder / "capture.png"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="stackprobe-chromium-", dir="/tmp", ignore_cleanup_errors=True) as profile:
        argv = ["chromium", *ARGUMENTS[:-1], f"--user-data-dir={profile}", f"--screenshot={path}",
                f"--window-size={width},{height}", url]  # fmt: skip
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False,
                              env={**os.environ, "HOME": profile})  # fmt: skip
    assert path.exists(), done.stderr
    return path.read_bytes()


def rows_of_image(chromium, png):
    """Of each row of a PNG: the share of its pixels that aren't white, and the colour 14 pixels from the right."""
    with chromium.page("data:text/html,<title>image</title>") as page:
        return page.run(ROWS % base64.b64encode(png).decode())


class Chromium:
    """The browser's process, with an empty profile of its own."""

    def __init__(self, *arguments):
        self.folder = Path(tempfile.mkdtemp(prefix="stackprobe-chromium-", dir="/tmp"))
        self.log = self.folder / "log"
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                ["chromium", *ARGUMENTS, *arguments, f"--user-data-dir={self.folder}/profile", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HOME": str(self.folder)},
            )  # fmt: skip
        try:
            self.address = wait_for(self._address, TIMEOUT, every=0.1, why="chromium's port")
        except BaseException:
            self.close()
            raise

    def _address(self):
        assert self.popen.poll() is None, self.log.read_text(errors="replace")
        path = self.folder / "profile/DevToolsActivePort"
        lines = path.read_text().split("\n") if path.exists() else []
        return f"ws://127.0.0.1:{lines[0]}{lines[1]}" if len(lines) > 1 else None

    def close(self):
        os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        for _ in range(50):  # its children write until they have seen it
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                break
            time.sleep(0.1)

    @contextmanager
    def page(self, url, **kwargs):
        page = Page(self.address, **kwargs)
        try:
            page.open(url)
            yield page
        finally:
            page.close()


class Page:
    """One tab in a browser context of its own."""

    def __init__(self, address, width=1200, height=2000, scheme="light", scripts=True, zone=""):
        import websocket

        self.socket = websocket.create_connection(address, timeout=TIMEOUT, suppress_origin=True)
        self.number = 0
        self.session = None
        self.events = []
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setTimezoneOverride", timezoneId=zone)  # "": the host's
        self.scheme(scheme)
        self.size(width, height)

    def close(self):
        self.session = None
        try:
            self.call("Target.disposeBrowserContext", browserContextId=self.context)
        finally:
            self.socket.close()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, url):
        begin = len(self.events)
        self.call("Page.navigate", url=url)
        wait_for(
            lambda: self.run("1") and self.named("Page.loadEventFired", begin), TIMEOUT, why=url
        )

    def run(self, code):
        """The value of a JavaScript expression in the page, a promise's when it has come."""
        answer = self.call(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def named(self, method, begin=0):
        return [e["params"] for e in self.events[begin:] if e["method"] == method]

    @property
    def complaints(self):
        """What stands in the console: exceptions, messages, what was refused."""
        self.run("1")  # what happened before has been told
        return (
            self.named("Runtime.exceptionThrown")
            + self.named("Runtime.consoleAPICalled")
            + self.named("Log.entryAdded")
        )

    @property
    def requests(self):
        self.run("1")
        return [e["request"]["url"] for e in self.named("Network.requestWillBeSent")]

    def size(self, width, height=2000):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def scheme(self, name):
        feature = {"name": "prefers-color-scheme", "value": name}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    def key(self, key, modifiers=0):
        """A key by its name, or a letter; with control: 2."""
        code = KEYS.get(key)
        letter = ord(key.upper()) if key.isalnum() and len(key) == 1 else 0
        params = {"key": key, "code": key, "windowsVirtualKeyCode": code or letter}
        params["modifiers"] = modifiers
        if not code and not modifiers:
            params["text"] = key
        elif key == "Enter":
            params["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        for letter in text:
            self.key(letter)

"""Firefox without a window, driven by WebDriver BiDi over a websocket of its own; no geckodriver is between. A tab has the
calls of chromium.Page that browsing.Opened makes."""
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from helpers import wait_for

PROGRAM = "firefox-esr"
TIMEOUT = 60
# What must not be asked of others' servers when it starts.
SETTINGS = {
    "app.normandy.enabled": False, "app.update.disabledForTesting": True, "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False, "browser.safebrowsing.update.enabled": False, "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage": "about:blank", "browser.startup.page": 0, "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False, "media.gmp-manager.updateEnabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "services.settings.server": "data:,", "toolkit.telemetry.server": "data:,",
}  # fmt: skip
REFUSED = """() => {
    window.refused = [];
    document.addEventListener('securitypolicyviolation', (event) => refused.push(`${event.violatedDirective} ${event.blockedURI}`));
}"""
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004"}


def missing():
    """Why there is no such browser here, or None."""
    if not shutil.which(PROGRAM):
        return f"{PROGRAM} is not installed"
    try:
        import websocket  # noqa: F401
    except ImportError:
        return "python3-websocket is not installed"
    return None


class Firefox:
    """The browser's process, with an empty profile of its own."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="stackprobe-firefox-", dir="/tmp"))
        profile = self.folder / "profile"
        profile.mkdir()
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in SETTINGS.items()))
        self.log = self.folder / "log"
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                [PROGRAM, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HOME": str(self.folder)},
            )  # fmt: skip
        self.numbers = itertools.count(1)
        self.events = []
        try:
            self.socket = self.connect()
            self.call("session.new", capabilities={})
            self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        except BaseException:
            self.close()
            raise

    def connect(self):
        import websocket

        path = self.folder / "profile/WebDriverBiDiServer.json"

        def told():
            assert self.popen.poll() is None, self.log.read_text(errors="replace")
            try:
                return json.loads(path.read_text())
            except (OSError, ValueError):
                return None  # it isn't there, or not whole

        server = wait_for(told, TIMEOUT, 0.1, why="firefox's port")
        return websocket.create_connection(f"ws://{server['ws_host']}:{server['ws_port']}/session", timeout=TIMEOUT, suppress_origin=True)

    def close(self):
        os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        wait_for(lambda: shutil.rmtree(self.folder, ignore_errors=True) or not self.folder.exists(), why="its children end")

    def call(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == number:
                assert answer["type"] == "success", f"{method}: {answer}"
                return answer["result"]
            if answer.get("type") == "event":
                self.events.append(answer)

    @contextmanager
    def page(self, url, width=1200, height=900):
        tab = Tab(self, width, height)
        try:
            tab.open(url)
            yield tab
        finally:
            self.call("browsingContext.close", context=tab.context)


class Tab:
    def __init__(self, browser, width, height):
        self.browser = browser
        self.context = browser.call("browsingContext.create", type="tab")["context"]
        browser.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})
        browser.call("script.addPreloadScript", functionDeclaration=REFUSED, contexts=[self.context])

    def open(self, url):
        self.browser.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def run(self, code):
        """The value of a JavaScript expression in the page, a promise's when it has come."""
        answer = self.browser.call(
            "script.evaluate", expression=f"(async () => JSON.stringify((await ({code})) ?? null))()",
            target={"context": self.context}, awaitPromise=True,
        )  # fmt: skip
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def told(self, method):
        """Events of that name, of this tab."""
        self.run("1")  # what happened before has been told
        found = [event["params"] for event in self.browser.events if event["method"] == method]
        return [event for event in found if event.get("context", event.get("source", {}).get("context")) == self.context]

    @property
    def complaints(self):
        """What stands in the console, and what the page's policy refused."""
        return self.told("log.entryAdded") + self.run("window.refused")

    @property
    def requests(self):
        return [event["request"]["url"] for event in self.told("network.beforeRequestSent")]

    def capture(self):
        """The PNG of what is seen."""
        return base64.b64decode(self.browser.call("browsingContext.captureScreenshot", context=self.context)["data"])

    def perform(self, kind, *actions, **more):
        source = {"type": kind, "id": kind, "actions": list(actions), **more}
        self.browser.call("input.performActions", context=self.context, actions=[source])

    def move(self, x, y):
        self.perform("pointer", {"type": "pointerMove", "x": round(x), "y": round(y)})

    def click(self, x, y):
        self.move(x, y)
        self.perform("pointer", {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def key(self, key):
        value = KEYS.get(key, key)
        self.perform("key", {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value})

    def type(self, text):
        for letter in text:
            self.key(letter)

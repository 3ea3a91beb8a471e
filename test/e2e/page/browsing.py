"""The daemon's page in a tab, as a user has it: what it says, what is clicked and typed."""
import json
import re
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from chromium import KEYS
from helpers import wait_for

KEYS.update({"Home": 36, "End": 35, "Backspace": 8})
OWN = {"data:", "blob:"}


class Opened:
    """The page of a daemon."""

    def __init__(self, daemon, tab):
        self.daemon = daemon
        self.tab = tab

    # What it says

    def text(self, selector):
        return self.tab.run(f"document.querySelector({json.dumps(selector)})?.textContent")

    def texts(self, selector):
        return self.tab.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def attributes(self, selector, name):
        what = f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.getAttribute({json.dumps(name)}))"
        return self.tab.run(what)

    def shows(self, selector):
        return self.tab.run(f"Boolean(document.querySelector({json.dumps(selector)})?.checkVisibility())")

    def wait(self, selector, pattern=".", seconds=20):
        return wait_for(lambda: re.search(pattern, self.text(selector) or ""), seconds, why=f"{selector} says {pattern}")

    def table(self):
        """The table of functions: {name: (own weight, whole weight)}, in the profile's unit."""
        self.do("tab=functions")
        rows = self.tab.run("""[...document.querySelectorAll('#functions tbody tr')].map((row) =>
            [row.cells[2].textContent, ...[0, 1].map((i) => row.cells[i].querySelector('small').textContent)])""")
        return {name: tuple(int(text.split()[0].replace(",", "")) for text in values) for name, *values in rows}

    @property
    def fragment(self):
        return self.tab.run("location.hash")

    # What is done

    def do(self, what):
        """Clicks a button by its data-…: "tab=functions", "do=undo", "main=live"."""
        key, value = what.split("=")
        self.click(f"#profile [data-{key}={value}], [data-{key}={value}]")

    def click(self, selector):
        """With the mouse, where it is; again where it had moved meanwhile: rows come and go by themselves."""
        for _ in range(10):
            place = self.tab.run(f"""(() => {{
                const selector = {json.dumps(selector)}, element = document.querySelector(selector);

                element.scrollIntoView({{block: 'center'}});
                window.wasHit = false;
                addEventListener('click', (event) => {{
                    window.wasHit = Boolean(event.target.closest(selector));
                }}, {{capture: true, once: true}});
                const box = element.getBoundingClientRect();

                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()""")
            self.tab.click(*place)
            if self.tab.run("window.wasHit") is not False:  # (None: it led to another page)
                return
        raise AssertionError(f"{selector} can't be clicked")

    def point_at(self, label):
        """The mouse, at the frame of the picture whose line says that name, until the page knows that it is there."""
        wait_for(lambda: self.frame(label), why=f"the mouse is on {label}")

    def hover(self, selector):
        """The mouse, on an element, until that is what is below it: what comes above it moves it."""
        element = f"document.querySelector({json.dumps(selector)})"

        def is_below():
            box = self.tab.run(f"{element}.getBoundingClientRect().toJSON()")
            self.tab.move(box["x"] + min(20, box["width"] / 2), box["y"] + box["height"] / 2)
            return self.tab.run(f"{element}.matches(':hover')")

        wait_for(is_below, why=f"the mouse is on {selector}")

    def right_click(self, x, y):
        self.tab.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="right", clickCount=1)

    def focus(self, selector):
        """As soon as it can have the focus: parts of the page are hidden until the daemon has told who may see them."""
        focused = f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});

            element?.focus();
            return Boolean(element) && document.activeElement === element;
        }})()"""
        wait_for(lambda: self.tab.run(focused), why=f"{selector} has the focus")

    def key(self, *keys):
        for key in keys:
            self.tab.key(key)

    def write(self, selector, text):
        self.focus(selector)
        self.tab.type(text)
        assert self.tab.run("document.activeElement.value").endswith(text), f"{selector} has it"

    def save(self, name, folder):
        """Saves the profile, "folded"; returns the file."""
        self.tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder),
                      browserContextId=self.tab.context)  # fmt: skip
        self.click(f"[data-export='{name}']")

        def whole():  # at first a file is empty
            return next((path for path in folder.glob(f"*.{name}") if path.stat().st_size and not list(folder.glob("*.crdownload"))), None)

        return wait_for(whole, why=f"the file of {name}")

    def frame(self, label, selector="#graph"):
        """Where the frame of the picture is whose line says that name, found as by a mouse; None: nowhere."""
        left, top, width, height = self.tab.run(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});

            element.scrollIntoView({{block: 'center'}});
            const box = element.getBoundingClientRect();

            return [box.x, box.y, box.width, box.height];
        }})()""")
        for row in range(int(height) // 18):
            for step in range(24):
                place = left + (step + 0.5) * width / 24, top + height - 9 - 18 * row
                self.tab.move(*place)
                if self.text(".line bdi") == label:
                    return place
        return None


@pytest.fixture
def opened(chromium):
    """opened(daemon, "source=take&pids=7"): a context with the page, which must have nothing to complain of in the end."""

    @contextmanager
    def opened(daemon, fragment="", width=1200, height=900, complains=False, **kwargs):
        origin = f"http://127.0.0.1:{daemon.port}"
        with chromium.page("about:blank", width=width, height=height, **kwargs) as tab:
            tab.open(f"{origin}/#{fragment}" if fragment else f"{origin}/")
            yield Opened(daemon, tab)
            strange = [url for url in tab.requests if not url.startswith((origin + "/", "blob:", "data:", "about:"))]
            assert not strange
            assert complains or not tab.complaints, tab.complaints

    return opened


def row_of(pid):
    """The selector of a process's row of the list: others have its PID's digits in theirs, too."""
    return f"#processes tr[data-key^='{pid}\\a ']"


def of(pid, **more):
    """The fragment that shows what was collected of a process."""
    view = {"source": "open", "pids": str(pid), **more}
    return "&".join(f"{key}={quote(value)}" for key, value in view.items())

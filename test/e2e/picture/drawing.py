"""Stacks for pictures, and what the tests that look at them in Chromium share (its fixtures: conftest.py)."""
import functools
import http.server
import re
import threading
from contextlib import contextmanager

STACKS = {
    "[7]shop;front;main;serve;parse;read_json": 200,
    "[7]shop;front;main;serve;parse;read_json;json_key": 50,
    "[7]shop;front;main;serve;price;find_[i]": 100,
    "[7]shop;front;main;serve;ksys_read_[k];copy_user_[k]": 150,
    "[7]shop;front;main;log_json": 40,
    "[9]java;worker;Shop.run_[j];Cart.add_[0]": 160,
    "[9]java;worker;[truncated];lost_leaf": 20,
    "[11]python3;cook;<module> (app.py:1)_[p];handle (app.py:9)_[p]": 280,
}
FOLDED = "".join(f"{stack} {value}\n" for stack, value in STACKS.items())
HINT = "Click a frame to zoom, / to search, arrows to move, Esc to reset"


def matched(pattern, under=""):
    """Percent of the stacks that hold `under` which have a match, by the text alone."""
    of = {stack: value for stack, value in STACKS.items() if under in stack}
    hits = sum(v for s, v in of.items() if any(re.search(pattern, f, re.I) for f in s.split(";")))
    return f"{100 * hits / sum(of.values()):.2f}%"


@contextmanager
def served(folder, **headers):
    """A folder over HTTP, with these headers."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            super().end_headers()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def at(picture):
    return picture.text("details").split(" (")[0]


def assert_labels_fit(picture):
    boxes = picture.page.run(
        "[...document.querySelectorAll('#labels text')].map(e => [e.textContent,"
        " e.getBoundingClientRect().left, e.getBoundingClientRect().right,"
        " e.getBoundingClientRect().top + 7])"
    )
    frames = picture.frames
    for label, left, right, y in boxes:
        assert any(
            f.left - 0.5 <= left and right <= f.right + 0.5 and abs(f.y - y) < 8 for f in frames
        ), label


def luminance(colour):
    def linear(part):
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(part) / 255) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)

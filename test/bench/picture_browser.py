#!/usr/bin/env python3
"""A picture of 10,000 stacks in the browser: its size, how long until it is loaded, until a click
has zoomed and a search is shown. Prints one line and judges nothing; an empty picture's loading
tells what the browser takes for itself.

Usage: picture_browser.py [ROUNDS]
"""
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from chromium import Chromium, missing  # noqa: E402
from screen import render, ten_thousand_stacks  # noqa: E402

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg"><text y="20">empty</text></svg>'
PAINTED = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
CLICK = """[...document.querySelectorAll('#frames path')]
    .find((path) => path.textContent.startsWith('worker-1 '))
    .dispatchEvent(new MouseEvent('click', {bubbles: true}))"""
SEARCH = """dispatchEvent(new KeyboardEvent('keydown', {key: '/'}));
    const field = document.querySelector('input');
    field.value = 'hash_';
    field.dispatchEvent(new Event('input'))"""


def milliseconds(page, action):
    """From an action until what it changed is on the screen, by the page's own clock."""
    return page.run(
        f"(async () => {{ const begin = performance.now(); {action}; await {PAINTED};"
        " return performance.now() - begin; })()"
    )


def measure(browser, path, rounds, *actions):
    """Medians: until it was loaded, and for each action. A page of its own each time."""
    times = []
    for _ in range(rounds):
        with browser.page(path.as_uri(), height=1000) as page:
            page.run(PAINTED)
            times.append([page.run(LOADED), *(milliseconds(page, action) for action in actions)])
    return [statistics.median(column) for column in zip(*times, strict=True)]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    reason = missing()
    if reason:
        print(f"picture in the browser: not measured, {reason}")
        return
    browser = Chromium()
    try:
        with tempfile.TemporaryDirectory() as work:
            full, empty = Path(work) / "full.svg", Path(work) / "empty.svg"
            full.write_text(render(ten_thousand_stacks()))
            empty.write_text(EMPTY)
            (idle,) = measure(browser, empty, rounds)
            loaded, zoomed, found = measure(browser, full, rounds, CLICK, SEARCH)
            print(
                f"picture in the browser: 10,000 stacks, {full.read_text().count('<path')} frames, "
                f"{full.stat().st_size / 1e3:.0f} kB; loaded in {loaded:.0f} ms "
                f"(an empty one in {idle:.0f}), zoom {zoomed:.0f} ms, search {found:.0f} ms"
            )
    finally:
        browser.close()


if __name__ == "__main__":
    main()

"""The page in Firefox, where Debian's firefox-esr is installed: it opens, lists processes and profiles one."""
from urllib.parse import quote

import pytest

import firefox
from asking import burning
from browsing import Opened, row_of
from chromium import rows_of_image
from helpers import wait_for


@pytest.fixture
def browser():
    reason = firefox.missing()
    if reason:
        pytest.skip(reason)
    browser = firefox.Firefox()
    yield browser
    browser.close()


def test_firefox_lists_processes_and_shows_a_profile(profiler, start, browser):
    target = burning(start)
    origin = f"http://127.0.0.1:{profiler.port}"
    with browser.page(f"{origin}/#source=take&probe=oncpu&seconds=1&pids={target.pid}&of={quote('a program')}") as tab:
        page = Opened(profiler, tab)
        wait_for(lambda: page.shows("#offer"), why="what a link would begin waits for a click")
        page.click("#offer [data-main=begin]")
        page.wait(".facts", "samples", seconds=60)
        assert "a program" in page.text("#profile h2")
        place = page.frame("main")
        assert place, "main is drawn"
        seen = tab.capture()
        tab.click(*place)
        wait_for(lambda: "zoom=" in page.fragment, why="a click zooms")
        page.key("Escape", "2")
        assert "main" in page.table()
        page.write("#processes input", str(target.pid))
        page.wait(row_of(target.pid), "spin", seconds=60)
        assert not tab.complaints
        strange = [url for url in tab.requests if not url.startswith((origin + "/", "blob:", "data:", "about:"))]
        assert not strange
    drawn = [share for share, _ in rows_of_image(browser, seen)]
    assert drawn[round(place[1])] > 0.5, "its frame is seen"

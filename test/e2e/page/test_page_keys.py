"""Keys of the page that no other test presses: each does what the list of keys says."""
import re

import pytest

from asking import burning, sessions
from browsing import of, opened  # noqa: F401
from canvas import labels, point_at
from helpers import wait_for
from lasting import lasting  # noqa: F401

SHIFT = 8


@pytest.fixture(scope="module")
def deep(lasting):
    """(daemon, pid, folded text) of main -> level × 5 -> bottom, which has ended."""
    target = lasting.start("deep", 5, 600)
    lasting.profile(target)
    return lasting.daemon, target.pid, lasting.ended(target)


def focused(page, selector):
    return page.tab.run(f"Boolean(document.activeElement.closest({selector!r}))")


def of_path(page):
    """Names on the way to what is zoomed."""
    found = re.search(r"zoom=([^&]*)", page.fragment)
    return found and found[1].split(";")


def test_r_makes_direct_recursion_one_frame(deep, opened):
    daemon, pid, profile = deep
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        assert labels(page).count("level") == 5
        page.key("r")
        assert page.text(".steps").startswith("direct recursion as one") and labels(page).count("level") == 1
        assert page.table()["level"] == (profile_own(profile, "level"), profile.total("level"))
        page.key("1", "u")
        assert labels(page).count("level") == 5


def profile_own(profile, name):
    return sum(stack.value for stack in profile.stacks if stack.frames[-1] == name)


def test_c_makes_what_a_function_calls_one_with_it(deep, opened):
    daemon, pid, profile = deep
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        point_at(page, "main")
        page.key("c")
        assert page.text(".steps").startswith("collapse main")
        assert "main" in labels(page) and not {"level", "bottom"} & set(labels(page))
        assert page.table()["main"] == (profile.total("main"), profile.total("main"))


def test_k_goes_through_the_ways_of_colouring(deep, opened):
    daemon, pid, _ = deep
    ways = ["kind", "module", "container", "self", "change"]
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        for before, after in zip(ways, [*ways[1:], ways[0]]):
            assert page.tab.run("document.querySelector('[name=colour]').value") == before
            page.key("k")
            assert page.tab.run("document.querySelector('[name=colour]').value") == after
            assert ("colour=" in page.fragment) == (after != ways[0])


def test_n_goes_to_the_next_match_and_shift_to_the_one_before(deep, opened):
    daemon, pid, _ = deep
    with opened(daemon, of(pid, q="^(main|bottom)$")) as page:
        page.wait(".matched", "matched")
        seen = []
        for key in "nnnNN":
            page.key(key)
            seen.append(page.text(".line bdi"))
        assert seen == ["main", "bottom", "main", "bottom", "main"]


def test_z_zooms_and_0_shows_the_whole(deep, opened):
    daemon, pid, profile = deep
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        assert of_path(page) is None
        point_at(page, "bottom")
        page.key("z")
        assert of_path(page)[-1] == "bottom" and len(of_path(page)) == len(profile.stacks[0].frames)
        page.key("0")
        assert of_path(page) is None and page.text(".line").startswith("bottom")  # the mouse is where it was


def test_3_shows_callers_and_callees(deep, opened):
    daemon, pid, _ = deep
    with opened(daemon, of(pid, function="level")) as page:
        page.wait(".facts", "samples")
        assert not page.shows("#callers")
        page.key("3")
        assert page.shows("#callers") and page.shows("#callees") and not page.shows("#graph")
        assert page.text("#function-name").startswith("level · total")
        assert page.tab.run("document.querySelector('[name=tab][value=callers]').checked") and "tab=callers" in page.fragment


def test_p_and_f_lead_to_the_list_of_processes(deep, opened):
    daemon, pid, _ = deep
    with opened(daemon, of(pid)) as page:
        page.wait("#processes tbody")
        page.key("p")
        assert focused(page, "#processes tbody tr")
        page.key("f")
        assert focused(page, "[name=filter]")
        page.tab.type("pf")  # now these are letters
        assert page.tab.run("document.activeElement.value") == "pf"


def test_t_takes_the_next_seconds_again(deep, lasting, start, opened):
    target = burning(start)
    with opened(lasting.daemon, of(target.pid)) as page:
        page.wait(".facts", "samples")  # none so far
        assert sessions(lasting.daemon) == 0
        page.key("t")
        page.wait("#busy", rf"oncpu of {target.pid}: \d+ s left")
        wait_for(lambda: sessions(lasting.daemon) == 1, why="it begins")
        assert "source=take" in page.fragment
        page.click("#cancel")
        wait_for(lambda: sessions(lasting.daemon) == 0, why="it is given up")
        assert not page.text("#busy")


def range_of(page):
    found = re.search(r"from=([\d.]+).*until=([\d.]+)", page.fragment)
    return float(found[1]), float(found[2])


def test_shift_and_arrows_move_the_end_of_a_range(deep, opened):
    daemon, pid, _ = deep
    began = int(daemon.get("/windows?probe=oncpu").json()["windows"][0]["from"])
    since, until = began - 200, began - 100
    with opened(daemon, f"source=range&probe=oncpu&pids={pid}&from={since}&until={until}") as page:
        page.wait(".facts", "^0 samples")
        page.key("b")
        page.wait("#history .range", "nothing")
        for key, wanted in (("ArrowRight", until + 30), ("ArrowRight", until + 60), ("ArrowLeft", until + 30)):
            page.tab.key(key, modifiers=SHIFT)
            page.key("Enter")
            wait_for(lambda: range_of(page) == (since, wanted), why=lambda: f"{key}: {range_of(page)}")
        for _ in range(9):  # it doesn't get shorter than 30 s
            page.tab.key("ArrowLeft", modifiers=SHIFT)
        page.key("Enter")
        wait_for(lambda: range_of(page) == (since, since + 30), why=lambda: range_of(page))

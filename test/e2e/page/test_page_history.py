"""The page's time line: a range by mouse, keys and address, and what changed in it."""
import re
import shutil
import time
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from asking import burning
from browsing import opened  # noqa: F401
from helpers import HZ, program, stopped, wait_for
from past import ask, ended, folder, keeper, profile_of, wait_windows  # noqa: F401


def range_of(page):
    """The range that the address has."""
    found = re.search(r"from=([\d.]+).*until=([\d.]+)", page.fragment)
    return float(found[1]), float(found[2])


@pytest.fixture
def kept(keeper, start):
    """A daemon with some windows of spin, which has ended."""
    daemon = keeper(window=1)
    burning(start)
    daemon.profile("^spin$", frequency=HZ)
    wait_windows(daemon, 4)
    daemon.put_ok(stopped())
    wait_for(daemon.written)
    return daemon


def open_history(page):
    page.wait("#host")
    page.key("b")
    page.wait("#history .range", "CPUs|nothing")
    return page.tab.run("""(() => { const box = document.querySelector('#history canvas').getBoundingClientRect();
        return [box.x, box.y, box.width, box.height]; })()""")


@pytest.mark.quick
def test_a_range_is_dragged_and_its_numbers_are_those_of_the_folded_text(kept, opened):
    with opened(kept) as page:
        left, top, width, _ = open_history(page)
        page.tab.move(left + width * 0.5, top + 20)
        page.tab.call("Input.dispatchMouseEvent", type="mousePressed", x=left + width * 0.5, y=top + 20, button="left",
                      clickCount=1)  # fmt: skip
        page.tab.move(left + width * 0.8, top + 20)
        page.tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width - 1, y=top + 20, button="left",
                      buttons=1)  # fmt: skip
        page.tab.call("Input.dispatchMouseEvent", type="mouseReleased", x=left + width - 1, y=top + 20, button="left",
                      clickCount=1)  # fmt: skip
        page.wait(".facts", "samples")
        since, until = range_of(page)
        assert 1700 < until - since < 1900  # half of an hour
        profile = profile_of(kept, **{"from": since, "until": until})
        assert profile.total() > 0 and page.text(".facts").startswith(f"{profile.total():,} samples")
        assert page.table()["inner_spin"][1] == profile.total("inner_spin")
        fragment = page.fragment
    with opened(kept, fragment.lstrip("#")) as again:  # a link begins nothing but shows it
        again.wait(".facts", f"^{profile.total():,} samples")


def test_keys_move_and_lengthen_the_range(kept, opened):
    until = ended(kept)[-1]["until"]
    with opened(kept, f"from={until - 2}&until={until}&probe=oncpu") as page:
        open_history(page)
        page.focus("#history canvas")
        page.key("ArrowLeft", "Enter")
        page.wait(".facts", "samples")
        assert range_of(page) == pytest.approx((until - 4, until - 2), abs=0.01)
        page.key("ArrowRight", "Enter")
        wait_for(lambda: range_of(page) == pytest.approx((until - 2, until), abs=0.01))


def test_gaps_are_told_and_lost_time_is_not_filled_in(kept, opened):
    kept.stop()
    time.sleep(3)
    kept.start()
    kept.profile("^spin$", frequency=HZ)
    windows = wait_windows(kept, len(ended(kept)) + 2)
    gap = max(after["from"] - before["until"] for before, after in zip(windows, windows[1:]))
    assert gap >= 3
    query = f"from={windows[0]['from']}&until={windows[-1]['until']}&probe=oncpu"
    with opened(kept, query) as page:
        open_history(page)
        told = page.wait("#history .range", r"(\d+) s without")
        assert abs(int(told[1]) - gap) <= 2


def test_without_a_history_the_page_says_so(keeper, opened):
    daemon = keeper(window=1, bytes=0)
    with opened(daemon, complains=True) as page:
        page.wait("#host")
        page.key("b")
        page.wait("#history .range", "no history is kept")


def test_times_tell_their_zone_so_the_hour_that_comes_twice_has_two_texts(kept, opened):
    berlin, hour, zone = ZoneInfo("Europe/Berlin"), "2026-10-25 02:30:00", {"zone": "Europe/Berlin"}
    summer, winter = (datetime(2026, 10, 25, utc, 30, tzinfo=timezone.utc).timestamp() for utc in (0, 1))
    span = {"from": ended(kept)[0]["from"], "until": ended(kept)[-1]["until"]}
    with opened(kept, query_of(**span), **zone) as page:
        page.wait(".facts", "samples")
        told = [datetime.fromtimestamp(at, berlin).strftime("%Y-%m-%d %H:%M:%S %z") for at in span.values()]
        assert " – ".join(told) in page.text(".facts")
    with (folder(kept) / "events").open("a") as events:
        events.writelines(f"{int(at)}000000000 put {name}\n" for at, name in ((summer, "first"), (winter, "second")))
    with opened(kept, f"from={summer}&until={winter + 1}&probe=oncpu", **zone) as page:
        open_history(page)
        assert f"{hour} +0200 – 2026-10-25 02:30:01 +0100" in page.text("#history .range")
        assert page.texts(".events li") == [f"{hour} +0100 put: second", f"{hour} +0200 put: first"]


@pytest.fixture
def two(keeper, start, copy):
    """A daemon, two processes whose part_b differs, and a range with both."""
    daemon = keeper(window=1)
    pids = [start(copy("paced", name), 10, part_b, 8, 5).pid for name, part_b in (("small", 1), ("large", 25))]
    daemon.profile("^(small|large)$", frequency=HZ)
    windows = wait_windows(daemon, 10)
    return daemon, pids, {"from": windows[1]["from"], "until": windows[-1]["until"]}


def rates(daemon, span, *pids):
    """Of each window what each process had."""
    return [[window["weight"] for window in ended(daemon, pid=pid, **span)] for pid in pids]


def query_of(**view):
    return "&".join(f"{key}={value}" for key, value in {"source": "range", "probe": "oncpu", **view}.items())


@pytest.mark.alone("where others want the CPU, too, what a process gets varies more than the two differ")
@pytest.mark.parametrize("by", ["pid", "name"])
def test_two_processes_are_compared(two, opened, by):
    daemon, (small, large), span = two
    with opened(daemon, query_of(pids=large, of="large", **span)) as page:
        page.wait(".facts", "samples")
        page.key("b")
        page.wait("#history .range", "CPUs")
        page.write("#history [name=rival]", str(small) if by == "pid" else "small")
        page.key("Enter")
        page.wait("#history caption", "functions changed beyond noise")
        assert page.texts("#history tbody tr"), (page.text("#history caption"), rates(daemon, span, small, large))
        first = page.texts("#history tbody tr")[0]
        assert "part_b" in first and first.startswith("+"), first
        assert f"rival={small if by == 'pid' else 'small'}" in page.fragment
        fragment = page.fragment
    with opened(daemon, fragment.lstrip("#")) as again:  # a link compares the same
        again.key("b")
        again.wait("#history caption", "functions changed beyond noise")
        assert "part_b" in again.texts("#history tbody tr")[0]


def test_a_range_of_all_of_a_name(two, opened):
    daemon, (small, large), span = two
    with opened(daemon, query_of(group="comm", of="large", pids=f"{large},{small}", **span)) as page:
        of_name = profile_of(daemon, comm="large", **span).total()
        page.wait(".facts", f"^{of_name:,} samples")
        assert of_name == profile_of(daemon, pid=large, **span).total() > 0
        page.key("b")
        assert page.wait("#history .range", "large")


def test_the_time_line_of_a_thread(keeper, start, opened):
    daemon = keeper(window=1)
    target = start("threads", 30)
    daemon.profile(pids=[target.pid], frequency=HZ)
    windows = wait_windows(daemon, 4)
    span = {"from": windows[0]["from"], "until": windows[-1]["until"]}
    of_red, of_all = profile_of(daemon, pid=target.pid, thread="red", **span), profile_of(daemon, pid=target.pid, **span)
    assert 0 < of_red.total() < of_all.total()
    with opened(daemon, query_of(pids=target.pid, of="threads", **span)) as page:
        page.wait(".facts", "samples")
        page.point_at("red")
        page.key("w")
        page.wait(".facts", f"^{of_red.total():,} samples")
        assert f"thread red of [{target.pid}]threads" in page.text("#profile h2")
        table = page.table()
        assert table["red_work"][1] == of_red.total("red_work") and "blue_work" not in table
        assert "thread=red" in page.fragment
        page.key("b")
        page.wait("#history .range", f"thread red of .*{target.pid}")
        fragment = page.fragment
        rows = ask(daemon, "/windows", probe="oncpu", pid=target.pid, thread="red", **span).json()["windows"]
        assert sum(row["weight"] for row in rows) == of_red.total()
        assert any("thread=red" in url and "/windows" in url for url in page.tab.requests)
    with opened(daemon, fragment.lstrip("#")) as again:  # a link has the same
        again.wait(".facts", f"^{of_red.total():,} samples")
        again.do("tab=functions")
        again.key("w")  # no frame is looked at: all threads again
        again.wait(".facts", f"^{of_all.total():,} samples")
        assert re.search(r"of \[\d+\]threads", again.text("#profile h2")) and "thread red" not in again.text("#profile h2")
        assert "thread" not in again.fragment.split("of=")[0] and "green_work" in again.table()


@pytest.fixture
def gone(keeper, start, copy, work):
    """(daemon, span, span before): spin ran in the time before alone, under the name of what runs in both."""
    daemon = keeper(window=1)
    first = start(copy("spin", "both"), 600)
    (work / "other").mkdir()
    start(shutil.copy(program("paced"), work / "other/both"), 20, 20, 20, 20)
    daemon.profile("^both$", frequency=HZ)
    before = wait_windows(daemon, 9)
    first.kill()
    between = time.time() + 1
    after = wait_windows(daemon, 9, **{"from": between, "until": between + 100})
    spans = [{"from": windows[1]["from"], "until": windows[-1]["until"]} for windows in (before, after)]
    return daemon, spans[1], spans[0]


@pytest.mark.alone("where others want the CPU, too, spin's rate varies so much in 9 windows that its end may be noise")
def test_stacks_that_are_gone_are_seen_and_told(gone, opened):
    daemon, span, before = gone
    now = profile_of(daemon, comm="both", **span)
    assert not now.total("inner_spin") and profile_of(daemon, comm="both", **before).total("inner_spin")
    back = span["until"] - before["until"]
    span["from"] = before["from"] + back
    view = query_of(group="comm", of="both", pids="1,2", colour="change", against=f"{back:.3f}", **span)
    with opened(daemon, view) as page:
        page.key("b")
        page.wait("#history caption", "functions changed beyond noise")
        row = wait_for(lambda: next((row for row in page.texts("#history tbody tr") if "inner_spin" in row), None),
                       why=lambda: f"its row: {page.texts('#history tbody tr')}, {page.text('#history caption')}")
        assert row.startswith("\u2212") and "(gone)" in row
        now = profile_of(daemon, comm="both", **span)
        page.wait(".facts", f"^{now.total():,} samples.*before in stacks that aren't here")  # they don't count
        assert "inner_spin" not in page.table() and page.table()["part_b"][1] == now.total("part_b")
        page.do("tab=graph")
        assert page.frame("inner_spin"), "it is in the picture"
        assert re.search(r"gone: [\d,.]+ samples before", page.text(".line"))
        assert page.frame("part_b") and "gone" not in page.text(".line")
        page.tab.click(*page.frame("outer"))  # zooms
        page.do("tab=tree")
        items = page.texts("#tree [role=treeitem]")
        assert "outer" in items[0] and any("inner_spin" in text and "gone: " in text for text in items)

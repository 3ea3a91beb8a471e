"""History: windows on disk, ranges of them, what changed; restarts, damage, and who may ask."""
import os
import re
import signal
import time

import pytest

import pprof
from allocating import let, profile_allocations, standing_by
from asking import burning
from browsing import opened  # noqa: F401
from folded import Profile
from helpers import HZ, Daemon, stopped, wait_burned, wait_for
from past import ask, ended, folder, keeper, profile_of, stacks, wait_windows, windows  # noqa: F401
from picture import Picture


@pytest.mark.quick
def test_a_range_has_what_the_files_of_its_time_have(keeper, start):
    daemon = keeper(window=1)
    target, other = burning(start), burning(start, "other")
    # (by names, other tests' processes would be in it, too)
    daemon.profile(pids=[target.pid, other.pid], probes=("oncpu", "offcpu"), frequency=HZ)
    wait_windows(daemon, 3)
    wait_burned(target.pid, other.pid)
    daemon.put_ok(stopped())
    wait_for(daemon.written)
    written = {}
    for path in daemon.files(daemon.flame_dir / "oncpu", "folded"):
        for key, value in stacks(Profile(path.read_text())).items():
            written[key] = written.get(key, 0) + value
    assert stacks(profile_of(daemon, **{"from": -100})) == written
    kept = ended(daemon)
    assert sum(window["weight"] for window in kept) == sum(written.values())
    # One process alone, by each of its names; and a part of the time.
    of_one = {key: value for key, value in written.items() if key[2][0].startswith(f"[{target.pid}]")}
    assert stacks(profile_of(daemon, **{"from": -100}, pid=target.pid)) == of_one
    assert stacks(profile_of(daemon, **{"from": -100}, comm="spin")) == of_one
    assert stacks(profile_of(daemon, **{"from": -100}, comm="sp")) == {}
    assert sum(window["weight"] for window in ended(daemon, pid=target.pid)) == sum(of_one.values())
    middle = kept[len(kept) // 2]
    part = profile_of(daemon, **{"from": middle["from"], "until": middle["until"]})
    assert part.total() == middle["weight"]


def test_each_output_of_a_range_has_the_same_weight(keeper, start):
    daemon = keeper(window=1)
    daemon.profile("^spin$", frequency=HZ)
    burning(start)
    kept = wait_windows(daemon, 2)
    query = {"from": kept[0]["from"], "until": kept[-1]["until"]}
    total = sum(window["weight"] for window in kept)
    assert profile_of(daemon, **query).total() == total
    assert ask(daemon, "/flamegraph/oncpu.json", **query).json()["total"] == total
    assert f"all ({total:,} samples" in ask(daemon, "/flamegraph/oncpu.svg", **query).text
    assert ask(daemon, "/flamegraph/oncpu.frames", **query).body[:4] == b"SPF2"
    read = pprof.read(ask(daemon, "/flamegraph/oncpu.pb.gz", **query).body)
    assert read.total("samples") == total
    assert any("no lines" in comment for comment in read.comments)
    refused = daemon.get("/flamegraph/oncpu.jsonl?from=-10")
    assert refused.status == 400 and "jsonl" in refused.message


def test_the_window_that_runs_belongs_to_a_range_that_reaches_it(keeper, start):
    daemon = keeper(window=300)
    target = burning(start)
    daemon.profile("^spin$", frequency=HZ)
    wait_burned(target.pid)
    running = wait_for(lambda: windows(daemon, **{"from": -60}))
    assert [window["running"] for window in running] == [True]
    assert profile_of(daemon, **{"from": -60}).total("main", "outer", "middle", "inner_spin") > 0
    assert ask(daemon, "/windows", probe="oncpu", **{"from": 1, "until": 2}).json()["windows"] == []


def test_a_restart_is_a_gap_and_what_was_before_stays(keeper, start):
    daemon = keeper(window=1)
    burning(start)
    daemon.profile("^spin$", frequency=HZ)
    wait_windows(daemon, 2)
    daemon.stop()
    time.sleep(2)
    daemon.start()
    before = ended(daemon)
    assert len(before) >= 2
    daemon.profile("^spin$", frequency=HZ)
    after = wait_windows(daemon, len(before) + 2)
    assert after[: len(before)] == before
    gap = after[len(before)]["from"] - before[-1]["until"]
    assert gap >= 2
    assert after[len(before)]["begun"] > before[-1]["begun"]
    # What covers a range is told, and is less than the range by the gap.
    query = {"from": before[0]["from"], "until": after[-1]["until"]}
    assert "s of it sampled)" in ask(daemon, "/flamegraph/oncpu.svg", **query).text
    changes = ask(daemon, "/changes", probe="oncpu", **query).json()["after"]
    assert changes["covered"] <= after[-1]["until"] - before[0]["from"] - gap + 0.1


@pytest.mark.parametrize("cut", [1, 100, "half"])
def test_a_power_cut_loses_the_end_of_the_last_file_alone(keeper, start, cut):
    daemon = keeper(window=1)
    burning(start)
    daemon.profile("^spin$", frequency=HZ)
    wait_windows(daemon, 4)
    daemon.kill()
    path = next(folder(daemon).glob("oncpu.window.*"))
    size = path.stat().st_size
    os.truncate(path, size // 2 + 7 if cut == "half" else size - cut)  # within a record
    daemon.start()
    kept = ended(daemon)
    assert kept
    assert sum(window["weight"] for window in kept) == profile_of(daemon, **{"from": -600}).total()
    metrics = daemon.get("/metrics").text
    damaged = next(line for line in metrics.split("\n") if line.startswith("stackprobe_history_damaged_bytes"))
    assert float(damaged.split()[1]) > 0
    daemon.profile("^spin$", frequency=HZ)
    assert daemon.config()["status"]["history"]["state"] == "running"
    wait_windows(daemon, len(kept) + 1)


def test_bytes_are_bounded_and_the_oldest_go(keeper, start):
    daemon = keeper(window=1, bytes=4000)
    burning(start)
    daemon.profile("^spin$", frequency=HZ)
    wait_for(lambda: "stackprobe_history_removed_total 0\n" not in daemon.get("/metrics").text, 60, 0.5)
    assert sum(path.stat().st_size for path in folder(daemon).glob("oncpu.*")) <= 4000
    assert daemon.get("/windows?probe=oncpu").status == 200


def test_without_a_folder_for_state_nothing_is_kept_and_it_says_so(keeper, start):
    daemon = keeper(window=1, bytes=0)
    burning(start)
    daemon.profile("^spin$", frequency=HZ)
    answer = daemon.get("/windows?probe=oncpu")
    assert answer.status == 404 and "no history is kept" in answer.message
    assert daemon.get("/flamegraph/oncpu.folded?from=-10").status == 404
    assert {path.name for path in folder(daemon).iterdir()} == {"events"}  # of the start before


@pytest.mark.parametrize("query", [
    "from=x", "from=", "until=-", "from=1e3", "from=10&until=5", "from=-5&until=-10", "from=9999999999999",
    "from=1.", "from=-1&comm=", "from=-1&thread=" + "x" * 300, "from=-1&before_pid=x", "from=-1&seconds=1",
    "from=-1&before_from=-2", "from=-1&pid=0",
])  # fmt: skip
def test_what_is_no_range_is_refused_with_a_sentence(daemon, query):
    answer = daemon.get(f"/flamegraph/oncpu.folded?{query}")
    assert answer.status == 400, answer.text
    assert answer.message


@pytest.mark.parametrize("path", ["/windows", "/windows?probe=nothing", "/changes?probe=oncpu&top=0",
                                  "/anomalies", "/anomalies?probe=nothing", "/anomalies?probe=oncpu&top=0",
                                  "/anomalies?probe=oncpu&from=5&until=4",
                                  "/anomalies?probe=mem_glibc&view=inuse", "/changes?probe=oncpu&view=x"])  # fmt: skip
def test_what_history_has_not_is_refused_with_a_sentence(daemon, path):
    answer = daemon.get(path)
    assert answer.status == 400, answer.text
    assert answer.message


def test_only_get_is_allowed(daemon):
    for path in ("/windows", "/changes"):
        assert daemon.request("PUT", path, body="{}").status == 405


@pytest.mark.alone("its program burns for a time of its own clock")
def test_a_regression_is_the_first_of_what_changed(keeper, start, opened):
    daemon = keeper(window=1)
    target = start("paced", 20, 15, 10, 8)
    daemon.profile(pids=[target.pid], frequency=HZ)
    wait_windows(daemon, 21)
    between = time.time()
    os.kill(target.pid, signal.SIGUSR1)
    wait_windows(daemon, 20, **{"from": between + 1, "until": between + 100})
    until, first = time.time(), ended(daemon)[1]["from"]
    length = min(until - between - 1, between - first)
    # Equal times before it: nothing.
    equal = ask(daemon, "/changes", probe="oncpu", **{"from": (first + between) / 2, "until": between,
                "before_from": first, "before_until": (first + between) / 2}).json()  # fmt: skip
    assert equal["tells"] and equal["changes"] == [], equal
    told = ask(daemon, "/changes", probe="oncpu", **{"from": until - length, "until": until,
               "before_from": between - length, "before_until": between}).json()  # fmt: skip
    top = told["changes"][0]
    assert top["name"] == "part_b" and top["self"]["change"], told
    assert 1.1 < top["self"]["after"] / top["self"]["before"] < 1.3, top
    assert abs(top["self"]["before"] / HZ - 15 / 103) < 0.03, top
    others = {"part_a", "part_c", "part_d"}
    assert not others & {change["name"] for change in told["changes"]}, told
    see_what_is_coloured(daemon, {"from": until - length, "until": until, "before_from": first, "before_until": between})
    equal = {"from": (first + between) / 2, "until": between, "before_from": first, "before_until": (first + between) / 2}
    assert not drawn(daemon, **equal).coloured()
    see_what_changed(opened, daemon, f"from={between + 1}&until={between + 1 + length}", others)


def drawn(daemon, **query):
    return Picture(ask(daemon, "/flamegraph/oncpu.svg", **query).text)


def see_what_is_coloured(daemon, query):
    """What /changes tells; the rest is within noise."""
    changes = ask(daemon, "/changes", probe="oncpu", top=1000, **query).json()["changes"]
    picture = drawn(daemon, **query)
    assert "part_b" in picture.coloured() <= {change["name"] for change in changes if change["self"]["change"]}
    assert any(title.startswith("part_b (") and re.search("/s → [0-9.]+/s[)]$", title) for title in picture.titles)
    assert any(re.match("part_[acd] .*; within noise[)]$", title) for title in picture.titles)
    assert "within noise as windows vary" in picture.text("legend")


def test_a_difference_counts_by_time_and_tells_what_is_gone(keeper, start):
    daemon = keeper(window=1)
    stays, ends = burning(start), start("paced", 20, 15, 10, 8)
    daemon.profile(pids=[stays.pid, ends.pid], frequency=HZ)
    wait_windows(daemon, 4)
    daemon.put_ok(stopped())
    time.sleep(2)  # a gap
    daemon.profile(pids=[stays.pid, ends.pid], frequency=HZ)
    before = wait_windows(daemon, 10)
    ends.kill()
    killed = time.time()
    after = wait_windows(daemon, 7, **{"from": killed + 1, "until": killed + 100})
    query = {"from": after[0]["from"], "until": after[6]["until"],
             "before_from": before[0]["from"], "before_until": before[9]["until"]}  # fmt: skip
    told = ask(daemon, "/changes", probe="oncpu", **query).json()
    covered = [told[side]["covered"] for side in ("after", "before")]
    assert covered[1] < query["before_until"] - query["before_from"] - 1.9, "the gap counts in no rate"
    assert covered[1] > covered[0] + 1
    picture, other = drawn(daemon, **query), drawn(daemon, **query, widths="before")
    for shown, times in ((picture, covered), (other, covered[::-1])):
        assert [float(time) for time in re.findall(r" in ([0-9.]+) s \(", shown.text("facts"))] == pytest.approx(times, abs=0.002)
    assert picture.total == told["after"]["weight"] and other.total == told["before"]["weight"]
    change = told["after"]["weight"] / covered[0] / (told["before"]["weight"] / covered[1]) - 1
    said = float(re.search(r" · ([-+][0-9.]+)% a second", picture.text("facts"))[1])
    assert said == pytest.approx(100 * change, abs=0.06)
    names = {frame.name for frame in picture.frames}
    assert "spin" in names and not names & {"paced", "part_a"}
    # What is gone beyond noise (on a busy machine not all that is gone).
    gone = {row["name"] for row in told["changes"] if row["self"]["change"] and not row["self"]["after"]}
    assert not gone or "of before is gone and not drawn" in picture.text("facts")
    assert {"paced", "part_a"} < {frame.name for frame in other.frames}
    assert ("part_a" in other.coloured()) == ("part_a" in gone)
    why = "" if "part_a" in gone else "; within noise"
    assert any(title.startswith("part_a (") and title.endswith(f"/s → 0/s{why})") for title in other.titles)
    # Two processes: by their functions alone.
    two = {**query, "from": query["before_from"], "until": query["before_until"], "pid": stays.pid, "before_pid": ends.pid}
    names = {frame.name for frame in drawn(daemon, **two).frames}
    assert "inner_spin" in names and "spin" not in names
    # Too few windows: it says so, and counts tell.
    few = {**query, "from": after[0]["from"], "until": after[3]["until"]}
    assert "fewer than six windows" in drawn(daemon, **few).text("facts")
    page = ask(daemon, "/flamegraph/oncpu.html", **query).text
    assert "within noise as windows vary" in page


@pytest.mark.parametrize("query", ["widths=before", "from=-1&widths=before", "from=-1&before_from=-2&widths=x"])
def test_widths_are_those_of_a_difference(daemon, query):
    answer = daemon.get(f"/flamegraph/oncpu.svg?{query}")
    assert answer.status == 400 and answer.message.startswith("widths "), answer.text


def see_what_changed(opened, daemon, query, others):
    """The page lists the same."""
    with opened(daemon, f"source=range&probe=oncpu&{query}&against=before&colour=change") as page:
        page.key("b")
        page.wait("#history caption", "functions changed beyond noise")
        rows = page.texts("#history tbody tr")
        assert "part_b" in rows[0] and "+" in rows[0], rows
        assert not any(name in row for row in rows for name in others), rows
        page.click("#history tbody button")
        page.wait("#function-name", "part_b")
        page.do("tab=graph")
        page.tab.run("document.querySelector('#history [name=against]').value = ''")
        page.tab.run("document.querySelector('#history [name=against]').dispatchEvent(new Event('change'))")
        wait_for(lambda: not page.shows("#history tbody tr"), why="nothing is compared any more")


def test_samples_of_another_rate_count_as_the_time_that_they_stand_for(keeper, start):
    daemon = keeper(window=1)
    burning(start)
    for frequency in (99, HZ):
        daemon.profile("^spin$", frequency=frequency)
        wait_windows(daemon, len(ended(daemon)) + 3)
    kept = ended(daemon)
    periods = {window["period_ns"] for window in kept}
    assert len(periods) == 2
    query = {"from": kept[0]["from"], "until": kept[-1]["until"]}
    used = sum(window["weight"] * window["period_ns"] for window in kept)
    told = ask(daemon, "/changes", probe="oncpu", **query).json()["after"]
    assert told["period_ns"] == min(periods)
    assert told["weight"] * told["period_ns"] == pytest.approx(used, rel=0.001)
    # The sum of the stacks is exact to one sample of each window, whichever weights these have.
    assert abs(profile_of(daemon, **query).total() - told["weight"]) <= len(kept)


def test_a_second_value_has_a_history_of_its_own(keeper, start):
    daemon = keeper(window=1)
    burning(start)
    daemon.profile("^spin$", probes=("io",))
    assert wait_windows(daemon, 2, "io", view="time")
    assert {path.name.rsplit(".", 2)[0] for path in folder(daemon).iterdir()} == {"events", "io", "io-time"}


def test_what_is_held_has_states_and_a_range_has_the_last_one(keeper, start, opened):
    daemon = keeper(window=1)
    target = standing_by(daemon, start, "heirs", "rest", svg_period=30)
    before = let(target)["before"].held_bytes
    first = wait_windows(daemon, 1, "mem_glibc", view="inuse")[-1]
    assert first["state"] and first["from"] == first["until"] and first["weight"] >= before
    after = let(target)["after"].held_bytes
    profile_allocations(daemon, "^heirs$", svg_period=31)  # ends the period
    last = wait_windows(daemon, 2, "mem_glibc", view="inuse")[-1]
    assert last["weight"] - first["weight"] == after
    held = profile_of(daemon, "mem_glibc", view="inuse", **{"from": first["from"] - 1})
    assert held.total("before") == before and held.total("after") == after
    held = profile_of(daemon, "mem_glibc", view="inuse", **{"from": first["from"] - 1, "until": first["from"] + 0.001})
    assert held.total("before") == before and held.total() == first["weight"] and not held.total("after")
    svg = ask(daemon, "/flamegraph/mem_glibc.svg", view="inuse", **{"from": last["from"] - 1, "until": last["from"] + 1,
              "before_from": first["from"] - 1, "before_until": first["from"] + 1}).text  # fmt: skip
    assert 'data-diff="1"' in svg and "after" in svg
    daemon.put_ok(stopped())  # nothing is known of what is held then: that is no state
    wait_for(lambda: len(windows(daemon, "mem_glibc")) > 0 and not daemon.config()["state"] == "running")
    time.sleep(1)
    assert ended(daemon, "mem_glibc", view="inuse")[-1] == last
    near = (last["from"] - first["from"]) / 3
    span = {"from": last["from"] - near, "until": last["from"] + near}
    told = ask(daemon, "/changes", probe="mem_glibc", view="inuse", **span,
               **{"before_from": first["from"] - near, "before_until": first["from"] + near}).json()  # fmt: skip
    grew = {change["name"]: change["total"] for change in told["changes"]}
    assert told["tells"] and told["state"] and "before" not in grew, told
    assert (grew["after"]["before"], grew["after"]["after"], grew["after"]["error"]) == (0, after, 0)
    assert grew["main"]["after"] - grew["main"]["before"] == after and grew["main"]["change"]
    nothing = ask(daemon, "/changes", probe="mem_glibc", view="inuse", **span, **{"before_from": 1, "before_until": 2}).json()
    assert nothing["tells"] is False and nothing["changes"] == []
    assert daemon.get("/anomalies?probe=mem_glibc&view=inuse").status == 400
    see_what_grew(opened, daemon, span, last["from"] - first["from"])


def see_what_grew(opened, daemon, span, by):
    """The page shows the same state, and what grew."""
    query = f"source=range&probe=mem_glibc~inuse&from={span['from']}&until={span['until']}&against={by}&pids="
    with opened(daemon, query) as page:
        page.wait("#history caption", "functions changed")
        page.key("b")
        page.wait("#history .range", " · ")
        assert page.text(".facts").startswith(page.text("#history .range").split(" · ")[-1].split()[0])
        (row,) = (text for text in page.texts("#history tbody tr") if text.endswith("after"))
        assert "+" in row and not any(text in row for text in ("/s", "±", "noise")), row


def test_another_daemon_with_the_same_folder_keeps_nothing(keeper, work):
    daemon = keeper(window=1)
    wait_for(lambda: folder(daemon).exists())
    second = Daemon(work)
    second.log_path, second.socket = work / "second.log", work / "second.sock"
    second.conf = work / "second.conf"
    second.set_rest()
    try:
        second.start()
        wait_for(lambda: "another daemon keeps its history" in second.log)
        assert second.get("/windows?probe=oncpu").status == 404
    finally:
        second.done()



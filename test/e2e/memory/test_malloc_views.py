"""mem_glibc's views: what is served, how old it is, and the files of each."""
import subprocess
import time

import pytest

from allocating import (EXACT, Views, let, profile_allocations, standing_by, view,
                        wait_probed)  # fmt: skip
from folded import Profile
from helpers import wait_for
from picture import Picture

FOLDERS = {None: "mem_glibc", "inuse": "mem_glibc-inuse", "mmap": "mem_glibc-mmap"}


def test_the_leak_report_leaves_out_what_is_younger(profiler, start):
    target = standing_by(profiler, start, "heirs", "rest")
    let(target)
    time.sleep(6)
    began = time.monotonic()
    truth = let(target)

    def between():
        """An age that the younger ones don't have, and the older ones had before these came."""
        return int(time.monotonic() - began) + 4

    both = view(profiler, "inuse", min_age=0)
    assert both.total("before") == truth["before"].held_bytes
    assert both.total("after") == truth["after"].held_bytes
    old = view(profiler, "inuse", min_age=between())
    assert old.total("before") == truth["before"].held_bytes
    assert old.total("after") == 0
    assert view(profiler, "inuse", min_age=between(), value="count").total() == both_objects(profiler) - 20
    assert view(profiler, "inuse", min_age=3600).total() == 0
    picture = Picture(profiler.get("/flamegraph/mem_glibc.svg?view=inuse&min_age=" + str(between())).text)
    names = {frame.name for frame in picture.frames}
    assert "before" in names and "after" not in names
    assert picture.total == old.total()


def both_objects(profiler):
    return view(profiler, "inuse", value="count").total()


def test_mappings_have_an_age_too(profiler, start):
    truth = let(standing_by(profiler, start, "mapper"))
    held = sum(site.held_bytes for site in truth.values())
    assert view(profiler, "mmap", min_age=0).total() == held
    assert view(profiler, "mmap", min_age=3600).total() == 0


@pytest.mark.parametrize(
    "query",
    ["view=bogus", "view=inuse&min_age=-1", "view=inuse&min_age=x", "view=inuse&value=bogus"],
)
def test_a_query_that_makes_no_sense_is_refused(profiler, start, query):
    standing_by(profiler, start, "heirs", "rest")
    answer = profiler.get("/flamegraph/mem_glibc.folded?" + query)
    assert answer.status == 400 and answer.message


def test_other_probes_have_no_such_views(profiler, start):
    standing_by(profiler, start, "heirs", "rest", probes=("oncpu", "mem_glibc"))
    for name in ("inuse", "mmap"):
        assert profiler.get(f"/flamegraph/oncpu.folded?view={name}").status == 400


def test_the_picture_of_each_view_has_its_weights(profiler, start):
    let(standing_by(profiler, start, "mapper"))
    for name in FOLDERS:
        query = f"?view={name}" if name else ""
        svg = profiler.get("/flamegraph/mem_glibc.svg" + query)
        assert svg.status == 200
        total = view(profiler, name).total()
        assert Picture(svg.text).total == total > 0


def test_the_json_tree_of_each_view_adds_up(profiler, start):
    let(standing_by(profiler, start, "mapper"))
    for name in FOLDERS:
        tree = profiler.get("/flamegraph/mem_glibc.json" + (f"?view={name}" if name else "")).json()
        assert tree["total"] == view(profiler, name).total()


def stop(profiler):
    """Until it has: who is told to run again before that goes on as if nothing had been said."""
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: "flamegraph stopped" in profiler.log, why="stopped")


@pytest.mark.parametrize("multi_instance", (0, 1))
def test_each_view_has_files_of_its_own(profiler, start, multi_instance):
    target = standing_by(profiler, start, "mapper", multi_instance=multi_instance)
    let(target)
    served = {folder: view(profiler, name) for name, folder in FOLDERS.items()}
    stop(profiler)
    for folder, profile in served.items():
        tops = [top / folder / (f"mapper-{target.pid}" if multi_instance else "")
                for top in (profiler.svg_dir, profiler.flame_dir)]  # fmt: skip
        wait_for(lambda tops=tops: (tops[0] / "latest.svg").exists(), why=f"{folder}/latest.svg")
        (svg,) = profiler.files(tops[0], "svg")
        (folded,) = wait_for(lambda tops=tops: profiler.files(tops[1], "folded"), why="its text")
        assert (tops[0] / "latest.svg").resolve() == svg.resolve()
        assert svg.stem == folded.stem and svg.parent.name == folded.parent.name
        written = Profile(folded.read_text())
        assert sorted(written.stacks) == sorted(profile.stacks)


def test_a_new_period_counts_allocations_anew_and_goes_on_holding(profiler, start):
    target = standing_by(profiler, start, "heirs", "rest")
    let(target)
    profiler.put_ok({"params": {"icicle": 1}})  # ends the period
    wait_for(lambda: len(profiler.files(profiler.flame_dir / "mem_glibc", "folded")) == 1)
    profiler.wait_running("mem_glibc")
    wait_probed(profiler, target)
    truth = let(target)
    views = Views(profiler)
    assert views.held_bytes.total("before") == truth["before"].held_bytes
    assert views.held_bytes.total("after") == truth["after"].held_bytes
    stop(profiler)
    folders = [profiler.flame_dir / FOLDERS[name] for name in (None, "inuse")]
    wait_for(lambda: len(profiler.files(folders[1], "folded")) == 2, why="two files")
    first, second = in_order(profiler, folders[0])
    assert (first.total("before"), first.total("after")) == (5000, 0)
    assert (second.total("before"), second.total("after")) == (0, 200)
    first, second = in_order(profiler, folders[1])
    assert (first.total("before"), second.total("before")) == (5000, 5000)


def in_order(profiler, folder):
    """Profiles of a folder as they were written, several in a second perhaps."""
    paths = sorted(profiler.files(folder, "folded"), key=lambda path: path.stat().st_mtime_ns)
    return [Profile(path.read_text()) for path in paths]


def test_a_new_start_of_the_probe_begins_with_nothing(profiler, start):
    target = standing_by(profiler, start, "heirs", "rest")
    let(target)
    stop(profiler)
    profiler.put_ok({"state": "running"})
    profiler.wait_running("mem_glibc")
    wait_probed(profiler, target)
    assert view(profiler, "inuse").total("before") == 0
    let(target)
    assert view(profiler, "inuse").total("after") == 200


def test_a_session_on_demand_shows_who_is_no_target(profiler, start):
    target = start("churn", 1)
    target.first_line()
    profile = view(profiler, pid=target.pid, seconds=3)
    assert profile.total("level_3", "level_2", "level_1") > 0
    assert profile.pids == {target.pid}
    assert not profile.total("[truncated]")


def test_a_session_on_demand_shows_what_came_in_it_and_stayed(profiler, start):
    profiler.put_ok(profiler.wanting("^nobody$", probes=("mem_glibc",), state="stopped", **EXACT))
    target = start("churn", 1)
    target.first_line()
    held = view(profiler, "inuse", pid=target.pid, seconds=3)
    # Of 64 blocks, of at most 2,000 bytes; it goes on while this is read.
    assert 1000 < held.total("level_1") <= 2 * 64 * 2000, ([(s.value, s.frames) for s in held.stacks],
                                                           profiler.config()["status"])  # fmt: skip


def test_a_session_on_demand_beside_the_probe_takes_nothing_from_it(profiler, start):
    churner = start("churn", 1)
    churner.first_line()
    target = standing_by(profiler, start, "heirs", "rest")
    let(target)
    assert view(profiler, pid=churner.pid, seconds=2).total("level_1") > 0
    truth = let(target)
    Views(profiler, pid=target.pid).assert_exact(truth)


def test_the_settings_come_back_as_they_were_put(profiler, start):
    standing_by(profiler, start, "heirs", "rest")
    assert profiler.settings()["params"]["mem_sample_bytes"] == EXACT["mem_sample_bytes"]
    profiler.put_ok(profiler.settings())
    profile_allocations(profiler, "^heirs$")


GROWS = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static char *grow(char *list, size_t n) { return realloc(list, n); }
int main(void)
{
	char *list = NULL;
	for (size_t n = 1000;; n += 1000) {
		list = grow(list, n);
		list[n - 1] = 1;
		usleep(20000);
	}
}
"""


@pytest.mark.parametrize("age, is_old", [("first", True), ("new", False)], ids=["first", "new"])
def test_a_list_that_grows_is_as_old_as_it_is_told(profiler, work, age, is_old):
    (work / "grows.c").write_text(GROWS)
    subprocess.run(["gcc", "-O1", "-g", "-o", work / "grows", work / "grows.c"], check=True)
    with subprocess.Popen([work / "grows"]) as target:
        try:
            profile_allocations(profiler, pids=[target.pid], mem_realloc_age=age)
            wait_probed(profiler, target)
            wait_for(lambda: view(profiler, "inuse", min_age=0).total("grow", "realloc") > 0, why="a list")
            time.sleep(4)
            old = view(profiler, "inuse", min_age=3).total("grow", "realloc")
            # In the middle of realloc() the list is neither the old block nor the new one.
            wait_for(lambda: view(profiler, "inuse", min_age=0).total("grow", "realloc") >= old, why="all of it")
            assert (old > 0) == is_old, old
        finally:
            target.kill()

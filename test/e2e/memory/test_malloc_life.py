"""mem_glibc and the life of a process: what starts later, forks, execs, gets another name, ends."""
import json
import os
import signal

import pytest

from allocating import (Views, let, let_go, profile_allocations, standing_by, truth_of, view,
                        wait_probed)  # fmt: skip
from helpers import by_name_alone, wait_for
from waiting import answer, ready, stands_by


def test_a_child_that_frees_its_copies_takes_nothing_from_its_parent(profiler, start):
    parent = standing_by(profiler, start, "heirs", "fork")
    let_go(parent)
    child = answer(parent)["child"]
    mine, childs = Views(profiler, pid=parent.pid), Views(profiler, pid=child)
    assert mine.of("before") == (5000, 50, 5000, 50)
    assert childs.of("child_keeps") == (6000, 30, 6000, 30)
    assert childs.of("before") == (0, 0, 0, 0), "it was not the child that allocated"
    assert mine.of("child_keeps") == (0, 0, 0, 0)


def test_what_a_child_had_goes_with_it_and_its_parents_stays(profiler, start):
    parent = standing_by(profiler, start, "heirs", "fork")
    let_go(parent)
    child = answer(parent)["child"]
    assert view(profiler, "inuse", pid=child).total("child_keeps") == 6000
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: view(profiler, "inuse").total("child_keeps") == 0, why="gone")
    assert view(profiler, "inuse", pid=parent.pid).total("before") == 5000
    assert view(profiler).total("child_keeps") == 6000


def test_an_exec_leaves_nothing_of_the_program_before(profiler, start):
    target = standing_by(profiler, start, "heirs", "exec")
    let_go(target)
    truth = truth_of(answer(target))
    views = Views(profiler, pid=target.pid)
    assert views.of("before") == (5000, 50, 0, 0)
    assert views.of("after") == truth["after"]


def test_another_name_changes_nothing(profiler, start):
    target = standing_by(profiler, start, "heirs", "rename", entry="^heirs")
    truth = let(target)
    views = Views(profiler, pid=target.pid)
    views.assert_exact(truth)
    assert f"[{target.pid}]heirs2" in {s.frames[0] for s in views.held_bytes.stacks}


def test_what_ended_holds_nothing(profiler, start):
    target = standing_by(profiler, start, "allocations")
    truth = let(target)
    assert view(profiler, "inuse").total() > 0
    os.kill(target.pid, signal.SIGKILL)
    target.reap()
    wait_for(lambda: view(profiler, "inuse").total() == 0, why="nothing is in use")
    assert view(profiler).total("keep_malloc") == truth["keep_malloc"].bytes


@pytest.mark.parametrize("build", ("allocations", "allocations_bare"))
def test_who_starts_later_is_counted_from_its_first_allocation(profiler, start, build):
    # Another process has the library's points there already.
    other = standing_by(profiler, start, "heirs", "rename", entry="^(heirs|allocations)")
    target = start(build)
    wait_for(lambda: stands_by(target), why="it stands by")
    let_go(target)
    truth = truth_of(answer(target))
    views = Views(profiler, pid=target.pid)
    views.assert_exact(truth)
    assert let(other)["before"].bytes == view(profiler, pid=other.pid).total("before")


def test_who_is_there_before_is_counted_from_then_on(profiler, start):
    target = ready(start, "heirs", "rename")
    let_go(target)
    before = truth_of(answer(target))
    assert before["before"].bytes == 5000
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    views = Views(profiler)
    for profile in views.all():
        assert profile.total("before") == profile.total("after") == 0


def test_freeing_what_was_allocated_before_the_probe_does_no_harm(profiler, start):
    target = start("churn", 2)
    target.first_line()
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    wait_for(lambda: view(profiler).total("level_1") > 1e6, why="it allocates")
    # 2 x 64 blocks of at most 2,000 bytes are in use, no more; it is read at rest.
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stands_by(target), why="it rests")
    assert view(profiler, "inuse").total("level_1") <= 128 * 2000
    os.kill(target.pid, signal.SIGCONT)
    target.popen.send_signal(signal.SIGTERM)
    assert target.finish()["objects"] > 0


def test_many_short_processes_are_all_counted(profiler, start, copy):
    heirs = copy("heirs", "short_heirs")
    standing_by(profiler, start, heirs, "rename", entry=by_name_alone("^short_heirs$"))
    children = []
    for _ in range(20):
        child = start(heirs, "exec")
        wait_for(lambda child=child: stands_by(child), why="it stands by")
        let_go(child)
        wait_for(lambda child=child: stands_by(child) and child.log.read_text(), why="told")
        children.append(child)
        os.kill(child.pid, signal.SIGKILL)
        child.reap()
    # Whose maps could not be read in time has no names, but its bytes.
    profile, objects = view(profiler), view(profiler, value="count")
    for child in children:
        truth = truth_of(json.loads(child.log.read_text().strip().split("\n")[-1]))
        assert profile.total(pid=child.pid) >= 5000 + truth["after"].bytes
        assert 70 <= objects.total(pid=child.pid) <= 75
    assert profile.total("before") > 0

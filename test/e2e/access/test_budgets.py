"""Nobody's names wait for another user's work, and no user's work fills the daemon's memory: attackers
(attackers.py) are profiled beside innocents, whose profile takes its seconds and three more at most."""
import threading

import pytest

from attackers import RESIDENT_MAX_KB, Attackers, Innocent, counted, most_resident_kb
from helpers import program, wait_for

pytestmark = pytest.mark.alone("attackers take all processors, and what an innocent process waits is measured")


@pytest.fixture
def attackers(work):
    made = Attackers(work)
    yield made
    made.remove()


@pytest.fixture
def innocent(work):
    """innocent("one"): a program that nobody has profiled before."""
    made = []

    def run(name):
        made.append(Innocent(work, name))
        return made[-1]

    yield run
    for one in made:
        one.kill()


def end_windows(profiler):
    """A thread that has windows end again and again, for the attackers' names; its end is awaited."""
    over = threading.Event()

    def ask():
        while not over.is_set():
            profiler.get("/flamegraph/oncpu.folded", timeout=100)
            over.wait(0.2)

    thread = threading.Thread(target=ask)
    thread.start()

    def end():
        over.set()
        thread.join()

    return end


def show(profiler, attacks, innocents):
    """Innocents are profiled while windows with the attackers' stacks are named. One was before them: the
    daemon has read the kernel's names."""
    profiler.folded(pid=innocents[0].pid, seconds=1)
    profiler.profile(pids=[attack.pid for attack in attacks], frequency=97)
    wait_for(lambda: profiler.probe()["samples"] > 20)
    end = end_windows(profiler)
    try:
        for one in innocents:
            one.profile(profiler)
    finally:
        end()
    assert most_resident_kb(profiler.pid) < RESIDENT_MAX_KB


def test_a_file_that_is_slow_to_read_costs_nobody_else_a_name(profiler, attackers, innocent):
    attack = attackers.with_slow_debug_file("slowpoke")
    innocents = [innocent("one"), innocent("two"), innocent("three"), innocent("four")]
    show(profiler, [attack], innocents)
    innocent("late").profile(profiler)
    assert set(counted(profiler, "symbols_lost")) <= {"file_slow", "file_late"}


def test_files_that_hang_use_up_no_worker(profiler, attackers, innocent):
    """A worker has 64 threads for those that hang: of one user's eight may."""
    attacks = attackers.in_hanging_folder("hung", 70)
    show(profiler, attacks, [innocent("one"), innocent("two")])
    wait_for(lambda: counted(profiler, "jobs"))
    innocent("late").profile(profiler)


@pytest.mark.parametrize("files", (1, 2), ids=("of_one_file", "of_two_in_turn"))
def test_mappings_with_long_paths_fill_no_memory(profiler, attackers, innocent, files):
    attacks = attackers.with_many_mappings("mapmaker", 4, files)
    show(profiler, attacks, [innocent("one"), innocent("two")])


def test_large_perf_maps_keep_nobody_waiting_and_what_is_left_out_is_counted(profiler, attackers, innocent):
    attacks = attackers.with_large_perf_maps(program("jit"), 6)
    show(profiler, attacks, [innocent("one"), innocent("two")])
    lost = set(counted(profiler, "perf_maps_lost"))
    assert lost and lost <= {"slow", "late"}


def test_names_that_are_dear_to_read_keep_nobody_waiting(profiler, attackers, innocent):
    attack = attackers.with_dear_names("nameless", 900)
    show(profiler, [attack], [innocent("one"), innocent("two")])

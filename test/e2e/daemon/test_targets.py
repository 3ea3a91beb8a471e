"""Who is profiled: matching at the PUT, and then through fork, exec, rename and exit."""
import os
import signal
from pathlib import Path

import pytest

import oracle
from asking import until_sampled
from helpers import HZ, by_name_alone, ours, program, same_time, wait_burned, wait_for

SPUN_NS = 1_000_000_000  # by `spin 1`
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


@pytest.mark.quick
def test_only_the_matching_twins_appear_and_a_second_put_moves_the_choice(profiler, start, copy):
    alphas = [start(copy("spin", "alpha"), 60) for _ in range(2)]
    betas = [start(copy("spin", "beta"), 60) for _ in range(2)]
    profiler.profile("^alpha$", frequency=HZ)
    wait_burned(*(t.pid for t in alphas + betas), seconds=0.3)
    first = profiler.folded()
    assert first.pids == {t.pid for t in alphas}
    assert set(profiler.processes()) == first.pids

    profiler.put_ok({"snoopers": {"proc_name": [ours("^beta$")]}})
    wait_for(lambda: set(profiler.processes()) == {t.pid for t in betas}, why="they are chosen")
    wait_burned(*(t.pid for t in betas), seconds=0.3)
    moved = profiler.folded()
    wait_burned(*(t.pid for t in alphas + betas), seconds=0.3)
    last = profiler.folded()
    for alpha in alphas:
        assert last.total(pid=alpha.pid) == moved.total(pid=alpha.pid)
        assert first.total(pid=alpha.pid) > 0
    for beta in betas:
        assert last.total(pid=beta.pid) > moved.total(pid=beta.pid) > 0


def test_a_process_that_starts_after_the_put_is_profiled_from_its_first_sample(profiler, start, copy, observe):
    profiler.profile(by_name_alone("^first_sample$"), frequency=HZ)
    observer = observe(HZ)
    target = start(copy("short_lived", "first_sample"), 1)
    target.finish()
    beside_ns = observer.ns(target.pid)
    same_time(profiler.folded().total(pid=target.pid), HZ, target.cpu_ns, beside_ns, within=0.04)


def test_a_process_that_runs_at_the_put_is_profiled_from_then_on(profiler, start, observe):
    target = start("spin", 60)
    wait_burned(target.pid, seconds=0.2)
    profiler.profile(pids=[target.pid], frequency=HZ)
    wait_for(lambda: profiler.folded().total(pid=target.pid) > 0, why="samples")
    oracle.stop(target.pid)
    before, before_ns, observer = profiler.folded().total(pid=target.pid), target.cpu_ns_now(), observe(HZ)
    os.kill(target.pid, signal.SIGCONT)
    wait_burned(target.pid, seconds=1.5)
    target.kill()
    profile, beside_ns = profiler.folded(), observer.ns(target.pid)
    sampled = profile.total(pid=target.pid) - before
    same_time(sampled, HZ, target.cpu_ns - before_ns, beside_ns, within=0.06)
    assert profile.total("main", "outer", "middle", "inner_spin") >= 0.97 * profile.total()


def test_the_status_lists_a_process_while_it_lives(profiler, start):
    profiler.profile("^spin$")
    target = start("spin", 60)
    wait_for(lambda: target.pid in profiler.processes(), why="listed")
    assert profiler.processes()[target.pid]["comm"] == "spin"
    target.kill()
    wait_for(lambda: target.pid not in profiler.processes(), why="gone from the list")


def waiting_forker(start, *args):
    """A forker that has not forked yet: os.kill(pid, SIGCONT) lets it go."""
    target = start("forker", "-w", *args)
    wait_for(lambda: oracle.states(target.pid) == {"T"}, why="it has stopped")
    return target


def test_a_child_inherits_from_a_proc_id_until_it_execs(profiler, start, observe):
    target = waiting_forker(start, 1, program("spin"), 1)
    profiler.profile(pids=[target.pid], frequency=HZ)
    observer = observe(HZ)
    os.kill(target.pid, signal.SIGCONT)
    burned = target.finish()
    child = target.first_line()["child"]
    profile = profiler.folded()
    by_child, by_parent = profile.total("be_child", "child_work"), profile.total("main", "parent_work")
    beside_ns = observer.ns(child) - SPUN_NS
    same_time(by_child, HZ, burned["child_cpu_ns"], beside_ns, within=0.05)
    same_time(by_parent, HZ, burned["cpu_ns"], observer.ns(target.pid), within=0.05)
    assert profile.pids == {target.pid, child}
    assert profile.total("inner_spin") == 0


def test_a_process_that_execs_what_does_not_match_is_left_out_from_then_on(profiler, start, copy, observe):
    profiler.profile(by_name_alone("^forks_first$"), frequency=HZ)
    observer = observe(HZ)
    burned = (target := start(copy("forker", "forks_first"), 1, program("spin"), 1)).finish()
    profile = profiler.folded()
    beside_ns = observer.ns(target.first_line()["child"]) - SPUN_NS
    same_time(profile.total("child_work"), HZ, burned["child_cpu_ns"], beside_ns, within=0.05)
    assert profile.total("inner_spin") == 0
    assert profile.pids == {target.pid, target.first_line()["child"]}


def test_a_process_that_execs_what_matches_is_profiled_from_then_on(profiler, start, copy, observe):
    profiler.profile(by_name_alone("^execed$"), frequency=HZ)
    observer = observe(HZ)
    target = start("forker", 0.5, copy("spin", "execed"), 1)
    burned = target.finish()
    profile, child = profiler.folded(), target.first_line()["child"]
    beside_ns = observer.ns(child) - burned["child_cpu_ns"]
    same_time(profile.total("inner_spin"), HZ, SPUN_NS, beside_ns, within=0.05)
    assert profile.pids == {child}
    assert profile.total("child_work") == profile.total("parent_work") == 0


def test_a_process_that_takes_a_matching_name_is_profiled_from_then_on(profiler, start, observe):
    profiler.profile(by_name_alone("^butterfly$"), frequency=HZ)
    observer = observe(HZ)
    burned = (target := start("renamer", 1, 1, "butterfly")).finish()
    profile = profiler.folded()
    beside_ns = observer.ns(target.pid) - burned["before_ns"]
    same_time(profile.total("after_rename"), HZ, burned["after_ns"], beside_ns, within=0.05)
    assert profile.total("before_rename") == 0
    assert profile.names == {"butterfly"}


def test_a_process_that_takes_another_name_is_left_out_from_then_on(profiler, start, copy, observe):
    profiler.profile(by_name_alone("^caterpillar$"), frequency=HZ)
    observer = observe(HZ)
    burned = (target := start(copy("renamer", "caterpillar"), 1, 1, "moth")).finish()
    profile = profiler.folded()
    beside_ns = observer.ns(target.pid) - burned["after_ns"]
    same_time(profile.total("before_rename"), HZ, burned["before_ns"], beside_ns, within=0.05)
    assert profile.total("after_rename") <= 0.02 * profile.total()
    assert profile.names == {"caterpillar"}


def test_a_proc_id_stays_the_process_it_was_whatever_its_name(profiler, start, observe):
    target = start("renamer", 1, 1, "moth")
    wait_burned(target.pid, seconds=0.02)
    oracle.stop(target.pid)  # so that it isn't renamed, or over, before the probe runs
    observer = observe(HZ)
    burned_ns = target.cpu_ns_now()
    profiler.profile(pids=[target.pid], frequency=HZ)
    os.kill(target.pid, signal.SIGCONT)
    told = target.finish()
    beside_ns = observer.ns(target.pid) - (told["before_ns"] - burned_ns)
    same_time(profiler.folded().total("after_rename"), HZ, told["after_ns"], beside_ns, within=0.1)


@pytest.mark.alone("sets the pid of the next process of the machine")
def test_a_new_process_under_an_old_pid_is_another_process(profiler, start):
    if not os.access(LAST_PID, os.W_OK):
        pytest.skip(f"{LAST_PID} can't be written")
    first = start("spin", 60)
    profiler.profile(pids=[first.pid], frequency=HZ)
    wait_burned(first.pid, seconds=0.2)
    first.kill()
    before = profiler.folded()
    assert before.total("inner_spin") > 0
    for _ in range(50):
        LAST_PID.write_text(str(first.pid - 1))
        second = start("thirds", 0.7)
        if second.pid == first.pid:
            break
        second.kill()
    else:
        pytest.skip(f"pid {first.pid} could not be had again")
    second.finish()
    assert profiler.folded().total() == before.total()
    assert profiler.processes() == {}


def named(pids):
    """Waits until the processes have these names: {pid: name}."""
    wait_for(lambda: all(Path(f"/proc/{p}/comm").read_text() == n + "\n" for p, n in pids.items()))


def test_entries_are_a_union_and_the_fields_of_one_must_all_match(profiler, start, copy):
    alpha, beta = copy("spin", "alpha"), copy("spin", "beta")
    both_fields = start(alpha, 60, "renamed-alpha")
    one_field = start(alpha, 61)
    by_argument = start(beta, 62.2519)
    by_id = start(beta, 63)
    neither = start(beta, 64)
    named({both_fields.pid: "renamed-alpha", one_field.pid: "alpha", neither.pid: "beta"})
    profiler.profile(
        {"comm": "alpha$", "cmdline": "renamed-"},
        {"comm": "", "cmdline": "62.2519"},
        {"comm": "^alpha$", "cmdline": "no such argument"},
        pids=[by_id.pid],
    )
    wanted = {both_fields.pid, by_argument.pid, by_id.pid}
    wait_for(lambda: set(profiler.processes()) == wanted, why=lambda: (wanted, profiler.processes()))


@pytest.mark.parametrize(
    "pattern, names",
    [
        ("spin", {"spin", "spinner", "aspin"}),
        ("^spin", {"spin", "spinner"}),
        ("spin$", {"spin", "aspin"}),
        ("^(a|b)?spin(ner)?$", {"spin", "spinner", "aspin"}),
        ("sp[h-j]n{1,2}e", {"spinner"}),
        ("[[:digit:]]", set()),
    ],
)
def test_comm_is_an_extended_expression_searched_in_the_name(
    profiler, start, copy, pattern, names
):
    pids = {start(copy("spin", name), 60).pid: name for name in ("spin", "spinner", "aspin")}
    named(pids)
    profiler.profile(pattern)

    def chosen():
        return {pids[pid] for pid in profiler.processes() if pid in pids}

    wait_for(lambda: chosen() == names, why=lambda: (names, chosen()))


def test_an_entry_counts_only_for_the_probes_it_names(profiler, start, copy):
    wanted, other = start(copy("spin", "alpha"), 60), start(copy("spin", "beta"), 60)
    profiler.profile(
        {"comm": "^alpha$", "probe": ["oncpu"]},
        {"comm": "^beta$", "probe": ["offcpu"]},
        probes=["oncpu", "offcpu"],
    )
    wait_burned(wanted.pid, other.pid, seconds=0.3)
    profile = profiler.folded()
    assert wanted.pid in profile.pids
    assert other.pid not in profile.pids


def test_the_thread_is_a_frame_under_the_process_unless_switched_off(profiler, start):
    profiler.profile("^threads$", thread_frame=1)
    start("threads", 600)
    wait_for(lambda: {s.frames[1] for s in profiler.folded().stacks} >= {"red", "green", "blue"}, why="all threads")

    profiler.put_ok({"params": {"thread_frame": 0}})
    target = start("threads", 600)
    until_sampled(profiler, target, least=50)
    without = profiler.folded(pid=target.pid)
    assert not {"red", "green", "blue"} & without.frames()

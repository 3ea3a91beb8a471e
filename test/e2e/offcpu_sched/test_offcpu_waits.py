"""Off-CPU: waits that go on, that began before the probe did, and that outlast a window."""
import time

import pytest

import oracle
from folded import Profile
from helpers import ours, wait_for
from waiting import (EXACT, Seen, answer, assert_time, go, let_go, offcpu, profile_offcpu,
                     ready)  # fmt: skip

# hang: what a kernel frame of each of its threads has in its name, under the thread's own function.
HANGS = {
    "hang_first": "futex_wait",
    "hang_second": "futex_wait",
    "hang_read": "pipe_read",
    "hang_poll": "sys_poll",
    "hang_sleep": "nanosleep",
    "hang_vfork": "sys_vfork",
    "hang_main": "sys_pause",
}
SLACK_NS = 20e6  # of a loaded machine, on either side of a request


def hung(start, name):
    """A process all of whose threads block, for good."""
    target = start(name)
    wait_for(lambda: len(oracle.threads(target.pid)) == 7, why="its threads")
    wait_for(lambda: oracle.states(target.pid) == {"S", "D"}, why="they block")


    def still():
        before = oracle.process(target.pid)
        time.sleep(0.1)
        return oracle.process(target.pid) == before

    wait_for(still, why="nothing runs any more")
    return target


def may_see_them(profiler):
    """Skips where the kernel can't walk what blocked before the probe began: it counts them."""
    unseen = profiler.probe("offcpu")["unseen_waits"]
    if unseen:
        pytest.skip(f"no sleepable task iterator here: {unseen} unseen_waits")


class Span:
    """How long it is since something was asked for: between its begin and its end."""

    def __init__(self, ask):
        self.before = time.monotonic_ns()
        ask()
        self.after = time.monotonic_ns()


@pytest.mark.parametrize("build", ("", "_bare"))
def test_a_hung_process_shows_at_once_where_its_threads_hang(profiler, start, build):
    target = hung(start, f"hang{build}")
    profile_offcpu(profiler, pids=[target.pid])
    may_see_them(profiler)
    stacks = offcpu(profiler).of(target.pid)
    for function in HANGS:
        assert len([s for s in stacks if function in s.frames]) == 1, function
    assert not any("[truncated]" in s.frames for s in stacks)


def test_the_kernel_says_what_each_thread_of_a_hung_process_waits_for(profiler, start):
    target = hung(start, "hang")
    profile_offcpu(profiler, pids=[target.pid])
    may_see_them(profiler)
    stacks = offcpu(profiler).of(target.pid)
    for function, does in HANGS.items():
        (mine,) = [s for s in stacks if function in s.frames]
        assert any(does in f for f in mine.frames if f.endswith("_[k]")), mine


def test_a_wait_that_goes_on_has_waited_since_the_probe_began(profiler, start):
    target = hung(start, "hang_bare")
    put = Span(lambda: profile_offcpu(profiler, pids=[target.pid]))
    time.sleep(1.2)
    got = []
    get = Span(lambda: got.append(offcpu(profiler)))
    may_see_them(profiler)
    for function in HANGS:
        waited_ns = 1000 * got[0].total(function, pid=target.pid)
        assert get.before - put.after - SLACK_NS <= waited_ns <= get.after - put.before, function


def test_a_thread_blocked_for_a_whole_window_has_waited_all_of_it(profiler, start):
    target = hung(start, "hang")
    asked = []
    get = Span(lambda: asked.append(offcpu(profiler, seconds=2, pid=target.pid)))
    for function in HANGS:
        waited_ns = 1000 * asked[0].total(function, pid=target.pid)
        assert 2e9 - SLACK_NS <= waited_ns <= get.after - get.before, function
    assert profiler.get("/flamegraph").json() == {}


def test_a_wait_that_began_before_the_probe_counts_from_the_probes_begin(profiler, start):
    target = ready(start, "naps_bare", "1s:5")
    begun = time.monotonic_ns()
    let_go(target)
    wait_for(lambda: oracle.states(target.pid) == {"S"}, why="it sleeps")
    time.sleep(0.3)
    put = Span(lambda: profile_offcpu(profiler, pids=[target.pid]))
    truth = answer(target)["nap_1s"]
    told = time.monotonic_ns()
    may_see_them(profiler)
    # One nap follows the other: when each has ended at the earliest, and at the latest.
    early = [begun + sum(truth["each_ns"][: n + 1]) for n in range(5)]
    late = [told - sum(truth["each_ns"][n + 1 :]) for n in range(5)]
    seen = Seen(profiler)
    waits = seen.waits("main", "nap_1s")
    assert waits >= 1
    assert sum(end > put.after for end in early) <= waits <= sum(end > put.before for end in late)
    waited_ns = seen.ns("main", "nap_1s")
    assert early[-1] - put.after - 5 * SLACK_NS <= waited_ns <= told - put.before


@pytest.mark.alone("cuts the waits of three seconds into six windows")
def test_the_parts_of_waits_in_each_window_add_up_to_the_whole(profiler, start):
    target = ready(start, "naps", "1s:3", "10ms:50")
    profile_offcpu(profiler, "^naps$")
    let_go(target)
    for turn in range(5):
        time.sleep(0.55)
        profiler.put_ok({"params": {"thread_frame": turn % 2}})  # closes the window
    truth = answer(target)
    last = offcpu(profiler)
    files = wait_for(lambda: len(found := offcpu_files(profiler)) >= 5 and found, why="files")
    assert any("nap_1s" in f.frames() for f in files)
    profiler.put_ok({"state": "stopped"})
    files = wait_for(lambda: len(found := offcpu_files(profiler)) >= 6 and found, why="the rest")
    assert last.total("nap_10ms") > 0
    for name in ("nap_1s", "nap_10ms"):
        parts = [f.total("main", name) for f in files]
        assert_time(1000 * sum(parts), truth[name], stacks=len(files))
    assert all(part <= 1.3e6 for part in (f.total("main", "nap_1s") for f in files))


def offcpu_files(profiler):
    paths = profiler.files(profiler.flame_dir / "offcpu", "folded")
    return [Profile(path.read_text()) for path in paths]


def test_a_long_wait_is_in_the_graph_once_it_is_older_than_minblock(profiler, start):
    target = ready(start, "naps", "1s:1", "100us:50")
    profile_offcpu(profiler, "^naps$", minblock=400_000)
    let_go(target)
    wait_for(lambda: oracle.states(target.pid) == {"S"}, every=0.001, why="it sleeps")
    asleep = time.monotonic()
    early = offcpu(profiler).total("nap_1s")
    if time.monotonic() - asleep < 0.39:
        assert early == 0
    time.sleep(max(0, asleep + 0.5 - time.monotonic()))
    assert offcpu(profiler).total("nap_1s") >= 0.4e6
    truth = answer(target)
    seen = Seen(profiler)
    seen.assert_holds(truth["nap_1s"], "main", "nap_1s")
    assert seen.waits("nap_100us") == 0


def test_probe_and_target_may_come_and_go_and_no_wait_is_counted_twice(profiler, start):
    target = ready(start, "naps_bare", "100ms:30")
    profile_offcpu(profiler, "^naps")
    let_go(target)
    off_ns = 0
    for _ in range(3):
        time.sleep(0.15)
        before_ns = time.monotonic_ns()
        profiler.put_ok({"cmd": {"probe": ["oncpu"]}})
        profiler.put_ok({"cmd": {"probe": ["oncpu", "offcpu"]}})
        off_ns += time.monotonic_ns() - before_ns
    truth = answer(target)["nap_100ms"]
    profiler.put_ok({"state": "stopped"})
    files = wait_for(lambda: offcpu_files(profiler), why="its files")
    waited_ns = 1000 * sum(f.total("nap_100ms") for f in files)
    # Off for some ms three times: less is right, more is not.
    assert 0.7 * truth["sum_ns"] - off_ns <= waited_ns <= truth["sum_ns"] + 1000 * len(files)


def test_a_target_added_while_it_waits_is_there_at_once(profiler, start):
    other = ready(start, "naps", "100ms:3")
    profile_offcpu(profiler, "^naps$")
    target = hung(start, "hang")
    profiler.put_ok({"snoopers": {"proc_id": [target.pid], "proc_name": [ours("^naps$")]}})
    wait_for(lambda: set(HANGS) <= offcpu(profiler).frames(target.pid), why="hang")
    truth = go(other)
    Seen(profiler).assert_holds(truth["nap_100ms"], "main", "nap_100ms")


def test_the_default_minblock_is_fifty_microseconds_and_default_states_are_shown(profiler, start):
    target = ready(start, "naps", "100us:100")
    profiler.put_ok(profiler.wanting("^naps$", probes=("offcpu",), max_overhead=0))
    params = profiler.settings()["params"]
    assert params["minblock"] == 50
    assert params["maxblock"] == 3_600_000_000
    assert params["offcpu_state"] == "sd"
    assert params["offcpu_split"] == 0
    assert EXACT["minblock"] == 0
    profiler.wait_running("offcpu")
    truth = go(target)
    Seen(profiler).assert_holds(truth["nap_100us"], "main", "nap_100us")

"""Stacks through functions that somebody has probes on: a probed return takes its function's return
address off the stack, and an instruction that the kernel steps over is executed elsewhere."""
import contextlib
import re
import subprocess
from pathlib import Path

import pytest

from allocating import untrapped
from helpers import BPF_PROGRAMS, program, wait_for
from waiting import go, let_go, profile_offcpu, ready
from whole import WHOLE, assert_chain, assert_whole, chain, profile_still, share

PAGE = re.compile(r"\[(uprobes|jit|unknown)")


@pytest.fixture
def probe():
    """probe("chain", "f000", "=tick"): somebody else's probes at returns and calls of functions."""
    with contextlib.ExitStack() as stack:

        def attach(name, *functions):
            argv = [BPF_PROGRAMS / "returns", program(name), *functions]
            popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.callback(popen.wait)
            stack.callback(popen.stdin.close)
            if popen.stdout.readline() != b"ready\n":
                pytest.skip("uprobes can't be attached here")

        yield attach


def has_page(target):
    """Whether the kernel has put its page for probes into it."""
    return "[uprobes]" in Path(f"/proc/{target.pid}/maps").read_text()


def assert_no_page(profile):
    """Nothing but samples in the few instructions of the kernel where nobody has the return address."""
    strange = [s for s in profile.stacks if any(PAGE.match(frame) for frame in s.frames)]
    assert sum(s.value for s in strange) <= (1 - WHOLE) * profile.total(), strange


def run_chain(profiler, start, depth, *args):
    target = start("chain", depth, 2, *args)
    profile_still(profiler, target, thread_frame=0)
    assert has_page(target)
    target.finish()
    profile = profiler.folded(pid=target.pid)
    assert_no_page(profile)
    assert_chain(profile, depth)
    assert_whole(profiler, untrapped(profile), *chain(depth))
    return profile


@pytest.mark.parametrize("functions", [["f009"], ["main", "f000", "f001", "f002", "f017", "bottom"]])
def test_a_chain_with_probed_returns_is_whole(profiler, start, probe, functions):
    probe("chain", *functions)
    run_chain(profiler, start, 30)


def test_as_many_returns_as_the_kernel_awaits_are_gone_through(profiler, start, probe):
    probe("chain", *(f"f{n:03}" for n in range(60)))
    run_chain(profiler, start, 100)


@pytest.mark.parametrize("at", ["tick", "=tick"])
def test_a_function_that_is_probed_all_the_time_has_its_callers(profiler, start, probe, at):
    probe("chain", "f003", at)
    profile = run_chain(profiler, start, 20, "ticks")
    assert share(profile, "bottom", "tick") > 0


def test_waits_in_probed_functions_are_whole(profiler, start, probe):
    probe("naps_bare", "dig", "nap_2ms")
    target = ready(start, "naps_bare", "-d", 20, "2ms:500")
    profile_offcpu(profiler, pids=[target.pid], thread_frame=0)
    go(target)
    assert has_page(target)
    profile = profiler.folded("offcpu", pid=target.pid)
    assert_no_page(profile)
    naps = [s for s in profile.stacks if s.has("main", *["dig"] * 20, "nap_2ms")]
    assert sum(s.value for s in naps if not s.has("[truncated]")) >= 0.98 * profile.total()


def test_a_wait_that_began_before_is_whole(profiler, start, probe):
    probe("naps_bare", "dig", "nap_1s")
    target = ready(start, "naps_bare", "-d", 20, "1s:600")
    let_go(target)
    wait_for(lambda: has_page(target))

    def seen():
        return [s for s in profiler.folded("offcpu", pid=target.pid).stacks if s.has("nap_1s")]

    for _ in range(5):
        profile_offcpu(profiler, pids=[target.pid], thread_frame=0)
        stacks = wait_for(seen, why="it is seen")
        cut = {cause for cause, n in profiler.probe("offcpu")["truncated"].items() if n}
        # Its tables may not have been there in time. They are with the next begin.
        if cut != {"table_pending"}:
            break
        profiler.put_ok({"state": "stopped"})
        wait_for(lambda: profiler.probe("offcpu")["state"] == "stopped")
    for stack in stacks:
        assert stack.has("main", *["dig"] * 20, "nap_1s"), stack.frames
        assert not stack.has("[truncated]"), stack.frames

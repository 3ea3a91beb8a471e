"""The kernel's frames of a wait, which are not walked where they can't have changed."""
import re

CALLS = {"sleeps": "nanosleep", "polls": "ppoll", "parks": "futex", "selects": "pselect6"}
ENTRY = re.compile(r"__\w+_sys_(\w+)_\[k\]")


def entries(stack):
    """The system calls that a stack's frames name."""
    return [match[1] for match in map(ENTRY.fullmatch, stack.frames) if match]


def test_each_way_to_wait_has_its_own_kernel_frames(profiler, start):
    profiler.profile("^fourways$", probes=("offcpu",), minblock=0, max_overhead=0)
    start("fourways", 3).finish()
    profile = profiler.folded("offcpu")
    for function, call in CALLS.items():
        stacks = [s for s in profile.stacks if s.has("main", function)]
        assert {tuple(entries(s)) for s in stacks} == {(call,)}
        us = sum(s.value for s in stacks)
        assert us >= 300000, f"{us} us in {function}"  # of 3 s, in four ways

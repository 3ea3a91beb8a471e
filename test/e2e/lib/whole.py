"""What tests of whole stacks share: which part of a profile is whole, and the known chain."""
import os
import signal

import oracle
from helpers import wait_for

HZ = 997  # (helpers.py tells why)
ENOUGH = 300  # samples
WHOLE = 0.995


def is_kernel(frame):
    return frame.endswith("_[k]")


def user_frames(stack):
    """Root first, without the process and the kernel's half."""
    return tuple(frame for frame in stack.frames[1:] if not is_kernel(frame))


def whole(profile, pid=None):
    """The part that reaches its root."""
    total = profile.total(pid=pid)
    assert total >= ENOUGH, f"only {total} samples"
    return 1 - profile.total("[truncated]", pid=pid) / total


def share(profile, *frames):
    """The part of the weight with exactly this on it: these frames one after the other, whole."""
    hit = sum(s.value for s in profile.stacks if s.has(*frames) and not s.has("[truncated]"))
    return hit / profile.total()


def profile_still(profiler, *targets, **params):
    """Begins to profile some that burn already. They stand still meanwhile: that may take as long as they run."""
    pids = [target.pid for target in targets]
    wait_for(lambda: min(target.cpu_ns_now() for target in targets) > 5e7, why="they burn")
    oracle.stop(*pids)
    profiler.profile(pids=pids, frequency=HZ, **params)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def run(profiler, start, name, *args):
    """The profile of a test program that runs already, until its end: its tables are there before the
    first sample. (What comes late is test_unwind_tables.py's.)"""
    target = start(name, *args)
    profile_still(profiler, target, thread_frame=0)
    target.finish()
    return profiler.folded(pid=target.pid)


def assert_whole(profiler, profile, *frames):
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    if frames:
        assert share(profile, *frames) >= 0.98, [
            (s.value, s.frames) for s in profile.stacks if not s.has(*frames)
        ]
        rooted = sum(s.value for s in profile.stacks if s.has(*frames) and s.frames[1] == "_start")
        assert rooted >= 0.98 * profile.total(), "they begin in _start"


def truncated(profiler):
    """Weight by cause, of those that there are."""
    return {cause: n for cause, n in profiler.probe()["truncated"].items() if n}


def cut(profile):
    """The stacks that are not whole, heaviest last: for the message of an assertion."""
    return sorted((s.value, s.frames) for s in profile.stacks if s.has("[truncated]"))[-5:]


# A chain of known depth: `chain DEPTH`


def chain(depth):
    """The frames of `chain DEPTH` below main."""
    return ("main", *(f"f{n:03}" for n in range(depth - 1)), "bottom")


def in_order(stack, depth):
    """Whether the frames of the chain that are there follow each other, and end where it ends."""
    known = chain(depth)
    mine = [f for f in user_frames(stack) if f in set(known)]
    if not mine:
        return True
    first = known.index(mine[0])
    return tuple(mine) == known[first : first + len(mine)]


def assert_chain(profile, depth, at_bottom=False):
    """No stack, whole or not, has frames that were not there. `at_bottom`: the target was there before
    the first sample, and still is."""
    wrong = [s for s in profile.stacks if not in_order(s, depth)]
    assert not wrong, [(s.value, s.frames) for s in wrong[:3]]
    for stack in profile.stacks:
        if (at_bottom or stack.has("bottom")) and not stack.has("[truncated]"):
            assert stack.has(*chain(depth)), stack.frames

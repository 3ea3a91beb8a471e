"""What Java waits for: off-CPU names the method, from the thread's root on."""
import struct
import time
from pathlib import Path

import pytest

from helpers import wait_for
from java_truth import java_frames, rooted
from javas import need_classes
from waiting import offcpu, profile_offcpu

RIGHT = 0.95  # of the time blocked
SECONDS = 4
# The leaf-most frames of Java, root first, below the thread's turn; one of these. (Which of the
# library's methods there are differs from release to release.)
LEAVES = {
    "Sleeping": {"java.lang.Thread.sleep"},
    "Parking": {"java.util.concurrent.locks.LockSupport.parkNanos"},
    "Waiting": {"java.lang.Object.wait"},
    "Entering": {"truth.Waits$Entering.turn", "java.lang.Thread.sleep"},
    "Locking": {"java.util.concurrent.locks.ReentrantLock.lock", "java.lang.Thread.sleep"},
    "Taking": {"java.util.concurrent.ArrayBlockingQueue.take"},
    "Putting": {"java.lang.Thread.sleep", "java.util.concurrent.ArrayBlockingQueue.put"},
    "Reading": {"java.net.SocketInputStream.read", "java.net.Socket$SocketInputStream.read"},
    "Writing": {"java.lang.Thread.sleep"},
    "Holding": {"java.lang.Thread.sleep"},
    "Deep": {"java.util.concurrent.locks.LockSupport.parkNanos"},
}  # fmt: skip
LIBRARY = ("java.", "jdk.", "sun.")


def armed(profiler, pid):
    """Off-CPU from when all tables of the process are there: a VM's own is a large one, and a wait
    is walked once."""
    profiler.profile(pids=[pid], thread_frame=1)
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, 60, why="unwind tables")
    time.sleep(0.5)
    profile_offcpu(profiler, probes=("oncpu", "offcpu"), pids=[pid], thread_frame=1)


@pytest.fixture
def waits(java, start, work):
    """truth.Waits, whose threads wait; and a function that tells ns by thread."""
    need_classes()
    target = start(Path(java.path), *java.argv("Waits", work / "waits")[1:])
    names = wait_for(lambda: "waiters" in target.log.read_text() and target.first_line(), 60)["waiters"]

    def clocks():
        data = (work / "waits.clocks").read_bytes()
        return dict(zip(names, struct.unpack_from(f"{len(names)}q", data)))

    target.clocks = clocks
    return target


def right(name, stack):
    frames = java_frames(stack)
    if not rooted(stack, frames):
        return False
    names = [frame.name for frame in frames]
    turn = f"truth.Waits${name}.turn"
    if turn not in names or not LEAVES[name] & set(names):
        return False
    below = names[names.index(turn) + 1 :]
    if name == "Deep":
        assert below[:21] == ["truth.Waits$Deep.down"] * 21, below
        below = below[21:]
    return all(frame.startswith(LIBRARY) for frame in below)


@pytest.mark.alone("the threads' own clocks have the time in them that others take the CPU")
@pytest.mark.quick
def test_waits_name_the_method_that_waits(profiler, waits):
    armed(profiler, waits.pid)
    before = waits.clocks()
    time.sleep(SECONDS)
    profile, after = offcpu(profiler, pid=waits.pid), waits.clocks()
    for name in LEAVES:
        mine = [s for s in profile.stacks if s.frames[1] == name]
        blocked = sum(s.value for s in mine)
        wrong = [s for s in mine if not right(name, s)]
        told = sum(s.value for s in wrong) / max(blocked, 1)
        print(f"java_offcpu: {name} {1 - told:.2%} of {blocked / 1e6:.2f} s")
        # Nearly all that the thread does is wait, by its own clock; one wait goes on at either end.
        assert blocked >= RIGHT * (after[name] - before[name]) / 1000 - 100_000, name
        assert told <= 1 - RIGHT, (name, sorted((s.value, s.frames) for s in wrong)[-3:])


def test_threads_that_wait_since_before_the_probe_are_named_too(profiler, waits):
    """main sleeps for a day, since it told that all wait."""
    armed(profiler, waits.pid)
    if profiler.probe("offcpu")["unseen_waits"]:
        pytest.skip("no sleepable task iterator here")

    def seen():
        stacks = [s for s in offcpu(profiler, pid=waits.pid).stacks
                  if [f.name for f in java_frames(s)][:1] == ["truth.Waits.main"]]  # fmt: skip
        return [s for s in stacks if s.value > 1e6]

    for stack in wait_for(seen, 20, every=0.5, why="main is seen"):
        assert "java.lang.Thread.sleep" in [f.name for f in java_frames(stack)], stack


def test_waits_are_walked_again_once_all_is_known(profiler, waits):
    """Those that began while the VM's table was on its way, or before. main's goes on for a day."""
    profile_offcpu(profiler, pids=[waits.pid], thread_frame=1)

    def sums():
        """What there is by now: of all stacks, of those that are cut, of main's."""
        stacks = offcpu(profiler, pid=waits.pid).stacks
        mains = [s for s in stacks if [f.name for f in java_frames(s)][:1] == ["truth.Waits.main"]]
        cut = [s for s in stacks if s.has("[truncated]")]
        return [sum(s.value for s in some) for some in (stacks, cut, mains)]

    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, 60, why="unwind tables")
    if profiler.probe("offcpu")["unseen_waits"]:
        pytest.skip("no sleepable task iterator here")
    wait_for(lambda: sums()[2], 30, every=0.5, why="main is seen")
    seen = []

    def all_known():
        """In these seconds. On a busy host the tables may come later than nothing was pending yet."""
        before = sums()
        time.sleep(SECONDS)
        more = [after - known for after, known in zip(sums(), before)]
        seen.append(more)
        return more[0] and more[1] <= (1 - RIGHT) * more[0] and more[2] >= RIGHT * SECONDS * 1e6

    wait_for(all_known, 20, why=lambda: seen)

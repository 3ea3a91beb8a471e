"""Recordings of the VM's own: the agent's stacks against what the programs wrote down."""
import struct
import time
from pathlib import Path

import pytest

from helpers import wait_for
from java_jfr import JAR, Jfr
from java_truth import Truth, java_frames, merged
from java_vm import Vm
from javas import Leaves, javas, need_classes

RIGHT = 0.95
SECONDS = 8
HERE = javas()
each_java = pytest.mark.parametrize("java", HERE, ids=[java.name for java in HERE])
# One of these stands in each stack. (JDK 25 leaves Thread.sleep itself out of what it tells of a sleep.)
WAITS = {
    "Sleeping": {"java.lang.Thread.sleep", "truth.Waits$Sleeping.turn"},
    "Parking": {"java.util.concurrent.locks.LockSupport.parkNanos"},
    "Waiting": {"java.lang.Object.wait"},
    "Locking": {"java.util.concurrent.locks.ReentrantLock.lock", "truth.Waits$Locking.turn"},
    "Taking": {"java.util.concurrent.ArrayBlockingQueue.take"},
    "Deep": {"truth.Waits$Deep.down"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def jar():
    if not JAR.exists() or not JAR.stat().st_size:
        pytest.skip("built without a JDK")


@each_java
def test_stacks_are_those_that_the_program_told(java, work):
    program = Leaves(java, work)
    try:
        told = program.ready()
        jfr = Jfr(program.pid)
        state = jfr.start()
        assert state[:2] == ["started", "1"], state
        time.sleep(SECONDS)
        told = program.written()
        head, stacks, _ = jfr.dump(2)["oncpu"]
        assert jfr.stop() is None and not jfr.folder.exists()
    finally:
        program.kill()
    truth = Truth(told)
    found = truth.judged(stacks)
    whole = merged(found[name] for name in truth.leaves)
    print(f"java_jfr: {java.name} {state[2]} {whole.text(3)}\n{head}")
    assert whole.total >= 10**9  # a second
    assert whole.share("right") >= RIGHT, whole.text(4)


@each_java
def test_waits_weigh_what_they_lasted(java, start, work):
    need_classes()
    target = start(Path(java.path), *java.argv("Waits", work / "waits")[1:])
    names = wait_for(lambda: "waiters" in target.log.read_text() and target.first_line(), 60)["waiters"]

    def clocks():
        data = (work / "waits.clocks").read_bytes()
        return time.monotonic(), dict(zip(names, struct.unpack_from(f"{len(names)}q", data)))

    jfr = Jfr(target.pid)
    assert jfr.start()[0] == "started"
    jfr.dump(2)
    began, before = clocks()
    time.sleep(4)
    head, stacks, events = jfr.dump(3)["offcpu"]
    ended, after = clocks()
    # The clocks are read somewhat before and after.
    share = (head.end_us - head.begin_us) / 1e6 / (ended - began)
    assert head.end_us - head.begin_us >= 4_000_000
    for name, methods in WAITS.items():
        mine = [s for s in stacks if s.frames[1] == name]
        blocked = sum(s.value for s in mine)
        right = sum(s.value for s in mine if methods & {frame.name for frame in java_frames(s)})
        spent = (after[name] - before[name]) * share
        print(f"java_jfr: {java.name} {name} {blocked / spent:.2%} of {spent / 1e9:.2f} s, {events[name]} waits")
        assert abs(blocked - spent) <= 0.05 * spent, name
        assert right >= RIGHT * blocked, (name, mine)
    jfr.stop()


def threads(pid):
    return [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm")]


@each_java
def test_nothing_stays_behind_and_it_begins_again(java, work):
    one = Vm(java, work)
    try:
        for _ in range(2):
            jfr = Jfr(one.pid)
            assert jfr.start()[0] == "started"
            assert jfr.dump(2)["oncpu"][0].sequence == 2
            names = {path.name for path in jfr.folder.iterdir()}
            assert names == {"jfr-state.txt", "stacks-oncpu.txt", "stacks-offcpu.txt", "stacks-mem.txt"}
            assert {path.stat().st_mode & 0o777 for path in jfr.folder.iterdir()} == {0o600}
            jfr.stop()
            wait_for(lambda: "stackprobe-jfr\n" not in threads(one.pid), 5)
            assert one.left() == []
            # The VM's own folder for recordings is empty; where it tells its name (JDK 14) it goes as well.
            kept = [path for path in one.tmp.glob(f"2*_{one.inner}") if java.release >= 14 or any(path.iterdir())]
            assert kept == []
        assert one.alive()
    finally:
        one.kill()


@each_java
def test_it_stops_by_itself_when_nobody_asks(java, work):
    one = Vm(java, work)
    try:
        jfr = Jfr(one.pid, idle_s=2)
        assert jfr.start()[0] == "started"
        wait_for(lambda: not jfr.folder.exists(), 20)
        jfr.folder.mkdir(mode=0o700)
        assert jfr.say("dump", 2)[0] == "failed"
        assert jfr.stop() is None
    finally:
        one.kill()

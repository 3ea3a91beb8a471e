"""Recordings of the VM's own: the agent's stacks against what the programs wrote down."""
import json
import struct
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, wait_burned, wait_for
from java_jfr import JAR, STATE, Jfr, read
from java_truth import Truth, java_frames, merged
from java_vm import Vm
from javas import Leaves, javas, need_classes

RIGHT = 0.95
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
        wait_burned(program.pid, seconds=4)
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


@pytest.mark.alone("where others want the CPU, too, sleeps take longer, and one of them is a part of a window's time")
@each_java
def test_windows_end_when_it_is_told(java, start, work):
    """And waits count from when it is told."""
    need_classes()
    target = start(Path(java.path), *java.argv("Waits", work / "waits")[1:])
    wait_for(lambda: "waiters" in target.log.read_text(), 60)
    jfr = Jfr(target.pid)
    assert jfr.start()[0] == "started"
    ends = [time.time_ns() // 1000]
    windows = [jfr.dump(2, 0, ends[0])["offcpu"]]
    second = 10**6
    for sequence, ago, later in ((3, second, 0), (4, 0, 0), (5, 0, second)):
        time.sleep(3)
        since = ends[-1] + later
        ends.append(time.time_ns() // 1000 - ago)
        windows.append(jfr.dump(sequence, since, ends[-1])["offcpu"])
    jfr.stop()
    assert [head.end_us for head, _, _ in windows] == ends
    assert [head.begin_us for head, _, _ in windows[1:]] == ends[:-1]
    for (_, stacks, _), begin, end in zip(windows[1:], (*ends[:2], ends[2] + second), ends[1:]):
        slept = sum(s.value for s in stacks if s.frames[1] == "Sleeping") / 1000
        print(f"java_jfr: {java.name} {slept / (end - begin):.2%} of {end - begin} us")
        assert abs(slept - (end - begin)) <= 0.05 * (end - begin)


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
            # (Threads of the VM's own that ours began have its name in /proc.) It has answered before it ends.
            wait_for(lambda: '"stackprobe-jfr"' not in jfr.ask("threaddump"))
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


@each_java
def test_the_daemons_own_way_of_asking(java, work):
    """Its attaching (java/attach/attach_jfr.c), here by test/java/attach."""
    one = Vm(java, work)
    asking = subprocess.Popen([BIN.parent / "test/java/attach", str(one.pid), "20000", "0"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip

    def say(command):
        asking.stdin.write(command + "\n")
        asking.stdin.flush()
        answer = json.loads(asking.stdout.readline())
        assert json.loads(asking.stdout.readline()) == {}
        return answer

    try:
        answer = say("jfr-start")
        assert (answer["result"], answer["error"]) == ("done", 0), answer
        assert answer["text"] == ("cputime" if java.release >= 25 else "execution")
        time.sleep(2)
        assert say("jfr-dump")["result"] == "done"
        names = {path.name for path in one.data.iterdir()}
        assert names == {STATE, "stacks-oncpu.txt", "stacks-offcpu.txt", "stacks-mem.txt"}
        head, stacks, _ = read(one.data / "stacks-offcpu.txt")
        assert head.sequence == 2
        assert any("truth.Attached.main" in text for s in stacks for text in s.frames)
        assert say("jfr-stop")["result"] == "done"
        assert one.left() == [] and one.alive()
        assert "Exception" not in one.log.read_text()
    finally:
        asking.stdin.close()
        asking.wait()
        one.kill()


@pytest.mark.skipif(not HERE, reason="no Java")
def test_a_vm_whose_jfr_is_off_says_so(work):
    one = Vm(HERE[-1], work, "--limit-modules=java.base,java.instrument,java.management,jdk.attach")
    try:
        state = Jfr(one.pid).say("start", "oncpu,10,60", 1)
        assert state[0] == "absent", state
    finally:
        one.kill()

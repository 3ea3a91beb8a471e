"""Java VMs whose tables can't be read (java_unreadable.py): the kernel walks them as far as frame pointers
lead, and their frames have the names that the agent in the VM tells, or none."""
import subprocess
import time
from pathlib import Path

import pytest

from folded import Profile
from helpers import HZ, missing_privilege, wait_for
from java_session import Session
from java_truth import FRAME, Judged, Leaf, Told, Truth, java_frames
from java_unreadable import MISSING, unreadable
from java_vm import Vm
from javas import WAITS, Leaves, javas
from test_java_agent import go_when_told, wait_attached

BEGINNING = 10  # seconds, in which most is compiled
SETTLED = 5  # seconds in which no code took another's place
SETTLES = 60
SAMPLED = 2  # seconds: a short window has fewer codes in one place
LONGEST = 60
ENOUGH = 1500  # samples in compiled code
RIGHT = 0.95
NAMELESS = "[jit]_[j]"
INTERPRETER = "Interpreter_[j]"  # one of its frames: nobody tells which method


def is_made(frame):
    """A frame of code that the VM made."""
    return frame.endswith(("_[j]", "_[i]"))


def in_compiled_code(stack):
    """The leaf-most code that the VM made is a method's, or nobody knows what it is."""
    made = [frame for frame in stack.frames if is_made(frame)]
    return bool(made) and (made[-1] == NAMELESS or "." in made[-1].split(" ")[0])


class Part(Told):
    """A stack from one of its frames on: what is above that is interpreted, and the walk ends there."""

    def __init__(self, told, at):
        self.frames, self.hidden = told.frames[at:], told.hidden


def parts(leaf, frames):
    """The leaf as it were if its stacks began there."""
    stacks = [Part(told, at) for told in leaf.stacks for at, frame in enumerate(told.frames)
              if frames and frame[0] == frames[0].name]  # fmt: skip
    part = Leaf.__new__(Leaf)
    part.__dict__.update(leaf.__dict__, stacks=stacks)
    return part


def judged(truth, stacks):
    """Of what is a leaf's, or has no name."""
    found = Judged()
    for stack in filter(truth.of_java, filter(in_compiled_code, stacks)):
        frames = java_frames(stack)
        leaf = truth.leaves.get(truth.leaf_of(frames))
        if NAMELESS in stack.frames:
            found.add(stack, "nameless", str(stack.frames[-8:]), frames, True)
        elif leaf:
            found.add(stack, *parts(leaf, frames).judge(frames), frames, True)
    return found


class Unreadable(Session):
    """A daemon, and what it said of programs below VMs that it can't read."""

    def measure(self, java, source):
        program = Leaves(unreadable(java, self.work / java.version), self.work, "pointers", flags=[WAITS])
        try:
            return self.sampled_from(program, source)
        finally:
            program.kill()
            self.daemon.put_ok({"state": "stopped"})

    def sampled_from(self, program, source):
        wait_for(lambda: "libjvm" in Path(f"/proc/{program.pid}/maps").read_text(), why="a VM")
        self.daemon.profile(pids=[program.pid], frequency=HZ, max_overhead=0, thread_frame=1, java_source=source)
        if source == "agent":
            go_when_told(self.daemon, program)
        else:
            program.go()
            program.ready()
        time.sleep(BEGINNING)
        before = self.settled()
        found, stacks, end = Judged(), [], time.monotonic() + LONGEST
        while found.total < ENOUGH and time.monotonic() < end:
            path = f"/flamegraph/oncpu.folded?seconds={SAMPLED}&pid={program.pid}"
            stacks += Profile(self.daemon.get(path, timeout=SAMPLED + 30).text).stacks
            found = judged(Truth(program.written()), stacks)
        untold = self.untold() - before
        return found, stacks, untold, self.daemon.processes()[program.pid]

    def untold(self):
        return self.daemon.config()["status"]["java"]["untold"]

    def settled(self):
        """Code has the place of code that went in the same window for as long as the VM compiles: nobody
        knows which of both a stack had. What was untold until that is over."""
        end = time.monotonic() + SETTLES
        while time.monotonic() < end:
            self.daemon.folded()  # what is sampled from here on is of another window
            before = self.untold()
            time.sleep(SETTLED)
            self.daemon.folded()
            if self.untold() == before:
                break
        return self.untold()


@pytest.fixture(scope="module")
def session():
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)
    begun = Unreadable()
    yield begun
    begun.done()


HERE = javas()
each_java = pytest.mark.parametrize("java", HERE, ids=[java.name for java in HERE])


@each_java
def test_compiled_code_has_the_names_that_the_agent_tells(session, java):
    found, _, untold, process = session.of(java, "agent")
    print(f"java_told: {java.name} {found.text(3)}; untold {untold}")
    assert MISSING in process["runtime"] and process["java_agent"] == "attached"
    assert found.total >= ENOUGH
    assert found.share("right") >= RIGHT, found.text(4)
    # A sample is one of a number that is drawn: three standard errors.
    assert found.share("wrong", "line") <= 0.01 + 3 * (0.01 / found.total) ** 0.5, found.text(4)


@each_java
def test_interpreted_methods_have_none(session, java):
    _, stacks, _, _ = session.of(java, "agent")
    frames = {frame for stack in stacks for frame in stack.frames}
    assert INTERPRETER in frames
    assert not any(frame.endswith("_[0]") for frame in frames)


@each_java
def test_without_the_agent_nothing_has_a_name(session, java):
    found, stacks, untold, process = session.of(java, "native")
    assert process["java_agent"] == "none"
    assert found.total >= ENOUGH and found.share("nameless") == 1, found.text(3)
    assert not any(FRAME.fullmatch(frame) and frame != NAMELESS for stack in stacks for frame in stack.frames)
    assert untold == 0


def test_such_a_vm_has_the_agent_by_itself(vms, profiler, java, work):
    """Without JFR's condition."""
    one = Vm(unreadable(java, work / "home"), work)
    vms.append(one)
    profiler.profile(pids=[one.pid], frequency=HZ, max_overhead=0)
    wait_attached(profiler, one)
    process = profiler.processes()[one.pid]
    assert process["java_source"] == "agent" and process["java_reason"]
    profiler.put_ok({"params": {"java_source": "native"}})
    wait_for(lambda: one.left() == [], why="it is left")
    wait_for(lambda: profiler.processes()[one.pid]["java_source"] == "native", why="it is told")
    one.kill()


def test_a_clock_of_its_own_tells_nothing(vms, profiler, java, work):
    """In a time namespace: what the agent tells is of other times."""
    shifted = ("unshare", "--time", "--monotonic", "-100", "--fork")
    if subprocess.run([*shifted, "true"]).returncode:
        pytest.skip("no time namespaces here")
    one = Vm(unreadable(java, work / "home"), work, "-XX:+PreserveFramePointer", before=shifted)
    vms.append(one)
    profiler.profile(pids=[one.pid], frequency=HZ, max_overhead=0, java_source="agent")
    wait_attached(profiler, one)

    def is_untold():
        profile = profiler.folded(pid=one.pid)  # a window ends
        assert not any("truth.Attached" in frame for frame in profile.frames())
        return profiler.config()["status"]["java"]["untold"] > 50

    wait_for(is_untold, 30, every=0.5)
    one.kill()


@each_java
def test_what_is_not_told_is_counted(session, java):
    found, _, untold, _ = session.of(java, "agent")
    assert found.verdicts["nameless"] <= untold <= 0.02 * found.total

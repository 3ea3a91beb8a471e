"""Java's frames between native ones: what native_stack and frame_detail show, the VM's own threads, how
each output has them, and what GET tells of them."""
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from beside import own_folder
from helpers import BIN, Target, wait_for
from javas import CLASSES, SOURCES, javas, need_names
from outputs import assert_outputs_agree, tree_as_folded
from waiting import stands_by

HZ = 997
ENOUGH = 400  # samples
RIGHT = 0.99
PROGRAM = SOURCES / "shown/Shown.java"
FRAME = re.compile(r"(?P<name>[^ (]+)(?P<types>\([^ ()]*(?:, [^ ()]+)*\))?(?: \((?P<file>[^():]+)(?::(?P<line>\d+))?\))?"
                   r"_\[(?P<kind>[j0i])\]")  # fmt: skip
OWN = re.compile(r"Java(Calls|Thread)::|Thread::call_run|thread_native_entry|Reflection::invoke|JVM_InvokeMethod"
                 r"|StubRoutines")  # fmt: skip
# Reflection by way of the VM: what calls is native code, and so is what it calls. `work` has a frame of
# its own at each instruction.
FLAGS = ["-Dsun.reflect.inflationThreshold=2147483647", "-Djdk.reflect.useNativeAccessorOnly=true",
         "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,shown.Shown::work"]  # fmt: skip
WORK = "shown.Shown.work"


class Shown(NamedTuple):
    """A Java frame as folded text has it."""

    name: str
    types: str
    file: str
    line: int
    kind: str


def shown(text):
    """None: it is no Java method's."""
    found = FRAME.fullmatch(text)
    if not found or "." not in found["name"]:
        return None
    line = int(found["line"]) if found["line"] else None
    return Shown(found["name"], found["types"], found["file"], line, found["kind"])


def each():
    """The oldest and the newest."""
    chosen = {java.path: java for java in [*javas()[:1], *javas()[-1:]]}
    return [pytest.param(java, id=java.name) for java in chosen.values()] or [
        pytest.param(None, id="none", marks=pytest.mark.skip("no Java"))
    ]


@pytest.fixture(scope="module")
def programs():
    """Where their logs are, and those that have been started: each serves all tests."""
    work, known = own_folder(), {}
    yield work, known
    for target in known.values():
        target.kill()
    shutil.rmtree(work)


@pytest.fixture
def running(programs):
    """running(java, "garbage", flags=…): shown.Shown, compiled. It stands still when no test has it."""
    if not (CLASSES / "shown/Shown.class").exists():
        pytest.skip("shown.Shown was not built: no javac")
    (work, known), mine = programs, []

    def run(java, *args, flags=()):
        key = (java.path, *args, *flags)
        if key not in known or known[key].popen.poll() is not None:
            argv = [java.path, *FLAGS, *flags, "-cp", CLASSES, "shown.Shown", *args]
            known[key] = Target(argv, work / f"shown-{len(known)}.log")
        mine.append(known[key])
        os.kill(mine[-1].pid, signal.SIGCONT)
        wait_for(lambda: mine[-1].cpu_ns_now() > 2e9, 60, why="it runs, compiled")
        return mine[-1]

    yield run
    for target in mine:
        if target.popen.poll() is None:
            os.kill(target.pid, signal.SIGSTOP)


def profiled(profiler, target, enough=ENOUGH, **params):
    """Its profile once it has so many samples; it stands still from then on."""
    os.kill(target.pid, signal.SIGCONT)
    params = {"thread_frame": 0, "frequency": HZ, **params}
    profiler.profile(pids=[target.pid], **params)
    wait_for(lambda: profiler.folded(pid=target.pid).total() >= enough, 60, 0.5, "enough samples")
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stands_by(target), why="all of its threads stand still")
    return profiler.folded(pid=target.pid)


def names(stack):
    found = [shown(frame) for frame in stack.frames]
    return [frame.name for frame in found if frame]


def of_main(profile):
    """Stacks of the thread that runs main, once it is in one of its methods."""
    return [s for s in profile.stacks if names(s)[:1] == ["shown.Shown.main"] and len(names(s)) > 1]


def part(stacks, right):
    return sum(s.value for s in stacks if right(s)) / sum(s.value for s in stacks)


def between(stack, root, leaf):
    """The frames between the first of the one method and the next of the other; None: not there."""
    found = [shown(frame) for frame in stack.frames]
    at = [frame.name if frame else None for frame in found]
    if root not in at or leaf not in at[at.index(root) :]:
        return None
    first = at.index(root)
    return stack.frames[first + 1 : at.index(leaf, first)]


def calls(profile):
    """By reflection: what is between the call and `work`."""
    found = [between(stack, "shown.Shown.byReflection", WORK) for stack in profile.stacks]
    found = [frames for frames in found if frames is not None]
    assert found, [stack.frames for stack in profile.stacks][:5]
    return found


def begins(stack):
    """In the C library, which may have no names of its own."""
    return any(frame == "start_thread" or frame.startswith("[libc.so") for frame in stack.frames[1:4])


@pytest.mark.parametrize("java", each())
def test_the_vms_own_frames_between_javas_are_left_out(profiler, running, java):
    profile = profiled(profiler, running(java))
    stacks = of_main(profile)
    assert sum(s.value for s in stacks) >= 0.9 * profile.total(), profile.stacks[:5]
    assert part(stacks, lambda s: "[truncated]" not in s.frames) >= RIGHT
    for stack in stacks:
        leaf = max(i for i, frame in enumerate(stack.frames) if shown(frame))
        assert not any(OWN.match(frame) for frame in stack.frames[:leaf]), stack
        assert begins(stack), "the C library's start stays"
    for frames in calls(profile):
        assert all(shown(frame) or frame.startswith("Java_") for frame in frames), frames
    assert profiler.settings()["params"]["native_stack"] == 0


@pytest.mark.parametrize("java", each())
def test_native_stack_shows_the_vms_own_frames(profiler, running, java):
    need_names(java)
    profile = profiled(profiler, running(java), native_stack=1)
    assert part(of_main(profile), lambda s: "[truncated]" not in s.frames) >= RIGHT
    for frames in calls(profile):
        assert any(frame.startswith("JavaCalls::call_helper") for frame in frames), frames
    for stack in of_main(profile):
        first = next(i for i, frame in enumerate(stack.frames) if shown(frame))
        assert any("JavaCalls::call_helper" in frame for frame in stack.frames[:first]), stack
    assert not profile.total("[jvm]")


@pytest.mark.parametrize("native_stack", [0, 1])
@pytest.mark.parametrize("java", each())
def test_threads_that_collect_garbage_are_one_frame(profiler, running, java, native_stack):
    if java.release < 11:
        pytest.skip("its threads have no names")
    flags = ["-XX:+UseParallelGC", "-XX:ParallelGCThreads=2", "-Xmn2m", "-Xmx64m"]
    target = running(java, "garbage", flags=flags)
    profile = profiled(profiler, target, thread_frame=1, native_stack=native_stack)
    stacks = [s for s in profile.stacks if s.frames[1].startswith("GC Thread")]
    assert sum(s.value for s in stacks) >= 0.02 * profile.total(), profile.stacks[:5]
    whole = [s for s in stacks if "[truncated]" not in s.frames]
    assert sum(s.value for s in whole) >= 0.9 * sum(s.value for s in stacks), stacks
    if native_stack:
        assert part(whole, lambda s: begins(s) and len(s.frames) > 5) >= RIGHT, whole
        assert not any("[jvm]" in s.frames for s in stacks)
    else:
        assert part(whole, lambda s: s.frames[2:] == ("[jvm]",)) >= RIGHT, whole


@pytest.mark.parametrize("java", each()[-1:])
def test_what_waits_is_below_its_method(profiler, running, java):
    need_names(java)
    target = running(java)
    profiler.profile(pids=[target.pid], probes=("offcpu",))
    sleeping = ("shown.Shown.sleep", "java.util.concurrent.locks.LockSupport.parkNanos")

    def parked():
        stacks = profiler.folded("offcpu", pid=target.pid).stacks
        return [s for s in stacks if set(sleeping) <= set(names(s))]

    wait_for(lambda: sum(s.value for s in parked()) > 2e6, 30, 0.5, "it waits")
    for stack in parked():
        assert names(stack)[0] == "java.lang.Thread.run"
        leaf = max(i for i, frame in enumerate(stack.frames) if shown(frame))
        assert stack.frames[leaf + 1] == "Unsafe_Park", "what the VM does for the method stays"
        assert any(frame.endswith("_[k]") for frame in stack.frames[leaf + 2 :]), stack
    vms = [s for s in profiler.folded("offcpu", pid=target.pid).stacks if s.frames[1] == "VM Thread"]
    assert any(s.frames[2] == "[jvm]" for s in vms), vms


def method_of_node(node):
    """(name, file, line, kind) of .json's node, where it is a Java method's."""
    kind = {"jit": "j", "inlined": "i", "interpreted": "0"}.get(node["kind"])
    return (node["name"], node.get("file"), node.get("line"), kind) if kind and "." in node["name"] else None


def method_of_frame(text):
    frame = shown(text)
    return frame and (frame.name + (frame.types or ""), frame.file, frame.line, frame.kind)


@pytest.mark.parametrize("java", each()[-1:])
def test_all_outputs_have_method_file_and_line(profiler, running, java):
    target = running(java)
    profile = profiled(profiler, target)
    frame = r"shown.Shown.byReflection \(Shown.java:\d+\)_\[[j0i]\]"
    assert_outputs_agree(profiler, target.pid, profile, method_of_node, method_of_frame,
                         rf"<title>{frame} \(", f";{frame}")  # fmt: skip
    text = PROGRAM.read_text().split("\n")
    for frame in filter(None, map(shown, profile.frames())):
        if frame.file == "Shown.java" and frame.line and frame.name.endswith(".byReflection"):
            assert "method.invoke" in text[frame.line - 1] or "for (" in text[frame.line - 1], frame


@pytest.mark.parametrize(
    "detail, types", [("name", {None}), ("signature", {"(int)", "(long, java.lang.String)"})]
)
@pytest.mark.parametrize("java", each()[-1:])
def test_frames_are_told_apart_by_their_detail(profiler, running, java, detail, types):
    target = running(java)
    profile = profiled(profiler, target, frame_detail=detail)
    tree_as_folded(profiler, target.pid, profile, method_of_node, method_of_frame)
    frames = [frame for frame in map(shown, profile.frames()) if frame]
    assert not any(frame.file or frame.line for frame in frames)
    assert {frame.types for frame in frames if frame.name == WORK} == types
    assert profiler.settings()["params"]["frame_detail"] == detail


@pytest.mark.parametrize("java", each()[-1:])
def test_record_takes_the_detail_too(needs_bpf, running, java, work):
    target = running(java)
    path = work / "out.folded"
    subprocess.run([BIN, "record", "-q", "-p", str(target.pid), "-d", "2", "--frame-detail", "signature", "-o", path],
                   check=True, timeout=60)  # fmt: skip
    assert f"{WORK}(long, java.lang.String)_[" in path.read_text()


@pytest.mark.parametrize("java", each()[-1:])
def test_what_is_held_is_shown_in_the_detail_that_is_asked_for(profiler, running, java):
    need_names(java)
    target = running(java, "held")
    profiler.profile(pids=[target.pid], probes=("mem_glibc",), thread_frame=0, mem_sample_bytes=0)

    def held(**params):
        if params:
            profiler.put_ok({"params": params})
        profile = profiler.folded("mem_glibc", view="inuse", pid=target.pid)
        stacks = [s for s in profile.stacks if "shown.Shown.keep" in names(s)]
        return stacks, {frame for s in stacks for frame in s.frames if "Shown.keep" in frame}

    wait_for(lambda: held()[0], 60, 0.5, "something is kept")
    os.kill(target.pid, signal.SIGSTOP)
    stacks, frames = held(native_stack=0, frame_detail="line")
    weight = sum(s.value for s in stacks)
    assert {shown(frame).file for frame in frames} == {"Shown.java"}
    assert not any("JavaCalls" in frame for s in stacks for frame in s.frames)
    assert all("java.nio.ByteBuffer.allocateDirect" in names(s) for s in stacks)
    stacks, frames = held(native_stack=1)
    assert all(any("JavaCalls" in frame for frame in s.frames) for s in stacks)
    assert sum(s.value for s in stacks) == weight
    stacks, frames = held(native_stack=0, frame_detail="signature")
    assert {re.sub(r"_\[.\]", "", frame) for frame in frames} == {"shown.Shown.keep()"}
    stacks, frames = held(frame_detail="name")
    assert {re.sub(r"_\[.\]", "", frame) for frame in frames} == {"shown.Shown.keep"}
    assert sum(s.value for s in stacks) == weight


@pytest.mark.parametrize("java", each())
def test_get_and_metrics_tell_what_is_known_of_java(profiler, running, java):
    target = running(java)
    profiled(profiler, target)
    told = profiler.config()["status"]
    status, process = told["java"], told["processes"][0]
    assert (status["processes"], status["unsupported"]) == (1, 0)
    assert (0 < process.get("java_inline_unknown", 0) <= 1) == (status["inline_unknown"] > 0), (process, status)
    assert ("DebugNonSafepoints" in process.get("java_inlined_with", "")) == (status["inline_unknown"] > 0)
    assert 5 < status["methods"] <= status["read"]
    assert status["bytes"] > 0
    assert sum(status["lost"].values()) <= 0.05 * status["read"], status
    assert process["runtime"].startswith("java ")
    metrics = profiler.get("/metrics").text
    assert re.search(r'^stackprobe_java_processes\{version="[^"]+",supported="true"\} 1$', metrics, re.M)
    assert f"stackprobe_java_methods {status['methods']}\n" in metrics
    assert f"stackprobe_java_methods_read_total {status['read']}\n" in metrics
    assert f"stackprobe_java_inline_unknown_total {status['inline_unknown']}\n" in metrics
    os.kill(target.pid, signal.SIGKILL)
    wait_for(lambda: not profiler.processes(), why="its end was seen")
    profiler.folded()  # its last window
    wait_for(lambda: profiler.config()["status"]["java"]["methods"] == 0, 60, 0.5, "its methods are forgotten")

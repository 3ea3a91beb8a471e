"""Which processes have a Java VM, and what is said of it."""
import re
import subprocess
import time
from pathlib import Path

import pytest
from helpers import Target, wait_burned, wait_for
from java_unreadable import MISSING, unreadable
from javas import library_of, need_classes

FRAME = "truth.Turns.outer"


@pytest.fixture
def turns(work):
    """Starts truth.Turns by a Java VM."""
    need_classes()
    targets = []

    def run(java, *args, flags=(), before=()):
        argv = [*before, *java.argv("Turns", *args, flags=flags)]
        targets.append(Target(argv, work / f"turns-{len(targets)}.log"))
        return targets[-1]

    yield run
    for target in targets:
        target.kill()


def version_text(java):
    old = re.match(r"1\.8\.0_(\d+)", java.version)
    if old:
        return f"java 8u{old[1]}"
    numbers = [*re.match(r"[\d.]+", java.version)[0].split("."), "0", "0"]
    return "java " + ".".join(numbers[:3])


def wait_runtime(profiler, pid, wanted, seconds=30):
    wait_for(lambda: profiler.processes().get(pid, {}).get("runtime") == wanted, seconds,
             why=f"{wanted} in {profiler.processes()}")  # fmt: skip


def is_running(target):
    return target.cpu_ns_now() > 5e8


def has_frames(profiler, pid):
    return any(frame.startswith(FRAME) for frame in profiler.folded().frames(pid))


def test_running_before_it_was_chosen(profiler, java, turns):
    target = turns(java)
    wait_for(lambda: is_running(target), 30)
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(java))
    wait_for(lambda: has_frames(profiler, target.pid), 20)
    status = profiler.config()["status"]["java"]
    assert status["processes"] == 1 and status["unsupported"] == 0, status
    version = version_text(java).removeprefix("java ")
    lines = profiler.get("/metrics").text
    assert f'stackprobe_java_processes{{version="{version}",supported="true"}} 1' in lines


@pytest.mark.quick
def test_started_afterwards(profiler, java, turns, work):
    profiler.profile({"comm": "^java$", "cmdline": str(work)})
    target = turns(java, work / "never")
    wait_runtime(profiler, target.pid, version_text(java))
    wait_for(lambda: has_frames(profiler, target.pid), 20)


def test_a_program_that_becomes_one(profiler, java, turns, work):
    go = work / "go"
    target = turns(java, before=["sh", "-c", f'until [ -e {go} ]; do sleep 0.1; done; exec "$@"', "sh"])
    profiler.profile(pids=[target.pid])
    assert profiler.processes()[target.pid]["runtime"] == "native"
    go.touch()
    wait_for(lambda: Path(f"/proc/{target.pid}/comm").read_text().strip() == "java")
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(java))


def test_many_heaps_or_one(profiler, java, turns):
    """Of the code cache, by flags that the user may have set."""
    if java.release == 8:
        pytest.skip("it has one")
    one = turns(java, flags=["-XX:-SegmentedCodeCache"])
    two = turns(java, flags=["-XX:TieredStopAtLevel=1", "-XX:+SegmentedCodeCache"])
    wait_for(lambda: is_running(one) and is_running(two), 30)
    profiler.profile(pids=[one.pid, two.pid])
    for target in one, two:
        wait_runtime(profiler, target.pid, version_text(java))
        wait_for(lambda: has_frames(profiler, target.pid), 20)  # noqa: B023


def test_virtual_threads_come_later(profiler, java, turns, work):
    if java.release < 21:
        pytest.skip("it has none")
    target = turns(java, work / "go")
    wait_for(lambda: is_running(target), 30)
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(java))
    (work / "go").touch()

    def split():
        """Stacks of the virtual thread, and of these such that have what runs it."""
        ours = [stack for stack in profiler.folded().of(target.pid)
                if any(frame.startswith("truth.Turns.virtually") for frame in stack.frames)]  # fmt: skip
        beyond = [stack for stack in ours if any(".ForkJoinPool" in frame for frame in stack.frames)]
        return sum(s.value for s in ours), sum(s.value for s in beyond)

    before = wait_for(lambda: split()[0] > 0 and split(), 30)
    time.sleep(12)  # its boundary is asked for every ten seconds at the latest
    known = split()
    time.sleep(2)
    after = wait_for(lambda: (now := split())[0] > known[0] and now, why="it goes on")
    assert known[0] >= before[0], (before, known, after)
    assert after[1] == known[1], (before, known, after)


EMBEDS = """
import ctypes, os, sys, time
vm = ctypes.CDLL(sys.argv[1])
print("[]", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
class Arguments(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int32), ("count", ctypes.c_int32),
                ("options", ctypes.c_void_p), ("ignores", ctypes.c_uint8)]
made, environment = ctypes.c_void_p(), ctypes.c_void_p()
arguments = Arguments(0x00010008, 0, None, 1)
assert vm.JNI_CreateJavaVM(ctypes.byref(made), ctypes.byref(environment), ctypes.byref(arguments)) == 0
time.sleep(60)
"""


def test_a_program_that_begins_its_vm_late(profiler, java, start, work):
    """Python, which has the library for a while; and both are told."""
    program = Path("/usr/bin/python3")
    loads = [program, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", library_of(java)]
    if subprocess.run(loads, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("its library is for another C library")
    target = start(program, "-c", EMBEDS, library_of(java), work / "go")
    target.first_line()
    profiler.profile(pids=[target.pid])
    python = "python " + subprocess.check_output(
        [program, "-c", "import platform; print(platform.python_version())"], text=True).strip()
    said = f"{version_text(java)}: the VM has not begun yet, {python}"
    wait_runtime(profiler, target.pid, said)
    (work / "go").touch()
    wait_runtime(profiler, target.pid, f"{version_text(java)}, {python}")


def test_tables_without_a_field_are_said(profiler, java, work, turns):
    target = turns(unreadable(java, work / "home"))
    wait_for(lambda: is_running(target), 30)
    profiler.profile(pids=[target.pid], java_source="native")
    why = f"unsupported version ({MISSING})"
    wait_runtime(profiler, target.pid, f"{version_text(java)}: {why}")
    wait_burned(target.pid, seconds=0.5)
    assert not has_frames(profiler, target.pid)
    assert profiler.config()["status"]["java"]["unsupported"] == 1


def test_without_java_it_is_as_any_other_program(profiler, java, turns):
    profiler.stop()
    profiler.conf.write_text(profiler.conf.read_text() + "bpf = { java = false; };\n")
    profiler.start()
    target = turns(java)
    wait_for(lambda: is_running(target), 30)
    profiler.profile(pids=[target.pid], java_source="agent")
    wait_burned(target.pid, seconds=1)
    process = profiler.processes()[target.pid]
    assert process["runtime"] == "native" and "java_agent" not in process
    assert profiler.folded().total(pid=target.pid) > 0
    assert not has_frames(profiler, target.pid)

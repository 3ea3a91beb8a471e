"""All probes of I/O, and an event in a file, while a file system (FUSE) answers no more, or is gone: a sample of its
processes and of others is taken as ever, and none of others is lost."""
import pytest

from folded import Profile
from hanging_folder import HangingFolder
from helpers import HZ, Target, lost, program, wait_burned, wait_for
from test_io import sums
from test_rings import whole, whole_of
from waiting import answer, let_go, ready, stands_by

PROBES = ("oncpu", "offcpu", "io", "readahead", "writeback", "blkio", "net")
READS = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        os.pread(file, 4096, 0)
    except OSError:
        pass
"""
# Keeps a file in memory (MAP_LOCKED).
HOLDS = """
import mmap, signal, sys
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE | 0x2000, mmap.PROT_READ)
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def away(work):
    """A program that runs from such a file system, one that reads there, and the file system."""
    folder = work / "away"
    folder.mkdir()
    content = program("spin").read_bytes()
    try:
        hanging = HangingFolder(folder, "away_spin", content, None, ("data",), later=True).__enter__()
    except OSError as error:
        pytest.skip(f"no FUSE: {error}")
    # (With a user it is a fork: after a vfork this process, which serves the files, would wait for its exec.)
    targets = [Target([folder / "away_spin", 600], work / "away_spin.log", user=0),
               Target(["/usr/bin/python3", "-c", READS, folder / "data"], work / "reads.log")]  # fmt: skip
    wait_burned(*(target.pid for target in targets), seconds=0.1)
    yield folder, hanging, targets
    for target in targets:
        target.popen.kill()
    hanging.__exit__()
    for target in targets:
        target.popen.wait()


@pytest.mark.parametrize("then", ["hangs", "vanishes"])
def test_no_sample_waits_for_a_file_system(profiler, start, work, away, then):
    folder, hanging, (spins, reads) = away
    if then == "hangs":
        hanging.hang()
    else:
        hanging.vanish()
    honest = ready(start, "moves", work)
    pids = [honest.pid, spins.pid, reads.pid]
    params = {"max_overhead": 0, "frame_detail": "name", "io_time": 1, "frequency": HZ}
    event = profiler.wanting(pids=pids, probes=(*PROBES, "event:burns"), **params,
                             events={"burns": f"u:{folder}/away_spin:main"})  # fmt: skip
    told = profiler.put(event)
    if then == "hangs":  # the host's file of that path is looked at
        assert told.status == 503 and "params.events.burns can't be used: no answer in time" in told.text, told.text
        profiler.put_ok(profiler.wanting(pids=pids, probes=PROBES, **params))
    else:
        assert told.status == 200, told.text
    for probe in PROBES:
        profiler.wait_running(probe)
    wait_burned(spins.pid, seconds=0.5)
    let_go(honest)
    truth = answer(honest)
    found = Profile(profiler.get(f"/flamegraph/io.folded?pid={honest.pid}").text)
    for function, moved in truth.items():
        assert sums(found, function) == {to: count for to, (_, count) in moved.items() if count}, function
    assert profiler.folded(pid=spins.pid).total() >= 0.4 * HZ, "it burns as ever"
    assert {probe: lost(profiler.probe(probe)) for probe in PROBES} == dict.fromkeys(PROBES, 0)


@pytest.fixture
def from_away(work):
    """Two programs from a file system that hangs: one has stopped itself before its work, and all of its file is in
    memory; and the file system."""
    folder = work / "away"
    folder.mkdir()
    names = ("away_moves", "away_later")
    try:
        hanging = HangingFolder(folder, names[0], program("moves").read_bytes(), None, names[1:], later=True)
        hanging.__enter__()
    except OSError as error:
        pytest.skip(f"no FUSE: {error}")
    begun = []

    def begin(name):
        own = work / f"{name}.works"
        own.mkdir()
        begun.append(Target([folder / name, own], work / f"{name}.log", user=0))
        wait_for(lambda: stands_by(begun[-1]), why=f"{name} stands by")
        return begun[-1]

    first = begin(names[0])
    holder = Target(["/usr/bin/python3", "-c", HOLDS, folder / names[0]], work / "holds.log")
    wait_for(lambda: "held" in holder.log.read_text(), why="the file is in memory")
    yield hanging, first, lambda: begin(names[1])
    begun.append(holder)
    for target in begun:
        target.popen.kill()
    hanging.__exit__()
    for target in begun:
        target.popen.wait()


def test_what_hung_before_the_daemon_began_costs_stacks_of_its_own_processes_alone(profiler, start, work, from_away):
    """Bytes and calls are exact: of its process, of another one, and of one that begins when it answers again, whose
    file nobody has read before; the latter two have whole stacks."""
    hanging, first, begin_later = from_away
    profiler.stop()
    hanging.hang()
    profiler.start()
    honest = ready(start, "moves", work)
    params = {"max_overhead": 0, "frame_detail": "name"}
    profiler.put_ok(profiler.wanting(pids=[first.pid, honest.pid], probes=("io",), **params))
    profiler.wait_running("io")
    truths = {}
    for target in (first, honest):
        let_go(target)
        truths[target] = answer(target)
    for target, truth in truths.items():
        assert whole_of(profiler, target) == whole(target, truth)
    named = Profile(profiler.get(f"/flamegraph/io.folded?pid={honest.pid}").text)
    for function, moved in truths[honest].items():
        assert sums(named, function) == {to: count for to, (_, count) in moved.items() if count}, function
    assert lost(profiler.probe("io")) == 0, profiler.probe("io")
    cut = profiler.folded("io", pid=first.pid)
    assert all("[truncated]" in stack.frames for stack in cut.stacks) and not truths[first].keys() & cut.frames(), cut
    hanging.answer_again()
    later = begin_later()
    profiler.put_ok(profiler.wanting(pids=[later.pid], probes=("io",), **params))
    profiler.wait_running("io")
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")
    let_go(later)
    truth = answer(later)
    assert whole_of(profiler, later) == whole(later, truth)
    named = profiler.folded("io", pid=later.pid)
    for function, moved in truth.items():
        assert sums(named, function) == {to: count for to, (_, count) in moved.items() if count}, function
    assert lost(profiler.probe("io")) == 0, profiler.probe("io")

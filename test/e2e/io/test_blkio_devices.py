"""Block I/O of disks that have no requests (zram), and of requests whose times the kernel's own trace tells."""
import os
import re
import signal
from pathlib import Path

import pytest

from disk_work import PIECE, Ends, Stats, Trace, assert_complete, begin, go, loop_disk, of, write_back, zram_disk
from helpers import wait_for


@pytest.fixture
def zram():
    with zram_disk() as made:
        yield made


@pytest.fixture
def disk(work):
    with loop_disk(work) as made:
        yield made


@pytest.fixture
def ends(work):
    with Ends(work, work) as trace:
        yield trace


def unseen(profiler):
    """(bios, bytes) that disks without requests took of targets."""
    state = profiler.probe("blkio")
    assert state["unseen_bios"]["disks_below"] == state["unseen_bytes"]["disks_below"] == 0, state
    return state["unseen_bios"]["no_requests"], state["unseen_bytes"]["no_requests"]


@pytest.mark.parametrize(("ask", "number", "weight"), [
    ("reads", "reads", "read_bytes"),
    pytest.param("writes", "writes", "written_bytes", marks=pytest.mark.quick),
])  # fmt: skip
def test_what_a_disk_without_requests_takes_is_told_as_unseen(zram, profiler, start, ends, ask, number, weight):
    target = begin(profiler, start, zram, ask)
    assert unseen(profiler) == (0, 0)
    before = Stats.of(zram.name)
    go(target, ask)
    seen = Stats.of(zram.name) - before
    assert getattr(seen, weight) == 32 * PIECE + 50 * 4096
    assert unseen(profiler) == (getattr(seen, number), getattr(seen, weight))
    assert "zram" in profiler.probe("blkio")["unseen"]
    told = re.search(r'^stackprobe_blkio_unseen_bytes_total{cause="no_requests"} (\d+)$',
                     profiler.get("/metrics").text, re.MULTILINE)  # fmt: skip
    assert int(told[1]) == getattr(seen, weight)
    assert profiler.folded("blkio", pid=target.pid).total(f"[{zram.name}]") == 0
    assert_complete(profiler, ends)
    target.kill()  # it has the disk open


def test_what_is_written_back_to_it_is_unseen_of_who_wrote_each_time(zram, profiler, start):
    target = begin(profiler, start, zram, "little", "little")
    for again in (1, 2):
        target.popen.send_signal(signal.SIGUSR1)
        wait_for(lambda: target.log.read_text().count("did little") == again)  # pylint: disable=cell-var-from-loop
        write_back(zram)
        assert unseen(profiler)[1] == again * 262144, profiler.probe("blkio")
    assert Stats.of(zram.name).written_bytes == 2 * 262144
    target.kill()


def test_what_others_do_with_it_is_not_counted(zram, profiler, start):
    begin(profiler, start, "/dev/null", "reads")
    with open(zram, "wb", buffering=0) as file:
        file.write(bytes(PIECE))
    write_back(zram)
    assert Stats.of(zram.name).written_bytes == PIECE
    assert unseen(profiler) == (0, 0)


def times_beside(trace, profiler, target, ask, way, disk):
    """(us of the probe, what the trace tells) of what a target does."""
    go(target, ask)
    time = of(profiler.folded("blkio", pid=target.pid, value="time"), ask, way, disk)
    return time, trace.requests({"[read]": "R", "[write]": "W"}[way], target.pid)


@pytest.mark.parametrize(("ask", "way"), [("reads", "[read]"), ("writes", "[write]")])
def test_times_are_those_of_the_kernels_own_trace(profiler, start, work, disk, ask, way):
    target = begin(profiler, start, disk, ask)
    with Trace(work, disk) as trace:
        time, told = times_beside(trace, profiler, target, ask, way, disk)
    assert told.bytes + told.unseen == 32 * PIECE + 50 * 4096
    assert time == pytest.approx(told.ns / 1000, rel=0.1), told
    assert profiler.folded("blkio", pid=target.pid, value="count").total(f"[{disk.name}]") == told.completed


def disk_below(path):
    """The whole disk that a file system lies on."""
    device = os.stat(path).st_dev
    folder = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not folder.exists():
        pytest.skip(f"{path} lies on no block device")
    folder = folder.resolve()
    folder = folder.parent if (folder / "partition").exists() else folder
    if not (folder / "mq").exists():
        pytest.skip(f"{folder.name} has no requests")
    return Path("/dev") / folder.name


def test_a_request_that_is_issued_twice_counts_once_and_from_its_last_issue(profiler, start, work, ends):
    """Where a disk's queue is full: many requests at once, of a file on the disk that has all."""
    disk, file = disk_below(work), work / "file"
    file.write_bytes(os.urandom(32 * PIECE))
    with file.open("rb") as written:
        os.fsync(written.fileno())
    target = begin(profiler, start, file, "reads")
    with Trace(work, disk) as trace:
        time, told = times_beside(trace, profiler, target, "reads", "[read]", disk)
    found = profiler.folded("blkio", pid=target.pid)
    assert told.bytes + told.unseen == 32 * PIECE + 50 * 4096
    assert of(found, "reads", "[read]", disk) == told.bytes, (told, found.stacks)
    assert time == pytest.approx(told.ns / 1000, rel=0.1), told
    assert_complete(profiler, ends)
    if not told.requeued:
        pytest.skip(f"{disk} took each of {told.completed} requests at once")

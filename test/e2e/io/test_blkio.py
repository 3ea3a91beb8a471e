"""Block I/O on a disk of the test's own, a loop device: bytes and requests as /proc/diskstats counts them.

A request is complete in an interrupt. If that interrupts a process which the kernel guards, it runs no BPF program: the
end of the request is not seen. The kernel's own trace tells which ones these are (`ends.missed()`): the profile has all
others, to the byte. Of those it tells what it knows to be lost: the ones whose address is used again."""
import functools
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from disk_work import PIECE, Ends, Stats, assert_complete, begin, go, loop_disk, of, write_back
from helpers import wait_for


@pytest.fixture
def disk(work):
    with loop_disk(work) as made:
        yield made


@pytest.fixture
def ends(work, disk):
    with Ends(work, disk) as trace:
        yield trace


@pytest.fixture
def doing(profiler, start):
    """doing(path, "reads", …): a target that does that, each at go(target, "reads")."""
    return functools.partial(begin, profiler, start)


@pytest.mark.parametrize(("ask", "way", "number", "weight"), [
    ("reads", "[read]", "reads", "read_bytes"),
    ("writes", "[write]", "writes", "written_bytes"),
])  # fmt: skip
def test_bytes_and_requests_are_those_of_diskstats(profiler, doing, disk, ends, ask, way, number, weight):
    target = doing(disk, ask)
    before = Stats.of(disk.name)
    go(target, ask)
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    assert getattr(seen, weight) == 32 * PIECE + 50 * 4096
    missed = ends.missed(way)
    expected = getattr(seen, weight) - missed.bytes
    assert found.total(f"[{disk.name}]") == of(found, ask, way, disk) == expected, (missed, found.stacks)
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    expected = getattr(seen, number) - missed.number
    assert requests.total(f"[{disk.name}]") == of(requests, ask, way, disk) == expected, (missed, requests.stacks)
    assert_complete(profiler, ends)


def test_discarded_bytes_are_those_of_diskstats(profiler, doing, disk, ends):
    target = doing(disk, "discards")
    before = Stats.of(disk.name)
    go(target, "discards")
    seen = Stats.of(disk.name) - before
    if not seen.discarded_bytes:
        pytest.skip("this loop device can't discard")
    found = profiler.folded("blkio", pid=target.pid)
    assert seen.discarded_bytes == 8 * PIECE
    assert of(found, "discards", "[discard]", disk) == 8 * PIECE - ends.missed("[discard]").bytes, found.stacks
    assert_complete(profiler, ends)


def test_a_flush_is_a_request_without_bytes(profiler, doing, disk, ends):
    target = doing(disk, "flushes")
    go(target, "flushes")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "flushes", "[write]", disk) == 5 * 4096 - ends.missed("[write]").bytes, found.stacks
    assert of(found, "flushes", "[flush]", disk) == 0
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    if not of(requests, "flushes", "[flush]", disk):
        pytest.skip("this loop device has no cache to be flushed")
    assert of(requests, "flushes", "[flush]", disk) == 5 - ends.missed("[flush]").number, requests.stacks


def test_the_time_view_has_the_time_in_the_device(profiler, doing, disk):
    target = doing(disk, "reads")
    go(target, "reads")
    time = profiler.folded("blkio", pid=target.pid, value="time")
    assert of(time, "reads", "[read]", disk) == time.total(f"[{disk.name}]") > 0, time.stacks
    counted = profiler.folded("blkio", pid=target.pid, view="time", value="count")
    assert counted.total() == profiler.folded("blkio", pid=target.pid, value="count").total() > 0


def test_write_back_counts_for_who_wrote_also_windows_later(profiler, doing, disk, ends):
    target = doing(disk, "little")
    before = Stats.of(disk.name)
    go(target, "little")
    early = [of(profiler.folded("blkio", pid=target.pid), "little", "[write]", disk) for _ in range(3)]  # windows
    if (Stats.of(disk.name) - before).written_bytes:
        pytest.skip("the kernel didn't wait with its write-back")
    write_back(disk)
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    assert early == [0, 0, 0]
    assert seen.written_bytes == 262144
    assert of(found, "little", "[write]", disk) == 262144 - ends.missed("[write]").bytes, found.stacks
    assert_complete(profiler, ends)


def test_what_is_written_twice_counts_twice(profiler, doing, disk, ends):
    target = doing(disk, "buffered", "buffered")
    before = Stats.of(disk.name)
    for again in (1, 2):
        target.popen.send_signal(signal.SIGUSR1)
        wait_for(lambda: target.log.read_text().count("did buffered") == again)  # pylint: disable=cell-var-from-loop
        write_back(disk)
    assert (Stats.of(disk.name) - before).written_bytes == 32 * PIECE
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "buffered", "[write]", disk) == 32 * PIECE - ends.missed("[write]").bytes, found.stacks
    assert_complete(profiler, ends)


def test_without_blkio_writeback_only_who_uses_the_disk_himself_is_seen(profiler, doing, disk, ends):
    target = doing(disk, "buffered", "writes", blkio_writeback=0)
    go(target, "buffered")
    write_back(disk)
    before = ends.missed("[write]").bytes
    go(target, "writes")
    missed = ends.missed("[write]").bytes - before
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "buffered", "[write]", disk) == 0, found.stacks
    assert of(found, "writes", "[write]", disk) == 32 * PIECE + 50 * 4096 - missed, found.stacks


def test_pages_of_a_mapping_count_for_who_wrote_into_them(profiler, doing, disk, ends):
    target = doing(disk, "maps")
    before = Stats.of(disk.name)
    go(target, "maps")
    write_back(disk)
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    assert seen.written_bytes == 64 * os.sysconf("SC_PAGESIZE")
    assert of(found, "maps", "[write]", disk) == seen.written_bytes - ends.missed("[write]").bytes, found.stacks
    assert of(found, "maps", "[read]", disk) == seen.read_bytes - ends.missed("[read]").bytes, found.stacks


def test_threads_that_read_write_and_flush_at_once_are_all_there(profiler, doing, disk, ends):
    target = doing(disk, "mixed")
    before = Stats.of(disk.name)
    go(target, "mixed")
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    assert seen.read_bytes >= 4 * 40 * 65536
    reads, writes, flushes = ends.missed("[read]"), ends.missed("[write]"), ends.missed("[flush]")
    assert found.total("[read]", f"[{disk.name}]") == seen.read_bytes - reads.bytes, found.stacks
    assert found.total("[write]", f"[{disk.name}]") == seen.written_bytes - writes.bytes, found.stacks
    assert requests.total("[read]", f"[{disk.name}]") == seen.reads - reads.number, requests.stacks
    # A flush is a write of no bytes there.
    told = requests.total("[write]", f"[{disk.name}]") + requests.total("[flush]", f"[{disk.name}]")
    assert told == seen.writes - writes.number - flushes.number, requests.stacks
    assert_complete(profiler, ends)


def test_write_back_counts_for_a_writer_that_has_ended(profiler, doing, disk, ends):
    target = doing(disk, "little")
    before = Stats.of(disk.name)
    with open(disk, "rb"):  # else the last one that closes it writes it back
        go(target, "little")
        target.popen.send_signal(signal.SIGUSR1)
        target.popen.wait(timeout=30)
        early = [of(profiler.folded("blkio", pid=target.pid), "little", "[write]", disk) for _ in range(4)]  # windows
        if (Stats.of(disk.name) - before).written_bytes:
            pytest.skip("the kernel didn't wait with its write-back")
        write_back(disk)
    found = profiler.folded("blkio", pid=target.pid)
    assert early == [0, 0, 0, 0]
    assert of(found, "little", "[write]", disk) == 262144 - ends.missed("[write]").bytes, found.stacks
    assert_complete(profiler, ends)


@pytest.fixture
def filesystem(disk, work):
    """A folder on the disk."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("needs mkfs.ext4")
    folder = work / "mounted"
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", disk], check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["mount", disk, folder], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"can't be mounted: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_files_bytes_count_for_its_writer(profiler, doing, disk, ends, filesystem):
    target = doing(filesystem / "file", "files")
    before = Stats.of(disk.name)
    go(target, "files")
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    # Beside the file there are metadata, of which the journal's thread writes a part.
    least = 4 * PIECE - ends.missed("[write]").bytes
    assert least <= of(found, "files", "[write]", disk) <= seen.written_bytes, found.stacks
    assert_complete(profiler, ends)


def test_a_disk_keeps_its_name_when_the_probe_begins_anew(profiler, doing, disk, ends):
    target = doing(disk, "reads", "writes")
    go(target, "reads")
    profiler.put_ok({"state": "stopped"})
    profiler.put_ok({"state": "running"})
    profiler.wait_running("blkio")
    go(target, "writes")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "writes", "[write]", disk) == 32 * PIECE + 50 * 4096 - ends.missed("[write]").bytes, found.stacks

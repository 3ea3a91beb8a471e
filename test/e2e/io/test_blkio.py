"""Block I/O on a disk of the test's own, a loop device: bytes and requests as /proc/diskstats counts them."""
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import lost, wait_for

SECTOR = 512  # of /proc/diskstats, whatever the disk's own
PIECE = 1 << 20
DISK_BYTES = 64 * PIECE

DOES = f"""
import fcntl, mmap, os, signal, struct, sys, threading
disk, piece = sys.argv[1], mmap.mmap(-1, {4 * PIECE})
piece.write(b"x" * len(piece))
def direct(flags): return os.open(disk, flags | os.O_DIRECT)
def warms():
    os.preadv(os.open(sys.executable, os.O_RDONLY | os.O_DIRECT), [memoryview(piece)[:4096]], 0)
def reads():
    file = direct(os.O_RDONLY)
    for i in range(8): os.preadv(file, [piece], i * len(piece))
    for i in range(50): os.preadv(file, [memoryview(piece)[:4096]], i * 8192)
def writes():
    file = direct(os.O_WRONLY)
    for i in range(8): os.pwritev(file, [piece], i * len(piece))
    for i in range(50): os.pwritev(file, [memoryview(piece)[:4096]], i * 8192)
def discards():
    fcntl.ioctl(os.open(disk, os.O_WRONLY), 0x1277, struct.pack("QQ", 0, {8 * PIECE}))
def flushes():
    file = direct(os.O_WRONLY)
    for i in range(5): os.pwritev(file, [memoryview(piece)[:4096]], 0), os.fsync(file)
def buffered():
    file = os.open(disk, os.O_WRONLY)
    for i in range(4): os.pwritev(file, [piece], i * len(piece))
def little():
    os.pwrite(os.open(disk, os.O_WRONLY), memoryview(piece)[:262144], 0)
def maps():
    with mmap.mmap(os.open(disk, os.O_RDWR), 64 * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE): memory[at] = 1
        memory.flush()
def one(number):
    file, own = os.open(disk, os.O_RDWR), number * {8 * PIECE}
    for i in range(40):
        os.pwrite(file, memoryview(piece)[:12288], own + (i * 7 % 40) * 16384)
        os.pwrite(file, memoryview(piece)[:100], own + {4 * PIECE} + i * 5000)
        os.fdatasync(file) if i % 8 == 0 else None
        os.preadv(direct(os.O_RDONLY), [memoryview(mmap.mmap(-1, 65536))], own + i * 65536)
    os.fdatasync(file)
def mixed():
    threads = [threading.Thread(target=one, args=[i]) for i in range(4)]
    [each.start() for each in threads], [each.join() for each in threads]
def files():
    with open(disk, "wb") as file: file.write(piece)
    os.sync()
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
print("ready", flush=True)
def warm():
    while signal.sigtimedwait({{signal.SIGUSR1}}, 0.01) is None: warms()
warm()
for ask in sys.argv[2:]:
    print("warm", flush=True)
    signal.sigwait({{signal.SIGUSR1}})
    globals()[ask]()
    print("did " + ask, flush=True)
signal.sigwait({{signal.SIGUSR1}})
"""


class Stats(NamedTuple):
    """What the kernel counts of a disk."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    discards: int
    discarded_bytes: int

    @classmethod
    def of(cls, disk):
        for line in Path("/proc/diskstats").read_text().splitlines():
            words = line.split()
            if words[2] == disk:
                counts = [int(words[i]) for i in (3, 5, 7, 9, 14, 16)]
                return cls(*(n * (SECTOR if i % 2 else 1) for i, n in enumerate(counts)))
        raise AssertionError(f"/proc/diskstats has no {disk}")

    def __sub__(self, before):
        return Stats(*(now - then for now, then in zip(self, before)))


@pytest.fixture
def disk(work):
    """A disk that nobody else uses."""
    if not shutil.which("losetup"):
        pytest.skip("needs losetup")
    image = work / "disk"
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    yield Path(made.stdout.strip())
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@pytest.fixture
def doing(profiler, start):
    """doing(path, "reads", …): a target that does that, each at go(target, "reads")."""

    def begin(path, *asks, **params):
        target = start(Path("/usr/bin/python3"), "-c", DOES, path, *asks)
        wait_for(lambda: "ready" in target.log.read_text())
        profiler.profile(pids=[target.pid], probes=("blkio",), frame_detail="name", max_overhead=0, **params)
        wait_for(lambda: profiler.folded("blkio", pid=target.pid).total(python("warms")), why="whole stacks")
        target.popen.send_signal(signal.SIGUSR1)
        wait_for(lambda: "warm" in target.log.read_text())
        return target

    return begin


def go(target, ask):
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: f"did {ask}" in target.log.read_text(), why=ask)


def python(function):
    return f"{function} (<string>)_[p]"


def of(profile, function, way, disk):
    """The weight of what a function had done that way."""
    return sum(s.value for s in profile.stacks if s.has(python(function)) and s.frames[-2:] == (way, f"[{disk.name}]"))


def assert_complete(profiler):
    state = profiler.probe("blkio")
    assert lost(state) == 0, state


@pytest.mark.parametrize(("ask", "way", "number", "weight"), [
    ("reads", "[read]", "reads", "read_bytes"),
    ("writes", "[write]", "writes", "written_bytes"),
])  # fmt: skip
def test_bytes_and_requests_are_those_of_diskstats(profiler, doing, disk, ask, way, number, weight):
    target = doing(disk, ask)
    before = Stats.of(disk.name)
    go(target, ask)
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    assert getattr(seen, weight) == 32 * PIECE + 50 * 4096
    assert found.total(f"[{disk.name}]") == of(found, ask, way, disk) == getattr(seen, weight), found.stacks
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    assert requests.total(f"[{disk.name}]") == of(requests, ask, way, disk) == getattr(seen, number), requests.stacks
    assert_complete(profiler)


def test_discarded_bytes_are_those_of_diskstats(profiler, doing, disk):
    target = doing(disk, "discards")
    before = Stats.of(disk.name)
    go(target, "discards")
    seen = Stats.of(disk.name) - before
    if not seen.discarded_bytes:
        pytest.skip("this loop device can't discard")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "discards", "[discard]", disk) == seen.discarded_bytes == 8 * PIECE, found.stacks
    assert_complete(profiler)


def test_a_flush_is_a_request_without_bytes(profiler, doing, disk):
    target = doing(disk, "flushes")
    go(target, "flushes")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "flushes", "[write]", disk) == 5 * 4096, found.stacks
    assert of(found, "flushes", "[flush]", disk) == 0
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    if not of(requests, "flushes", "[flush]", disk):
        pytest.skip("this loop device has no cache to be flushed")
    assert of(requests, "flushes", "[flush]", disk) == 5, requests.stacks


def test_the_time_view_has_the_time_in_the_device(profiler, doing, disk):
    target = doing(disk, "reads")
    go(target, "reads")
    time = profiler.folded("blkio", pid=target.pid, value="time")
    assert of(time, "reads", "[read]", disk) == time.total(f"[{disk.name}]") > 0, time.stacks
    counted = profiler.folded("blkio", pid=target.pid, view="time", value="count")
    assert counted.total() == profiler.folded("blkio", pid=target.pid, value="count").total() > 0


def write_back(disk):
    """Has what is dirty of the disk written by this process, which is no target."""
    file = os.open(disk, os.O_WRONLY)
    os.fsync(file)
    os.close(file)


def test_write_back_counts_for_who_wrote_also_windows_later(profiler, doing, disk):
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
    assert of(found, "little", "[write]", disk) == seen.written_bytes == 262144, found.stacks
    assert_complete(profiler)


def test_what_is_written_twice_counts_twice(profiler, doing, disk):
    target = doing(disk, "buffered", "buffered")
    before = Stats.of(disk.name)
    for again in (1, 2):
        target.popen.send_signal(signal.SIGUSR1)
        wait_for(lambda: target.log.read_text().count("did buffered") == again)  # pylint: disable=cell-var-from-loop
        write_back(disk)
    assert (Stats.of(disk.name) - before).written_bytes == 32 * PIECE
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "buffered", "[write]", disk) == 32 * PIECE, found.stacks
    assert_complete(profiler)


def test_without_blkio_writeback_only_who_uses_the_disk_himself_is_seen(profiler, doing, disk):
    target = doing(disk, "buffered", "writes", blkio_writeback=0)
    go(target, "buffered")
    write_back(disk)
    go(target, "writes")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "buffered", "[write]", disk) == 0, found.stacks
    assert of(found, "writes", "[write]", disk) == 32 * PIECE + 50 * 4096, found.stacks


def test_pages_of_a_mapping_count_for_who_wrote_into_them(profiler, doing, disk):
    target = doing(disk, "maps")
    before = Stats.of(disk.name)
    go(target, "maps")
    write_back(disk)
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "maps", "[write]", disk) == seen.written_bytes == 64 * os.sysconf("SC_PAGESIZE"), found.stacks
    assert of(found, "maps", "[read]", disk) == seen.read_bytes, found.stacks


def test_threads_that_read_write_and_flush_at_once_are_all_there(profiler, doing, disk):
    target = doing(disk, "mixed")
    before = Stats.of(disk.name)
    go(target, "mixed")
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    requests = profiler.folded("blkio", pid=target.pid, value="count")
    assert seen.read_bytes >= 4 * 40 * 65536
    assert found.total("[read]", f"[{disk.name}]") == seen.read_bytes, found.stacks
    assert found.total("[write]", f"[{disk.name}]") == seen.written_bytes, found.stacks
    assert requests.total("[read]", f"[{disk.name}]") == seen.reads, requests.stacks
    # A flush is a write of no bytes there.
    writes = requests.total("[write]", f"[{disk.name}]") + requests.total("[flush]", f"[{disk.name}]")
    assert writes == seen.writes, requests.stacks
    assert_complete(profiler)


def test_write_back_counts_for_a_writer_that_has_ended(profiler, doing, disk):
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
    assert of(found, "little", "[write]", disk) == 262144, found.stacks
    assert_complete(profiler)


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


def test_a_files_bytes_count_for_its_writer(profiler, doing, disk, filesystem):
    target = doing(filesystem / "file", "files")
    before = Stats.of(disk.name)
    go(target, "files")
    seen = Stats.of(disk.name) - before
    found = profiler.folded("blkio", pid=target.pid)
    # Beside the file there are metadata, of which the journal's thread writes a part.
    assert 4 * PIECE <= of(found, "files", "[write]", disk) <= seen.written_bytes, found.stacks
    assert_complete(profiler)


def test_a_disk_keeps_its_name_when_the_probe_begins_anew(profiler, doing, disk):
    target = doing(disk, "reads", "writes")
    go(target, "reads")
    profiler.put_ok({"state": "stopped"})
    profiler.put_ok({"state": "running"})
    profiler.wait_running("blkio")
    go(target, "writes")
    found = profiler.folded("blkio", pid=target.pid)
    assert of(found, "writes", "[write]", disk) == 32 * PIECE + 50 * 4096, found.stacks

"""writeback: the bytes that get dirty are those of the kernel's own count of the process, and the waits of a throttled
writer are those of its own clock."""
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from cached import EXACT, PAGE, WORK, Worker, disk_folder, lost

WAYS = {
    "whole": "with open(path, 'wb', buffering=0) as file:\n"
    "        for _ in range(16): file.write(bytes(1 << 20))",
    "parts": "with open(path, 'wb', buffering=0) as file:\n"
    "        for at in range(0, 1 << 22, 3000): file.write(b'x' * 100), file.seek(at)",
    "again": "with open(path, 'wb', buffering=0) as file:\n"
    "        for _ in range(100): file.seek(0), file.write(b'x' * 10000)",
    "mapped": "with open(path, 'w+b') as file:\n"
    "        file.truncate(1 << 22)\n"
    "        with mmap.mmap(file.fileno(), 1 << 22) as memory:\n"
    "            for at in range(0, 1 << 22, PAGE): memory[at] = 1",
}  # fmt: skip
WRITER = """
def work():
    before = write_bytes()
    {way}
    return write_bytes() - before
"""
# Folios as large as a write makes them; then, when they are clean, a byte in each 64 KiB.
LARGE = (
    "with open(path, 'wb', buffering=0) as file:\n"
    "        for _ in range(16): file.write(bytes(3 << 20))\n"
    "        os.fsync(file.fileno())\n"
    "        for at in range(0, 48 << 20, 1 << 16): os.pwrite(file.fileno(), b'x', at + 5000)"
)
# The file has its blocks already: a write needs nothing else that somebody may hold. Nobody with a lower priority
# takes the CPU, so the writes in which the thread left it by itself are those that waited.
THROTTLED = """
import resource
def sleeps(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
fd = os.open(path, os.O_WRONLY | os.O_CREAT)
data = bytes(1 << 16)
for _ in range(2048): os.write(fd, data)
os.fsync(fd)
def work():
    waited = os.lseek(fd, 0, os.SEEK_SET)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    for _ in range(2048):
        before, began = sleeps(), time.monotonic_ns()
        os.write(fd, data)
        took = time.monotonic_ns() - began
        waited += took if sleeps() > before else 0
    return waited
"""


def profile(profiler, worker):
    profiler.profile(pids=[worker.pid], probes=("writeback",), **EXACT)
    unseen = profiler.probe("writeback").get("unseen")
    if unseen:
        pytest.skip(unseen)


def total(profiler, worker, **query):
    return profiler.folded("writeback", pid=worker.pid, **query).total(WORK)


@pytest.mark.quick
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_are_those_that_the_kernel_counts(profiler, start, work, way):
    worker = Worker(start, disk_folder(work) / "written", WRITER.format(way=WAYS[way]))
    profile(profiler, worker)
    written = int(worker.work())
    assert written >= PAGE
    assert total(profiler, worker) == written
    assert total(profiler, worker, value="count") > 0
    assert lost(profiler, "writeback") == {}


@contextmanager
def file_system(work, make, *options, size=1 << 28):
    """A file system of its own, on a loop device, made by that program."""
    if os.geteuid() != 0 or not shutil.which(make):
        pytest.skip(f"needs root and {make}, to mount a file system of its own")
    image, folder = disk_folder(work) / "image", work / "mounted"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(size)
    subprocess.run([make, "-q", *options, image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


@pytest.mark.parametrize("make", ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"])
def test_bytes_of_large_folios_are_those_that_the_kernel_counts(profiler, start, work, make):
    with file_system(work, make, size=1 << 29) as folder:
        worker = Worker(start, folder / "written", WRITER.format(way=LARGE))
        profile(profiler, worker)
        written = int(worker.work())
        seen, folios = total(profiler, worker), total(profiler, worker, value="count")
        worker.target.kill()
    assert seen == written >= 48 << 20
    assert lost(profiler, "writeback") == {}
    if folios * PAGE >= written:
        pytest.skip(f"what {make} makes has no folios of several pages here")


@contextmanager
def slow_disk(work):
    """A file system that may have few dirty pages: its writers are throttled."""
    with file_system(work, "mkfs.ext4", "-O", "^has_journal", "-E", "lazy_itable_init=0") as folder:
        device = os.stat(folder).st_dev
        limits = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}")
        if not (limits / "strict_limit").exists():
            pytest.skip("the kernel has no strict_limit of a device (since 6.2)")
        (limits / "max_bytes").write_text(str(8 << 20))
        (limits / "strict_limit").write_text("1")
        yield folder


@pytest.mark.parametrize("windows", ["one", "many"])
def test_waits_of_a_throttled_writer_are_those_of_its_own_clock(profiler, start, work, windows):
    with slow_disk(work) as folder:
        worker = Worker(start, folder / "written", THROTTLED)
        profile(profiler, worker)
        meanwhile = {"one": lambda: None, "many": lambda: total(profiler, worker)}[windows]
        waited_us = int(worker.work(meanwhile)) / 1000
        if waited_us < 100000:
            pytest.skip(f"the disk was too fast: writes were throttled for {waited_us} us")
        seen = total(profiler, worker, view="wait")
        waits = total(profiler, worker, view="wait", value="count")
        worker.target.kill()
    assert seen == pytest.approx(waited_us, rel=0.05)
    assert waits > 0
    assert lost(profiler, "writeback") == {}

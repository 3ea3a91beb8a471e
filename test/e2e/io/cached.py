"""Files in the page cache: what of them is there, and Python programs that read and write them in one function when
they are told to."""
import ctypes
import mmap
import os
import signal
from pathlib import Path

import pytest

from helpers import wait_for

PAGE = mmap.PAGESIZE
EXACT = {"max_overhead": 0, "frame_detail": "name"}
PROGRAM = """
import mmap, os, signal, sys, time
PAGE = mmap.PAGESIZE
path = sys.argv[1]
def write_bytes():
    with open("/proc/self/io") as io:
        return next(int(line.split()[1]) for line in io if line.startswith("write_bytes"))
{body}
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
print("ready", flush=True)
while True:
    signal.sigwait({{signal.SIGUSR1}})
    told = work()
    print("told", told, flush=True)
"""
WORK = "work (<string>)_[p]"


def disk_folder(work):
    """Where files have a page cache that is written back: not in memory."""
    kind = os.popen(f"stat -f -c %T {work}").read().strip()
    if kind in {"tmpfs", "ramfs", "overlayfs"}:
        pytest.skip(f"the folder for tests is on {kind}, whose files have no page cache of a disk")
    return work


def cold_file(work, pages):
    """A file on a disk, of which nothing is in memory."""
    path = disk_folder(work) / "cold"
    path.write_bytes(os.urandom(PAGE) * pages)
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    drop(path)
    return path


def drop(path):
    """Has the kernel drop its pages, as drop_caches does for all files."""

    def is_dropped():
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        return cached(path) == 0

    wait_for(is_dropped, why="nothing of it in memory")


def cached(path):
    """Pages of the file in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = path.stat().st_size
    fd = os.open(path, os.O_RDONLY)
    at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    os.close(fd)
    there = ctypes.create_string_buffer(-(-size // PAGE))
    assert libc.mincore(at, size, there) == 0
    libc.munmap(at, size)
    return sum(page & 1 for page in there.raw)


def await_cached(path, pages):
    """Until the pages of the file that are still being read are in memory. Returns how many of `pages` are not: those
    that somebody took out of it meanwhile, as hosts of virtual machines do that want their memory back."""
    seen = []

    def settled():
        seen.append(cached(path))
        return seen[-1] == pages or (len(seen) > 50 and seen[-1] == seen[-50])

    wait_for(settled, 30, why=lambda: f"{pages} pages in memory, not {seen[-1]}")
    missing = pages - seen[-1]
    assert 0 <= missing <= pages // 10, f"{pages} pages in memory, not {seen[-1]}"
    return missing


class Worker:
    """A Python program that works on that file when it is told to."""

    def __init__(self, start, path, body):
        self.target = start(Path("/usr/bin/python3"), "-c", PROGRAM.format(body=body), path)
        wait_for(lambda: "ready" in self.target.log.read_text(), why=lambda: self.target.log.read_text())

    @property
    def pid(self):
        return self.target.pid

    def work(self, meanwhile=lambda: None):
        """What work() returns; `meanwhile` is called over and over until then."""
        before = self.target.log.read_text().count("told")

        def has_told():
            meanwhile()
            text = self.target.log.read_text()
            return text.count("told") > before and text.endswith("\n") and text

        self.target.popen.send_signal(signal.SIGUSR1)
        text = wait_for(has_told, 60, why=lambda: self.target.log.read_text())
        return text.strip().rpartition("told ")[2]


def lost(profiler, probe):
    return {where: n for where, n in profiler.probe(probe)["lost"].items() if n}

"""readahead: the pages that reads add to the page cache are those of the file, and those that are never used are those
that nobody asked for."""
import os
from pathlib import Path

import pytest

from cached import EXACT, PAGE, WORK, Worker, await_cached, cached, cold_file, drop, lost
from helpers import wait_for

PAGES = 4096
EACH = 64

SEQUENTIAL = """
def work():
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 131072): pass
    os.close(fd)
"""
RANDOM = f"""
def work():
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for page in range(0, {PAGES}, {EACH}): os.pread(fd, PAGE, page * PAGE)
    os.close(fd)
"""
SPARSE = RANDOM.replace("    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)\n", "")
AHEAD = """
def work():
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    os.close(fd)
"""
MAPPED = """
def work():
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        memory.madvise(ADVICE)
        return sum(memory[at] for at in range(0, len(memory), PAGE * EACH))
"""
WRITES = f"""
def work():
    with open(path + "-new", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 18))
    with open(path + "-new", "rb") as file:
        while file.read(1 << 18): pass
"""


class Seen:
    """Pages of the worker's work()."""

    def __init__(self, profiler, pid, **query):
        self.profile = profiler.folded("readahead", pid=pid, **query)

    def total(self, leaf=None):
        return sum(stack.value for stack in self.profile.stacks
                   if WORK in stack.frames and leaf in (None, stack.frames[-1]))  # fmt: skip

    @property
    def asked(self):
        return self.total("[asked]")

    @property
    def ahead(self):
        return self.total("[ahead]")


@pytest.fixture
def reading(profiler, start, work):
    """reading(body, pages): a profile of a worker on a cold file: the worker and the file's path."""

    def begin(body, pages=PAGES):
        path = cold_file(work, pages)
        worker = Worker(start, path, body)
        profiler.profile(pids=[worker.pid], probes=("readahead",), **EXACT)
        unseen = profiler.probe("readahead").get("unseen")
        if unseen:
            pytest.skip(unseen)
        return worker, path

    return begin


@pytest.mark.quick
def test_a_sequential_read_adds_each_page_once_and_uses_all(profiler, reading):
    worker, path = reading(SEQUENTIAL)
    worker.work()
    seen = Seen(profiler, worker.pid)
    assert seen.total() == seen.asked + seen.ahead == PAGES
    await_cached(path, PAGES)
    assert seen.asked > 0
    assert seen.ahead > 0
    drop(path)
    assert Seen(profiler, worker.pid, view="unused").total() == 0
    assert lost(profiler, "readahead") == {}


def test_with_the_advice_random_only_what_is_asked_for_is_read(profiler, reading):
    worker, path = reading(RANDOM)
    worker.work()
    seen = Seen(profiler, worker.pid)
    assert (seen.asked, seen.ahead) == (PAGES // EACH, 0)
    await_cached(path, seen.asked)
    drop(path)
    assert Seen(profiler, worker.pid, view="unused").total() == 0


def test_what_a_sparse_reader_had_read_is_used_or_unused(profiler, reading):
    worker, path = reading(SPARSE)
    worker.work()
    seen = Seen(profiler, worker.pid)
    missing = await_cached(path, seen.asked + seen.ahead)
    used_ahead = PAGES // EACH - seen.asked
    assert Seen(profiler, worker.pid, view="unused").total() <= missing, "the others are in memory still"
    drop(path)
    unused = Seen(profiler, worker.pid, view="unused")
    assert unused.ahead == unused.total() == seen.ahead - used_ahead > 0
    assert lost(profiler, "readahead") == {}


@pytest.mark.alone("drops what the whole machine has in its page cache")
def test_drop_caches_counts_what_was_read_ahead_and_never_used(profiler, reading):
    switch = Path("/proc/sys/vm/drop_caches")
    if not os.access(switch, os.W_OK):
        pytest.skip("needs root, to drop caches")
    worker, path = reading(SPARSE)
    worker.work()
    seen = Seen(profiler, worker.pid)
    await_cached(path, seen.asked + seen.ahead)

    def is_dropped():  # pages on their way to a list of the kernel's are passed over
        switch.write_text("1")
        return cached(path) == 0

    wait_for(is_dropped, every=0.2, why="nothing of it in memory")
    unused = Seen(profiler, worker.pid, view="unused")
    assert unused.ahead == unused.total() == seen.ahead - (PAGES // EACH - seen.asked) > 0
    assert lost(profiler, "readahead") == {}


def test_pages_that_somebody_else_uses_are_used(profiler, reading):
    worker, path = reading(AHEAD)
    worker.work()
    seen = Seen(profiler, worker.pid)
    assert seen.asked == 0
    missing = await_cached(path, seen.ahead)
    with path.open("rb", buffering=0) as file:
        assert len(file.read(seen.ahead // 2 * PAGE)) == seen.ahead // 2 * PAGE
    drop(path)
    left = seen.ahead - seen.ahead // 2
    assert left <= Seen(profiler, worker.pid, view="unused").total() <= left + missing


def test_pages_of_a_file_that_is_removed_are_unused(profiler, reading):
    worker, path = reading(AHEAD)
    worker.work()
    ahead = Seen(profiler, worker.pid).ahead
    path.unlink()
    assert Seen(profiler, worker.pid, view="unused").total() == ahead > 0


def test_pages_that_are_written_to_are_used(profiler, reading):
    worker, path = reading(AHEAD)
    worker.work()
    ahead = Seen(profiler, worker.pid).ahead
    with path.open("r+b", buffering=0) as file:
        file.write(bytes(16 * PAGE))
    path.unlink()
    unused = Seen(profiler, worker.pid, view="unused").total()
    assert 0 < unused <= ahead - 16, "all pages of a folio that is written to are used"


def test_a_fault_asks_for_its_page(profiler, reading):
    worker, path = reading(MAPPED.replace("ADVICE", "mmap.MADV_NORMAL").replace("EACH", str(EACH)))
    worker.work()
    seen = Seen(profiler, worker.pid)
    await_cached(path, seen.asked + seen.ahead)
    assert 0 < seen.asked <= PAGES // EACH
    drop(path)
    assert 0 < Seen(profiler, worker.pid, view="unused").total() <= seen.ahead


def test_faults_with_the_advice_random_read_nothing_ahead(profiler, reading):
    worker, path = reading(MAPPED.replace("ADVICE", "mmap.MADV_RANDOM").replace("EACH", str(EACH)))
    worker.work()
    await_cached(path, PAGES // EACH)
    assert Seen(profiler, worker.pid).total() == 0


def test_pages_that_are_written_are_not_read(profiler, reading):
    worker, _ = reading(WRITES)
    worker.work()
    assert Seen(profiler, worker.pid).total() == 0

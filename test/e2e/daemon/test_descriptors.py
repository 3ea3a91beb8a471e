"""Files that the daemon holds open: with few descriptors, changed and ended targets."""
import os
import re
import resource
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import program, wait_burned, wait_for

HZ = 999


@pytest.fixture
def narrow(profiler):
    """A daemon that may have 64 files open."""
    resource.prlimit(profiler.pid, resource.RLIMIT_NOFILE, (64, 64))
    return profiler


def spinning(start, copy, name, seconds):
    target = start(copy("spin", name), seconds)
    wait_for(lambda: target.cpu_ns_now() > 2e7, why="it burns")
    return target


def test_with_64_descriptors_names_are_found(narrow, start, copy):
    """Of more programs than can be held open, in several windows."""
    targets = [spinning(start, copy, f"spin{number:02}", 600) for number in range(24)]
    narrow.profile("^spin[0-9]", frequency=HZ)
    for _ in range(3):
        wait_burned(*(target.pid for target in targets), seconds=0.05)
        profile = narrow.folded()
    for target in targets:
        mine = [s for s in profile.stacks if s.frames[0].startswith(f"[{target.pid}]")]
        total = sum(s.value for s in mine)
        assert total and sum(s.value for s in mine if s.has("inner_spin")) >= 0.95 * total
    assert not any(narrow.config()["status"]["symbols_lost"].values())


def test_with_64_descriptors_what_ends_before_it_is_read_is_named_or_counted(narrow, start, copy):
    narrow.profile("^spin[0-9]", frequency=HZ)
    targets = [spinning(start, copy, f"spin{number:02}", 60) for number in range(24)]
    wait_burned(*(target.pid for target in targets), seconds=0.05)
    for number, target in enumerate(targets):
        copy("spin", f"spin{number:02}").unlink()
        target.kill()
    profile = narrow.folded()
    nameless = {f for f in profile.frames() if re.fullmatch(r"\[spin\d\d\]", f)}
    lost = narrow.config()["status"]["symbols_lost"]
    assert 0 < len(nameless) < 24, "some were held open"
    assert lost["file_gone"] >= len(nameless)
    # All is well again with the next ones.
    later = spinning(start, copy, "spin99", 60)
    wait_burned(later.pid, seconds=1)  # long beside its start
    profile = narrow.folded(pid=later.pid)
    assert profile.total("inner_spin") >= 0.95 * profile.total()


def open_files(pid):
    found = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(os.readlink(path))
    return found


def test_names_are_not_taken_from_a_library_that_was_changed(profiler, start, work):
    library = work / "plugin.so"
    shutil.copy(program("plugin.so"), library)
    target = start("dlopener", library, 60)
    wait_for(lambda: "plugin.so" in Path(f"/proc/{target.pid}/maps").read_text(), 90, why="loaded")
    profiler.profile(pids=[target.pid], frequency=HZ)
    wait_burned(target.pid, seconds=0.2)
    wait_for(lambda: str(library) in open_files(profiler.pid), why="the daemon knows the file as it was")
    with library.open("ab") as out:
        out.write(b"another one")
    profile = profiler.folded()
    assert profile.total("plugin_spin") == 0
    assert profile.total("[plugin.so]") > 0
    assert profile.total("main") >= 0.95 * profile.total()
    assert profiler.config()["status"]["symbols_lost"]["file_changed"] > 0


def test_files_are_let_go_when_their_processes_have_ended(profiler, start, copy):
    """A container's file system must not be kept busy."""
    held = f"/proc/{profiler.pid}/fd"
    profiler.profile("^leaving$", frequency=HZ)
    start(copy("spin", "leaving"), 0.3).finish()
    assert profiler.folded().total("inner_spin") > 0

    def let_go():
        profiler.folded()
        links = [link.readlink() for link in Path(held).iterdir() if link.is_symlink()]
        return not any(link.name.startswith("leaving") for link in links)

    wait_for(let_go, every=0.3, why="closed")

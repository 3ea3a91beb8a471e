"""The allocator that a process really uses: each that Debian has counts alike, and what can't be
probed is named."""
import os
import time
from pathlib import Path

import pytest

from allocating import (Views, allocator, assert_nothing_lost, built_with, let, let_go, let_tell,
                        library, profile_allocations, standing_by, truth_of, view, wait_probed)  # fmt: skip
from helpers import wait_for
from waiting import answer, ready, stands_by

KINDS = {"static": "glibc", "musl_static": "musl"}


def assert_exact(profiler, target, told):
    kind = allocator(profiler, target.pid)["kind"]
    views = Views(profiler, pid=target.pid)
    views.assert_exact(comparable(kind, truth_of(told)))
    if kind != "musl":  # which has no unwind information
        views.assert_whole()
    assert_nothing_lost(profiler)


def comparable(kind, truth):
    """Without what an allocator does in its own way."""
    # An object of no bytes has no weight.
    truth.pop("to_zero", None)
    # tcmalloc's hands on whole pages.
    if kind == "tcmalloc":
        truth.pop("keep_pvalloc")
    return truth


@pytest.mark.parametrize("name", ("static", "musl", "musl_static", "jemalloc", "tcmalloc"))
def test_each_allocator_counts_what_its_program_was_given(profiler, start, name):
    target = standing_by(profiler, start, built_with(name))
    said = allocator(profiler, target.pid)
    assert (said["kind"], said["state"]) == (KINDS.get(name, name), "probed"), said
    assert said["points"] >= 7
    assert_exact(profiler, target, let_tell(target))


@pytest.mark.parametrize("name", ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"))
def test_what_is_preloaded_is_what_is_probed(profiler, start, monkeypatch, name):
    path = library(name)
    monkeypatch.setenv("LD_PRELOAD", path)
    target = ready(start, "allocations")
    monkeypatch.delenv("LD_PRELOAD")
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    said = allocator(profiler, target.pid)
    assert said["kind"] == name[3:].split(".")[0].replace("_minimal", "")
    assert Path(said["file"]).name == Path(path).resolve().name
    assert_exact(profiler, target, let_tell(target))


def test_get_names_the_file_the_kind_and_the_points(profiler, start):
    target = standing_by(profiler, start, "allocations")
    said = allocator(profiler, target.pid)
    assert Path(said["file"]).name == "libc.so.6"
    assert (said["kind"], said["state"]) == ("glibc", "probed")
    assert said["points"] >= 10 >= said["single_stepped"]


def test_a_static_program_without_symbols_is_named_unsupported(profiler, start):
    target = ready(start, "allocations_static_stripped")
    profile_allocations(profiler, pids=[target.pid])
    wait_for(lambda: allocator(profiler, target.pid).get("state") == "unsupported")
    said = allocator(profiler, target.pid)
    assert said["why"], said
    let_go(target)
    answer(target)
    assert view(profiler).total() == 0


def test_a_program_of_go_without_c_is_named_unsupported(profiler, start):
    target = start("gowork", 30)
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it runs")
    profile_allocations(profiler, pids=[target.pid])
    wait_for(lambda: allocator(profiler, target.pid).get("state") == "unsupported")
    assert allocator(profiler, target.pid)["why"]


def test_targets_with_different_allocators_count_beside_each_other(profiler, start):
    names = ["allocations", built_with("musl"), built_with("jemalloc"), built_with("tcmalloc")]
    targets = [ready(start, name) for name in names]
    profile_allocations(profiler, pids=[target.pid for target in targets])
    for target in targets:
        wait_for(lambda pid=target.pid: allocator(profiler, pid).get("state") == "probed")
    for target in targets:
        let_go(target)
    for target in targets:
        kind = allocator(profiler, target.pid)["kind"]
        truth = comparable(kind, truth_of(answer(target)))
        Views(profiler, pid=target.pid).assert_exact(truth)


@pytest.mark.parametrize("name", ("musl", "jemalloc", "tcmalloc"))
def test_the_first_process_of_an_allocator_is_probed_soon_after_its_start(profiler, start, name):
    build = built_with(name)
    profile_allocations(profiler, f"^{build[:15]}$")
    target = start(build)
    wait_for(lambda: stands_by(target), why="it stands by")
    wait_probed(profiler, target)
    assert_exact(profiler, target, let_tell(target))


@pytest.mark.parametrize("how", ("rename", "unlink"))
@pytest.mark.parametrize("name", ("libc.so.6", "libjemalloc.so.2"))
def test_a_library_that_was_replaced_on_disk_is_probed_as_it_is_mapped(
        profiler, start, work, monkeypatch, name, how):  # fmt: skip
    folder = work / "lib"
    folder.mkdir()
    mine = folder / name
    original = Path(library(name)).read_bytes()
    mine.write_bytes(original)
    mine.chmod(0o755)
    if name == "libc.so.6":
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    else:
        monkeypatch.setenv("LD_PRELOAD", str(mine))
    target = ready(start, "allocations")
    monkeypatch.undo()
    assert f"{mine}\n" in Path(f"/proc/{target.pid}/maps").read_text()
    if how == "rename":
        other = folder / "other"
        other.write_bytes(b"\x7fELF" + bytes(len(original) - 4))
        os.rename(other, mine)
    else:
        mine.unlink()
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    assert_exact(profiler, target, let_tell(target))


def test_a_library_that_is_replaced_while_it_is_probed_goes_on_counting(
        profiler, start, work, monkeypatch):  # fmt: skip
    folder = work / "lib"
    folder.mkdir()
    mine = folder / "libc.so.6"
    mine.write_bytes(Path(library("libc.so.6")).read_bytes())
    mine.chmod(0o755)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    target = standing_by(profiler, start, "allocations")
    other = folder / "other"
    other.write_bytes(mine.read_bytes())
    other.chmod(0o755)
    os.rename(other, mine)
    # A second process has the new file: two inodes, each with points of its own.
    later = ready(start, "allocations")
    monkeypatch.undo()
    wait_probed(profiler, later)
    time.sleep(1)  # who matched at its exec is counted at once; its unwind tables come then
    for each in (target, later):
        truth = let(each)
        Views(profiler, pid=each.pid).assert_exact(truth)

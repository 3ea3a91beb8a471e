"""Frames have the names that their source gave them, wherever the symbols are and whatever became
of the file or the process."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import oracle
from helpers import by_name_alone, program, wait_burned
from whole import assert_whole, run

HZ = 1000
SPIN = ("main", "outer", "middle", "inner_spin")


def tool(*argv):
    """Runs a tool of binutils (or another), or skips where it is missing."""
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run([str(arg) for arg in argv], capture_output=True, text=True, check=True)
    return done.stdout


def profiled(profiler, target):
    """The profile of a target from its start to its end."""
    target.finish()
    profile = profiler.folded(pid=target.pid)
    assert profile.total() > 100
    return profile


def running(profiler, target, seconds=1, **params):
    """The same of one that runs already, and goes on: its tables are there before the first sample."""
    wait_burned(target.pid, seconds=0.05)
    profiler.profile(pids=[target.pid], frequency=HZ, **params)
    wait_burned(target.pid, seconds=seconds)
    return profiler.folded(pid=target.pid)


def nearly_all(profile, *frames):
    return profile.total(*frames) >= 0.95 * profile.total()


def share(profile, pattern):
    """Part of the weight that has a frame like this."""
    hit = sum(s.value for s in profile.stacks if any(re.search(pattern, f) for f in s.frames))
    return hit / profile.total()


@pytest.mark.quick
def test_cxx_names_are_demangled(profiler, start):
    profiler.profile("^cxxnames$", frequency=HZ)
    profile = profiled(profiler, start("cxxnames", 1))
    assert share(profile, r"^shop::Basket<unsigned long>::fill") > 0.45
    assert share(profile, r"^shop::\(anonymous namespace\)::Corner::count") > 0.45
    assert not any("_ZN" in frame for frame in profile.frames())


def test_rust_names_are_demangled_and_their_semicolon_does_not_split_a_frame(profiler, start):
    profile = running(profiler, start("rustnames", 60))
    assert share(profile, r"^<\[u8: (N|7)\] as rustnames(\[\w+\])?::Work>::go$") > 0.9
    assert not any(re.search(r"_ZN|_R[A-Z]|17h[0-9a-f]{16}", f) for f in profile.frames())


def test_a_library_loaded_while_the_process_runs_has_its_names(profiler, start, copy):
    profiler.profile(by_name_alone("^dlopens_it$"), frequency=HZ)
    profile = profiled(profiler, start(copy("dlopener", "dlopens_it"), program("plugin.so"), 1))
    before, after = profile.total("main", "before_load"), profile.total("main", "plugin_spin")
    assert before + after >= 0.95 * profile.total()
    assert min(before, after) >= 0.4 * profile.total() > 0.1 * HZ


def test_kernel_frames_lie_on_the_user_frames_that_called(profiler, start):
    if not re.search(r"^0*[1-9a-f]", Path("/proc/kallsyms").read_text(), re.MULTILINE):
        pytest.skip("kernel.kptr_restrict hides the kernel's symbols")
    profiler.profile("^syscalls$", frequency=HZ)
    profile = profiled(profiler, start("syscalls", 1))
    for stack in profile.stacks:
        kernel = [frame.endswith("_[k]") for frame in stack.frames]
        assert kernel == sorted(kernel), f"a user frame on a kernel frame: {stack}"
    leaves = sum(s.value for s in profile.stacks if s.frames[-1].endswith("_[k]"))
    assert leaves >= 0.9 * profile.total()
    assert share(profile, r"^(ksys_read|vfs_read|read_zero|read_iter_zero)_\[k\]$") >= 0.9
    assert nearly_all(profile, "drain_zero", "read_block")
    assert share(profile, r"bpf_prog_") <= 0.01  # not ours, but those of a daemon beside may run there


def test_the_vdso_has_its_names(profiler, start):
    profiler.profile("^vdso_spin$", frequency=HZ)
    profile = profiled(profiler, start("vdso_spin", 1))
    assert share(profile, r"^__(vdso|kernel)_clock_gettime$") > 0.5


def test_a_recursion_of_three_hundred_levels_is_whole(profiler, start):
    profile = run(profiler, start, "deep", 300, 1)
    assert nearly_all(profile, "main", *["level"] * 300, "bottom")
    assert_whole(profiler, profile)


@pytest.mark.parametrize("name", ["spin", "threads"])
def test_stacks_reach_the_c_librarys_start_code(profiler, start, name):
    """With the C library's symbols and, as on most machines, without."""
    assert_whole(profiler, run(profiler, start, name, 1))


@pytest.mark.parametrize("thread_frame", [0, 1])
def test_a_stack_deeper_than_is_walked_is_marked_at_its_root_and_counted(
    profiler, start, thread_frame
):
    profiler.profile("^deep$", frequency=HZ, thread_frame=thread_frame)
    profile = profiled(profiler, start("deep", 50_000, 1))
    deep = [s for s in profile.stacks if s.has("level", "bottom")]
    assert sum(s.value for s in deep) >= 0.9 * profile.total()
    for stack in deep:
        assert stack.frames[1 + thread_frame] == "[truncated]"
        assert stack.frames.count("level") > 127
    truncated = profiler.probe()["truncated"]
    assert sum(truncated.values()) >= sum(s.value for s in deep)


def test_a_program_without_symbols_has_one_frame_a_function(profiler, start, copy):
    address = symbol_address(program("spin"), "inner_spin")
    bare = copy("spin", "bare")
    tool("strip", bare)
    profiler.profile("^bare$", frequency=HZ)
    profile = profiled(profiler, start(bare, 1))
    leaves = {s.frames[-1] for s in profile.stacks if s.value > 50}
    assert leaves == {f"[bare+0x{address:x}]"}
    own = [f for f in profile.frames() if f.startswith("[bare+0x")]
    assert all(re.fullmatch(r"\[bare\+0x[0-9a-f]+\]", frame) for frame in own)
    assert 4 <= len(own) <= 8


def go_leads_back():
    """Until 1.20 Go keeps no way back where it changes stacks (systemstack, asmcgocall)."""
    major, minor = re.search(r"go(\d+)\.(\d+)", tool("go", "version", program("gowork"))).groups()
    return (int(major), int(minor)) >= (1, 20)


@pytest.mark.parametrize("name", ["gowork", "gowork_stripped"])
def test_go_has_its_names_and_whole_stacks_stripped_or_not(profiler, start, name):
    profile = running(profiler, start(name, 60), seconds=1.5)
    chain = ("runtime.main", "main.main", "main.outer", "main.middle", "main.leaf")
    leaf = [s for s in profile.stacks if s.has("main.leaf") and not s.has("[truncated]")]
    assert sum(s.value for s in leaf) > 100
    for stack in leaf:
        at = stack.frames.index("main.main")
        assert tuple(stack.frames[at - 1 : at + 4]) == chain
    cut = profiler.probe()["truncated"]
    if not go_leads_back():
        assert cut["rule"] <= 0.3 * profile.total()
        cut["rule"] = 0
    assert sum(cut.values()) <= 0.01 * profile.total(), cut
    assert not any(frame.startswith(f"[{name}+") for frame in profile.frames())


def test_c_between_go_and_go_is_whole(profiler, start):
    if not go_leads_back():
        pytest.skip("Go before 1.20 keeps no way back from C")
    profile = running(profiler, start("gocalls", 60), seconds=1.5)
    for leaf in ("c_burn", "main.top"):
        stacks = [s for s in profile.stacks if s.has(leaf) and not s.has("[truncated]")]
        assert sum(s.value for s in stacks) > 0.3 * profile.total()
        for stack in stacks:
            assert stack.has("runtime.main", "main.main", "main.down"), stack
            assert stack.has("runtime.cgocall", "runtime.asmcgocall.abi0"), stack
            assert stack.has("c_down", "c_middle"), stack
            assert stack.has("crosscall2", "runtime.cgocallback.abi0") == (leaf == "main.top")
    assert profile.total("[truncated]") <= 0.01 * profile.total()


def test_the_small_debug_file_inside_a_program_has_its_names(profiler, start):
    profiler.profile("^thirds_mini$", frequency=HZ)
    profile = profiled(profiler, start("thirds_mini", 1))
    assert profile.total("main", "sixty") > 0.5 * profile.total()
    assert not any(frame.startswith("[thirds_mini+") for frame in profile.frames())


def symbol_address(path, name):
    return int(re.search(rf"^(\w+) \w {name}$", tool("nm", path), re.MULTILINE)[1], 16)


def test_no_frame_is_a_bare_address_or_missing(profiler, start):
    profiler.profile("^(spin|threads|rustnames|syscalls)$", frequency=HZ)
    for name in ("spin", "threads", "syscalls"):
        start(name, 0.5).finish()
    for frame in profiler.folded().frames():
        assert not re.fullmatch(r"(0x)?[0-9a-f]{6,16}|\[?unknown\]?|\?+", frame), frame


def test_a_deleted_program_has_its_names(profiler, start, copy):
    doomed = copy("spin", "doomed")
    target = start(doomed, 2)
    wait_burned(target.pid, seconds=0.1)
    oracle.stop(target.pid)  # to begin may take as long as it runs
    doomed.unlink()
    profiler.profile("^doomed$", frequency=HZ)
    os.kill(target.pid, signal.SIGCONT)
    assert nearly_all(profiled(profiler, target), *SPIN)


def test_a_deleted_program_that_has_also_ended_has_its_names(profiler, start, copy):
    doomed = copy("spin", "doomed")
    profiler.profile("^doomed$", frequency=HZ)
    target = start(doomed, 2)
    wait_burned(target.pid, seconds=0.3)
    doomed.unlink()
    profile = profiled(profiler, target)
    assert nearly_all(profile, *SPIN), ([(s.value, s.frames) for s in profile.stacks], profiler.probe()["truncated"])


def test_a_process_that_ended_before_it_was_asked_for_has_its_names(profiler, start, copy):
    profiler.profile(by_name_alone("^ended_before$"), frequency=HZ)
    target = start(copy("short_lived", "ended_before"), 3)  # the first 100 ms may be without its table
    target.finish()
    time.sleep(1)
    assert nearly_all(profiler.folded(pid=target.pid), "main", "short_work")


def test_a_program_in_another_root_has_its_names(profiler, start, work):
    root = work / "root"
    inside = root / "only/here/caged"
    inside.parent.mkdir(parents=True)
    shutil.copy(program("spin"), inside)
    for library in re.findall(r"(/\S+) \(0x", tool("ldd", inside)):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    profiler.profile({"comm": "^caged$", "cmdline": "/only/here/caged"}, frequency=HZ)
    target = start(Path(shutil.which("chroot") or "/usr/sbin/chroot"), root, "/only/here/caged", 1)
    assert nearly_all(profiled(profiler, target), *SPIN)


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", path))[1]


def split(path, debug_file):
    """Moves the symbols of a program into a file of their own."""
    debug_file.parent.mkdir(parents=True, exist_ok=True)
    tool("objcopy", "--only-keep-debug", path, debug_file)
    tool("strip", path)


def test_a_debug_file_is_found_by_build_id_under_the_debugging_dir(profiler, start, copy, work):
    target = copy("spin", "splitspin")
    id_ = build_id(target)
    split(target, work / "debugroot/.build-id" / id_[:2] / f"{id_[2:]}.debug")
    entry = {"comm": "^splitspin$", "debugging_dir": str(work / "debugroot")}
    profiler.profile(entry, frequency=HZ)
    assert nearly_all(profiled(profiler, start(target, 1)), *SPIN)


@pytest.mark.parametrize("folder", [".", ".debug"])
def test_a_debug_file_is_found_by_its_link_beside_the_program(profiler, start, copy, folder):
    target = copy("spin", "linkedspin")
    tool("objcopy", "--remove-section", ".note.gnu.build-id", target)
    debug_file = target.parent / folder / "linked-elsewhere.debug"
    split(target, debug_file)
    tool("objcopy", f"--add-gnu-debuglink={debug_file}", target)
    profiler.profile("^linkedspin$", frequency=HZ)
    assert nearly_all(profiled(profiler, start(target, 1)), *SPIN)


def test_a_debug_file_that_is_of_another_build_is_not_believed(profiler, start, copy):
    target = copy("spin", "linkedspin")
    tool("objcopy", "--remove-section", ".note.gnu.build-id", target)
    debug_file = target.parent / "linkedspin.debug"
    split(target, debug_file)
    tool("objcopy", f"--add-gnu-debuglink={debug_file}", target)
    debug_file.unlink()
    split(copy("thirds", "other"), debug_file)
    profiler.profile("^linkedspin$", frequency=HZ)
    profile = profiled(profiler, start(target, 1))
    assert not {"sixty", "thirty", "ten", "furthest_behind"} & profile.frames()
    assert share(profile, r"^\[linkedspin\+0x") > 0.9


def test_a_program_that_lies_about_its_build_id_hurts_only_itself(profiler, start, copy):
    liar = copy("thirds", "liar")
    mine, stolen = bytes.fromhex(build_id(liar)), bytes.fromhex(build_id(program("spin")))
    content = liar.read_bytes()
    assert content.count(mine) == 1
    liar.write_bytes(content.replace(mine, stolen))
    profiler.profile("^(liar|spin)$", frequency=HZ)
    lies, honest = start(liar, 1), start("spin", 1)
    assert nearly_all(profiled(profiler, honest), *SPIN)
    assert nearly_all(profiled(profiler, lies), "main")
    assert "inner_spin" not in profiler.folded(pid=lies.pid).frames()

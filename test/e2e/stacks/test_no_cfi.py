"""Code without unwind information: its rows are made from its instructions when a stack was cut
there; from then on stacks are whole and right, and GET says that they are walked so."""
import shutil
import subprocess

import pytest

from helpers import ROOT, program, wait_for
from whole import ENOUGH, HZ, WHOLE, chain, cut, in_order, is_kernel, truncated, user_frames, whole

NO_CFI = "-fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer"
MUSL = ("musl", "musl_static", "musl_static_stripped")


def built(name):
    if "musl" in name and not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    return program(name)


def made(profiler):
    return profiler.config()["status"]["unwind"]["made_functions"]


def settle(profiler, pid, **query):
    """Until no stack is cut any more where rows can be made; then a profile of its own."""
    wait_for(lambda: made(profiler) > 0, why="rows are made")

    def is_settled():
        profile = profiler.folded(pid=pid, seconds=1, **query)
        return profile.total("[truncated]") <= (1 - WHOLE) * profile.total()

    wait_for(is_settled, 20, every=0.1, why=lambda: f"stacks are whole: {truncated(profiler)}")
    for _ in range(20):
        profile = profiler.folded(pid=pid, seconds=1, **query)
        while profile.total() < ENOUGH:  # others burn, too
            profile = profiler.folded(pid=pid, seconds=3, **query)
        # A function that is hit for the first time is cut until its rows are there: on busy CPUs, a while.
        if profile.total("[truncated]") <= (1 - WHOLE) * profile.total():
            break
    return profile


def profile_of(profiler, target):
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    return settle(profiler, target.pid)


def below(profile, *frames):
    """The part of the weight below these frames, in that order, though others may lie between."""

    def has(stack):
        rest = iter(stack.frames)
        return all(frame in rest for frame in frames)

    return sum(s.value for s in profile.stacks if has(s)) / profile.total()


@pytest.mark.parametrize("compiler", [pytest.param("gcc -O2", marks=pytest.mark.quick), "clang -O2", "gcc -Os", "gcc -O1"])
def test_a_chain_without_any_cfi_shows_every_frame_in_order(profiler, start, work, compiler):
    command = compiler.split()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    path = work / "chain"
    flags = f"-std=gnu17 {NO_CFI} -fno-optimize-sibling-calls -DWITHOUT_FRAME_POINTERS".split()
    source = ROOT / "test/programs/optimized/chain.c"
    subprocess.run([*command, *flags, "-o", path, source], check=True)
    target = start(path, 30, 600)
    profile = profile_of(profiler, target)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    assert all(in_order(stack, 30) for stack in profile.stacks)
    full = sum(s.value for s in profile.stacks if s.has(*chain(30)))
    assert full >= 0.99 * profile.total(), [s.frames for s in profile.stacks if not s.has(*chain(30))]
    assert all(s.frames[1] == "_start" for s in profile.stacks if not s.has("[truncated]"))
    told = profiler.processes()[target.pid]
    assert told["from_code"] >= profile.total() * 0.9, told


def names_are_functions(profile, kind):
    """The linker's own list of the program with its symbols says where functions begin."""
    listing = subprocess.run(["nm", built(f"mixture_{kind.removesuffix('_stripped')}")], check=True,
                             capture_output=True, text=True).stdout  # fmt: skip
    lines = [line.split() for line in listing.splitlines()]
    begins = {int(line[0], 16): line[-1] for line in lines if line[-2] in "tTwWi"}
    told = {}
    for stack in profile.stacks:
        frames = [int(frame.rpartition("+")[2].rstrip("]"), 16) for frame in user_frames(stack)
                  if frame.startswith("[mixture")]  # fmt: skip
        for begin, caller in zip(frames, [0, *frames]):
            told[begin] = told.get(begin, 0) + stack.value
            # (musl takes memory for a group of slots from another group's slot, and gives it back.)
            itself = ("alloc_slot", "nontrivial_free")
            assert begin != caller or begins.get(begin) in itself, stack.frames
    assert len(told) > 15, told
    wrong = {hex(begin): value for begin, value in told.items() if begin not in begins}
    assert not wrong, wrong


@pytest.mark.parametrize("kind", ("bare", *MUSL))
def test_a_c_librarys_functions_have_their_callers(profiler, start, kind):
    target = start(built(f"mixture_{kind}"))
    profile = profile_of(profiler, target)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    if "stripped" in kind:  # [mixture…+0x…] are all names
        deep = sum(s.value for s in profile.stacks if len([f for f in s.frames if not is_kernel(f)]) > 5)
        assert deep >= 0.98 * profile.total(), sorted((s.value, s.frames) for s in profile.stacks)[-5:]
        names_are_functions(profile, kind)
        return
    main = ("_start", "main")
    assert below(profile, *main) >= 0.99, cut(profile)
    for function in ("sorts", "prints", "allocates", "copies"):
        part = below(profile, *main, "run", function)
        assert part > 0.005, (function, part)
    assert below(profile, *main, "run", "sorts", "compare") > 0.005


def test_threads_of_musl_begin_in_the_function_that_it_calls(profiler, start):
    target = start(built("mixture_musl_static"), 2)
    profile = profile_of(profiler, target)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    roots = {stack.frames[1] for stack in profile.stacks}
    assert roots <= {"_start", "__clone"}, roots
    assert below(profile, "__clone", "run") > 0.3


def test_assembly_that_aligns_the_stack_has_its_caller(profiler, start):
    target = start("assembly")
    profile = profile_of(profiler, target)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    chain_of = ("main", "calls_assembly", "by_hand")
    assert below(profile, *chain_of) >= 0.98, [s.frames for s in profile.stacks]
    for stack in profile.stacks:
        if stack.has("by_hand"):
            assert len(user_frames(stack)) - user_frames(stack).index("by_hand") <= 2, stack.frames


def test_a_function_without_a_name_is_not_its_neighbour(profiler, start):
    target = start("assembly")
    profile = profile_of(profiler, target)
    leaves = {stack.frames[-1] for stack in profile.stacks if stack.has("by_hand")}
    assert any(leaf.startswith("[assembly+0x") for leaf in leaves), leaves
    for stack in profile.stacks:
        frames = user_frames(stack)
        assert all(a != b for a, b in zip(frames, frames[1:])), stack.frames
        assert not stack.has("before_by_hand"), stack.frames


def test_a_stack_that_a_library_of_coroutines_made_is_whole(profiler, start):
    target = start("planted")
    profile = profile_of(profiler, target)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    assert below(profile, "stack_make", "coroutine", "middle", "inner") >= 0.98
    roots = {stack.frames[1] for stack in profile.stacks if stack.has("coroutine")}
    assert roots == {"stack_make"}, roots


def test_code_with_frame_pointers_alone_needs_no_rows(profiler, start, work):
    path = work / "spin"
    flags = "-std=gnu17 -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer"
    source = ROOT / "test/programs/cpu/spin.c"
    subprocess.run(["gcc", *flags.split(), "-mno-omit-leaf-frame-pointer", "-I", ROOT / "test/programs",
                    "-o", path, source], check=True)  # fmt: skip
    target = start(path, 600)
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded(pid=target.pid).total() >= 2 * ENOUGH, every=0.3, why="samples")
    profile = profiler.folded(pid=target.pid)
    assert whole(profile) >= 0.99, (truncated(profiler), cut(profile))


def test_metrics_count_what_was_made(profiler, start):
    target = start("assembly")
    profile_of(profiler, target)
    lines = profiler.get("/metrics").text
    value = {line.split()[0]: float(line.split()[1]) for line in lines.splitlines() if line[:1] != "#"}
    assert value["stackprobe_unwind_made_total"] >= 1
    assert value["stackprobe_unwind_made_functions"] >= 2
    assert value["stackprobe_unwind_made_refused"] == 0

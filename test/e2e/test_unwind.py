"""Stacks of programs without frame pointers are whole, in order, and where they are not, say why."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import PROGRAMS, ROOT, program, wait_for

HZ = 1000
ENOUGH = 300  # samples
WHOLE = 0.995


def is_kernel(frame):
    return frame.endswith("_[k]")


def user_frames(stack):
    """Root first, without the process and the kernel's half."""
    return tuple(frame for frame in stack.frames[1:] if not is_kernel(frame))


def whole(profile, pid=None):
    """The part that reaches its root."""
    total = profile.total(pid=pid)
    assert total >= ENOUGH, f"only {total} samples"
    return 1 - profile.total("[truncated]", pid=pid) / total


def share(profile, *frames):
    """The part of the weight with exactly this on it: these frames one after the other, whole."""
    hit = sum(s.value for s in profile.stacks if s.has(*frames) and not s.has("[truncated]"))
    return hit / profile.total()


def run(profiler, start, name, *args, pattern=None):
    """The profile of a test program from its first instruction to its end."""
    comm = name if isinstance(name, str) else name.name
    profiler.profile(pattern or f"^{comm[:15]}$", frequency=HZ, thread_frame=0)
    target = start(name, *args)
    target.finish()
    return profiler.folded()


def assert_whole(profiler, profile, *frames):
    assert whole(profile) >= WHOLE, profiler.probe()["truncated"]
    if frames:
        assert share(profile, *frames) >= 0.98, [
            (s.value, s.frames) for s in profile.stacks if not s.has(*frames)
        ]
        rooted = sum(s.value for s in profile.stacks if s.has(*frames) and s.frames[1] == "_start")
        assert rooted >= 0.98 * profile.total(), "they begin in _start"


# A chain of known depth


def chain(depth):
    """The frames of `chain DEPTH` below main."""
    return ("main", *(f"f{n:03}" for n in range(depth - 1)), "bottom")


def in_order(stack, depth):
    """Whether the frames of the chain that are there follow each other, and end where it ends."""
    known = chain(depth)
    mine = [f for f in user_frames(stack) if f in set(known)]
    if not mine:
        return True
    first = known.index(mine[0])
    return tuple(mine) == known[first : first + len(mine)]


def assert_chain(profile, depth):
    """No stack, whole or not, has frames that were not there."""
    wrong = [s for s in profile.stacks if not in_order(s, depth)]
    assert not wrong, [(s.value, s.frames) for s in wrong[:3]]
    for stack in profile.stacks:
        if stack.has("bottom") and not stack.has("[truncated]"):
            assert stack.has(*chain(depth)), stack.frames


# 996 below main, main and the three functions of the C library before it: a thousand.
@pytest.mark.parametrize("depth", [20, 150, 500, 996])
def test_a_chain_of_known_depth_shows_every_frame_in_order(profiler, start, depth):
    profile = run(profiler, start, "chain", depth, 2)
    assert_chain(profile, depth)
    assert_whole(profiler, profile, *chain(depth))


def test_system_calls_in_a_chain_show_every_frame_in_order(profiler, start):
    profile = run(profiler, start, "chain", 50, 2, "ticks")
    assert_chain(profile, 50)
    assert_whole(profiler, profile, *chain(50))
    assert any(is_kernel(frame) for frame in profile.frames())


@pytest.mark.parametrize(
    "compiler", ["clang -O2", "gcc -O3 -flto", "gcc -O1", "gcc -O2 -fno-asynchronous-unwind-tables -g"]
)
def test_other_compilers_chains_are_whole(profiler, start, work, compiler):
    """The last has .debug_frame, and no .eh_frame of its own."""
    compiler = compiler.split()
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]}")
    built = work / "bin/chain"
    built.parent.mkdir()
    flags = "-std=gnu17 -fomit-frame-pointer -fno-optimize-sibling-calls -DWITHOUT_FRAME_POINTERS"
    source = ROOT / "test/programs/optimized/chain.c"
    subprocess.run([*compiler, *flags.split(), "-o", built, source], check=True)
    profile = run(profiler, start, built, 30, 2)
    assert_chain(profile, 30)
    assert_whole(profiler, profile, *chain(30))


# What compilers and programs do with stacks


@pytest.mark.parametrize("what", ["nap", "spin"])
@pytest.mark.parametrize("cfi", ["cfi", "bare"])
def test_the_caller_of_a_leaf_without_a_frame_is_there(profiler, start, what, cfi):
    profile = run(profiler, start, "leafless", what, cfi, 1)
    assert_whole(profiler, profile, "main", "a", "b", f"{what}_{cfi}")


def test_frames_of_every_kind_are_walked(profiler, start):
    profile = run(profiler, start, "frames", 2)
    assert_whole(profiler, profile, "main", "vla_frame", "many_arguments", "big_frame",
                 "drap_frame", "aligned_frame", "bottom")  # fmt: skip


@pytest.mark.parametrize("how", ["fault", "timer"])
def test_a_handler_on_a_stack_of_its_own_shows_both_sides(profiler, start, how):
    profile = run(profiler, start, "altstack", how, 2)
    assert_whole(profiler, profile)
    handled = 0
    interrupted = ["main", "outer", "victim"] + ["forbidden"] * (how == "fault")
    for stack in profile.stacks:
        frames = user_frames(stack)
        if "handler_work" not in frames or "[truncated]" in frames:
            continue
        at = frames.index("handler")
        assert frames[at : at + 2] == ("handler", "handler_work"), frames
        # Between the two sides lies the return from the signal, which has no name in a stripped libc.
        before = list(frames[frames.index("main") : at - 1])
        if how == "fault":
            assert before == interrupted, frames
        elif before[:3] == interrupted:
            handled += stack.value
            continue
        handled += stack.value
    assert handled >= 0.5 * profile.total()
    assert handled >= 0.98 * sum(s.value for s in profile.stacks if s.has("handler_work"))


def test_threads_of_both_makes_reach_where_they_began(profiler, start):
    profile = run(profiler, start, "strands", 1)
    assert_whole(profiler, profile)
    assert share(profile, "run", "thread_work") >= 0.45
    assert share(profile, "run_cloned", "clone_work") >= 0.45
    for stack in profile.stacks:
        if stack.has("run_cloned") and not stack.has("[truncated]"):
            assert stack.frames.index("run_cloned") == 2, "only clone() is above"
        if stack.has("run") and not stack.has("[truncated]"):
            assert stack.frames.index("run") == 3, "clone() and start_thread() are above"


def test_coroutines_reach_where_they_began(profiler, start):
    profile = run(profiler, start, "coroutine", 1)
    assert_whole(profiler, profile)
    assert share(profile, "co_body", "co_step") >= 0.97
    assert share(profile, "main") <= 0.03
    for stack in profile.stacks:
        if stack.has("co_body") and not stack.has("[truncated]"):
            assert stack.frames.index("co_body") == 2, "only __start_context() is above"


def test_calls_by_a_procedure_linkage_table_are_whole(profiler, start):
    profile = run(profiler, start, "plt_calls", 2)
    assert_whole(profiler, profile, "main", "caller")
    leaves = {s.frames[-1] for s in profile.stacks if s.has("caller")}
    assert {"tiny_add", "tiny_twice"} <= leaves


def test_the_vdso_is_walked(profiler, start):
    profile = run(profiler, start, "vdso_spin", 2)
    assert_whole(profiler, profile, "main", "read_clock")
    inside = sum(
        s.value
        for s in profile.stacks
        if s.has("main", "read_clock") and re.match("__(vdso|kernel)_", s.frames[-1])
    )
    assert inside >= 0.5 * profile.total()


def test_exceptions_in_flight_are_whole(profiler, start):
    profile = run(profiler, start, "thrower", 2)
    assert_whole(profiler, profile, "main", "rounds(unsigned long)")


def test_the_same_registers_on_another_stack_are_another_stack(profiler, start):
    profiler.profile("^siblings$", frequency=HZ, thread_frame=0)
    burned = start("siblings", 8).finish()
    profile = profiler.folded()
    assert_whole(profiler, profile)
    sides = {side: share(profile, "main", side, "common", "helper") for side in ("left", "right")}
    total = sum(burned.values())
    for side, part in sides.items():
        assert abs(part - burned[side] / total) < 0.03, (sides, burned)


# Code that comes late


def truncated(profiler):
    return {cause: n for cause, n in profiler.probe()["truncated"].items() if n}


LATE = {"table_pending", "unmapped", "exec", "exiting"}


def test_a_running_process_has_its_tables_before_its_first_sample(profiler, start):
    target = start("chain", 30, 60)
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded().total() > ENOUGH, every=0.3)
    profile = profiler.folded()
    assert not truncated(profiler)
    assert share(profile, *chain(30)) >= 0.98


def test_a_library_has_its_table_a_tenth_of_a_second_after_dlopen(profiler, start):
    times = 4
    profile = run(profiler, start, "late", program("late_plugin.so"), times, 0.5)
    cut = profile.total("[truncated]")
    assert cut <= times * 0.1 * HZ, truncated(profiler)
    assert set(truncated(profiler)) <= LATE
    assert share(profile, "main", "before") >= 0.48
    loaded = sum(s.value for s in profile.stacks if s.has("late_work"))
    seen = share(profile, "main", "call_plugin", "late_spin", "late_work") * profile.total()
    assert loaded - times * 0.1 * HZ <= seen <= loaded
    assert seen >= times * 0.4 * HZ * 0.95


def test_new_processes_have_their_tables_a_tenth_of_a_second_after_exec(profiler, start):
    profiler.profile("^brief$", frequency=HZ, thread_frame=0)
    started = start("storm", 4, 4, program("brief")).finish()["started"]
    profile = profiler.folded()
    assert profile.total() >= 0.9 * started * 0.3 * HZ
    assert profile.total("[truncated]") <= started * 0.1 * HZ, truncated(profiler)
    assert set(truncated(profiler)) <= LATE
    for stack in profile.stacks:
        if stack.has("brief_work") and not stack.has("[truncated]"):
            assert stack.has("main", "brief_outer", "brief_work"), stack.frames
    seen = share(profile, "main", "brief_outer", "brief_work") * profile.total()
    assert seen >= started * 0.2 * HZ * 0.95


def test_made_code_with_a_frame_pointer_is_walked_through(profiler, start):
    profile = run(profiler, start, "jit", "frame", 2)
    assert_whole(profiler, profile, "main", "call_made", "[jit]", "called_back", "called_back_work")


def test_a_made_leaf_without_a_frame_has_its_caller(profiler, start):
    profile = run(profiler, start, "jit", "leaf", 2)
    assert_whole(profiler, profile, "main", "call_made", "[jit]")


def test_made_code_without_a_frame_pointer_is_cut_or_right_and_never_wrong(profiler, start):
    profiler.profile("^jit$", frequency=HZ, thread_frame=0)
    target = start("jit", "bare", 60)
    wait_for(lambda: profiler.folded().total() > ENOUGH, every=0.3)
    profile = profiler.folded()
    right = ("main", "call_made", "[jit]", "called_back", "called_back_work")
    assert profile.total("[jit]", "called_back", "called_back_work") >= 0.97 * profile.total()
    for stack in profile.stacks:
        frames = user_frames(stack)
        known = [f for f in frames if f in right]
        assert known == list(right[len(right) - len(known) :]), frames
        if "called_back" in frames and "[truncated]" not in frames:
            assert stack.has(*right), frames
    cut = profile.total("[truncated]")
    assert sum(truncated(profiler).values()) >= cut
    of_process = profiler.processes()[target.pid]["truncated"]
    assert sum(of_process.values()) >= cut


# Programs that people run


def installed(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    return Path(path)


PYTHON = """
import json, re, zlib
def deep(n):
    return deep(n - 1) if n else [json.loads(json.dumps({"a": [i] * 9})) for i in range(99)]
while True:
    text = json.dumps(deep(30))
    re.sub(r"(\\d+)", lambda m: m[1], text)
    zlib.compress(text.encode())
"""


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/python3", "-c", PYTHON],
        ["openssl", "speed", "-seconds", "4", "-evp", "aes-256-gcm"],
        ["openssl", "speed", "-seconds", "4", "rsa2048"],
        ["xz", "-9", "-T1", "-c", "/usr/bin/python3"],
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=100M"],
        ["perl", "-e", "while (1) { my %h; $h{join '', sort split //, 'word' . $_}++ for 1 .. 999 }"],
    ],
    ids=lambda argv: "-".join(argv[:2]).replace("/usr/bin/", "").strip("-"),
)
def test_common_programs_are_whole(profiler, start, argv):
    binary = installed(argv[0])
    comm = binary.resolve().name
    profiler.profile(f"^{re.escape(comm[:15])}$|^{re.escape(binary.name)}$", frequency=HZ)
    target = start(binary, *argv[1:])
    wait_for(lambda: target.popen.poll() is not None or target.cpu_ns_now() > 2e9, 30)
    profile = profiler.folded()
    assert whole(profile, target.pid) >= WHOLE, (
        truncated(profiler),
        sorted((s.value, s.frames) for s in profile.stacks if s.has("[truncated]"))[-5:],
    )


def assert_services_whole(profiler):
    wait_for(lambda: profiler.folded().total() > 5 * ENOUGH, 30, every=0.5)
    profile = profiler.folded()
    assert whole(profile) >= WHOLE, (
        truncated(profiler),
        sorted((s.value, s.frames) for s in profile.stacks if s.has("[truncated]"))[-5:],
    )


def test_redis_under_its_benchmark_is_whole(profiler, start, work):
    tool = installed("redis-benchmark")
    socket = work / "redis"
    server = start(installed("redis-server"), "--port", 0, "--unixsocket", socket, "--save", "",
                   "--dir", work)  # fmt: skip
    wait_for(socket.exists, why="redis listens")
    start(tool, "-s", socket, "-l", "-q", "-c", 4, "-P", 8, "-r", 1000, "-n", 100000, "-t",
          "get,set,lpush,zadd,sadd,hset,lrange_100,mset")  # fmt: skip
    profiler.profile(pids=[server.pid], frequency=HZ)
    assert_services_whole(profiler)


@pytest.fixture
def postgres(work):
    """A server of its own with pgbench's tables; gives the folder of its socket and the tools."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    if not folders:
        pytest.skip("postgresql is not installed")
    tools, home = folders[-1].parent, work / "postgres"
    home.mkdir()
    work.chmod(0o755)
    shutil.chown(home, "postgres")
    quiet = {"cwd": home, "user": "postgres", "group": "postgres", "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL}  # fmt: skip
    subprocess.run([tools / "initdb", "-N", "-A", "trust", "-D", home / "data"], check=True, **quiet)
    options = ["-c", "listen_addresses=", "-k", home, "-c", "fsync=off"]
    server = subprocess.Popen([tools / "postgres", "-D", home / "data", *options], **quiet)
    try:
        ready = [tools / "pg_isready", "-q", "-h", home]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, 30, why="postgres")
        subprocess.run([tools / "pgbench", "-h", home, "-i", "-s", "2", "postgres"], check=True,
                       **quiet)  # fmt: skip
        bench = subprocess.Popen([tools / "pgbench", "-h", home, "-T", "60", "-c", "2", "postgres"],
                                 **quiet)  # fmt: skip
        yield server
        bench.kill()
        bench.wait()
    finally:
        server.send_signal(subprocess.signal.SIGINT)
        server.wait()


def test_postgres_under_its_benchmark_is_whole(profiler, postgres):
    profiler.profile("^postgres$", frequency=HZ, multi_instance=0)
    assert_services_whole(profiler)


def test_rust_is_whole(profiler, start):
    profile = run(profiler, start, "rustnames", 2)
    assert_whole(profiler, profile)


# Walks inside walks


def test_walks_that_interrupt_walks_do_not_mix(profiler, start):
    """Each system call, switch and call of a function takes a stack through the daemon's own buffers,
    at some thousands a second, and two timers at 1,000 Hz come in between."""
    depth = 150
    target = start("chain", depth, 60, "ticks")
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0, max_overhead=100)
    nested = [PROGRAMS.parent / "bpf/nested", profiler.pid, target.pid, program("chain"), "tick", 8]
    answer = subprocess.run([str(arg) for arg in nested], capture_output=True, text=True, timeout=60)
    if answer.returncode == 3:
        pytest.skip(answer.stderr)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    profile = profiler.folded()
    assert seen["nested"] >= 100, f"too few timers met a walk: {seen}"
    assert seen["calls"] > 10_000 and seen["switches"] > 0, seen
    assert profile.total("tick") > 0 or not seen["uprobes"]
    assert profiler.probe()["lost"]["walk_busy"] == 0
    assert_chain(profile, depth)
    assert_whole(profiler, profile, *chain(depth))

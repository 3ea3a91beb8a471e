"""Tables come in time, leave with the last process that needs them, stay within their bound, and a
file that lies about its CFI hurts only itself."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import oracle
from helpers import program, same_time, wait_for
from whole import ENOUGH, HZ, WHOLE, assert_chain, chain, cut, share, truncated, whole

# "address": in a mapping that is not known yet.
LATE = {"table_pending", "address", "unmapped", "exec", "exiting"}


def test_a_running_process_has_its_tables_before_its_first_sample(profiler, start):
    target = start("chain", 30, 60)
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded().total() > ENOUGH, every=0.3)
    profile = profiler.folded()
    assert not truncated(profiler)
    assert share(profile, *chain(30)) >= 0.98


@pytest.mark.alone("how soon a table is there is told by what its program burns meanwhile")
def test_a_library_has_its_table_a_tenth_of_a_second_after_dlopen(profiler, start):
    times = 4
    target = start("late", program("late_plugin.so"), times, 0.5)
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    target.finish()
    profile = profiler.folded(pid=target.pid)
    cut = profile.total("[truncated]")
    assert cut <= times * 0.1 * HZ, truncated(profiler)
    late = sum(n for cause, n in truncated(profiler).items() if cause in LATE)
    assert cut - late <= 0.002 * profile.total(), truncated(profiler)
    # (The first of these begins before anything is sampled.)
    before = sum(s.value for s in profile.stacks if not s.has("late_work") and not s.has("call_plugin"))
    assert before >= (times - 1) * 0.5 * HZ * 0.95
    assert share(profile, "main", "before") * profile.total() >= 0.98 * before
    loaded = sum(s.value for s in profile.stacks if s.has("late_work"))
    seen = round(share(profile, "main", "call_plugin", "late_spin", "late_work") * profile.total())
    assert loaded - times * 0.1 * HZ <= seen <= loaded
    assert seen >= times * 0.4 * HZ * 0.95


@pytest.mark.alone("how soon a table is there is told by what its program burns meanwhile")
def test_new_processes_have_their_tables_a_tenth_of_a_second_after_exec(profiler, start, copy):
    brief = copy("brief", f"brief{os.getpid()}")  # nobody else's
    profiler.profile(f"^{brief.name}$", frequency=HZ, thread_frame=0)
    started = start("storm", 4, 4, brief).finish()["started"]
    profile = profiler.folded()
    assert profile.total() >= 0.9 * started * 0.3 * HZ
    assert profile.total("[truncated]") <= started * 0.1 * HZ, truncated(profiler)
    late = sum(n for cause, n in truncated(profiler).items() if cause in LATE)
    assert profile.total("[truncated]") - late <= 0.002 * profile.total(), truncated(profiler)
    for stack in profile.stacks:
        if stack.has("brief_work") and not stack.has("[truncated]"):
            assert stack.has("main", "brief_outer", "brief_work"), stack.frames
    seen = share(profile, "main", "brief_outer", "brief_work") * profile.total()
    assert seen >= started * 0.2 * HZ * 0.95


# Their life


def metrics(profiler):
    """{"name{labels}": value}, without the prefix."""
    lines = profiler.get("/metrics").text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("stackprobe_"))
    return {name.removeprefix("stackprobe_"): float(value) for name, value in pairs}


def used(profiler):
    return metrics(profiler)['unwind_bytes{state="used"}']


def burning(start, *args):
    target = start(*args)
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it burns")
    return target


def profile_pids(profiler, *targets):
    """Starts profiling them and waits until each has samples enough."""
    profiler.profile(pids=[t.pid for t in targets], frequency=HZ, thread_frame=0)

    def all_seen():
        profile = profiler.folded()
        return all(profile.total(pid=t.pid) > ENOUGH for t in targets)

    wait_for(all_seen, 40, every=0.3, why="samples of each")


def test_tables_leave_when_the_last_process_that_maps_their_file_is_gone(profiler, start):
    first, second = burning(start, "chain", 20, 60), burning(start, "chain", 30, 60)
    other = burning(start, "frames", 60)
    profile_pids(profiler, first, second, other)
    tables = metrics(profiler)["unwind_tables"]
    assert tables == 5, "those of both programs, and the common ones"
    assert metrics(profiler)["unwind_rows"] > 1000

    def tables_now():
        profiler.folded()  # ends the window
        return metrics(profiler)["unwind_tables"]

    first.kill()
    for _ in range(4):
        time.sleep(0.5)
        assert tables_now() == tables, "another process maps it"
    second.kill()
    wait_for(lambda: tables_now() == tables - 1, 20, every=0.5, why="that of chain goes, no other")
    # Whoever is still there is walked on.
    before, seen = truncated(profiler), profiler.folded(pid=other.pid).total()
    wait_for(lambda: profiler.folded(pid=other.pid).total() > seen + ENOUGH, 20, every=0.3)
    assert truncated(profiler) == before
    other.kill()
    # The C library's, the dynamic linker's and the vDSO's are kept: whoever starts wants them.
    wait_for(lambda: tables_now() == 3, 20, every=0.5, why="the common ones are left")


def test_processes_share_the_table_of_a_file(profiler, start):
    targets = [burning(start, "chain", 20, 60)]
    profile_pids(profiler, *targets)
    before = metrics(profiler)
    targets += [burning(start, "chain", 20, 60) for _ in range(3)]
    profile_pids(profiler, *targets)
    assert metrics(profiler)["unwind_tables"] == before["unwind_tables"]
    assert metrics(profiler)["unwind_rows"] == before["unwind_rows"]


def test_a_copy_of_a_file_shares_its_table(profiler, start, copy):
    targets = [burning(start, "chain", 20, 60)]
    profile_pids(profiler, *targets)
    before = used(profiler)
    targets.append(burning(start, copy("chain", "twin"), 20, 60))
    profile_pids(profiler, *targets)
    assert whole(profiler.folded(pid=targets[1].pid)) >= WHOLE
    assert used(profiler) - before < 4096, "its spans, no table of its own"


@pytest.fixture
def bounded(needs_bpf, daemon):
    """A daemon with a mebibyte for all tables."""
    daemon.stop()
    daemon.conf.write_text(daemon.conf.read_text() + "bpf = { tables_bytes = 1048576; };\n")
    return daemon.start()


BIG = """
import ctypes, sys
held = [ctypes.CDLL(path) for path in sys.argv[1:]]
while True:
    sum(range(1000))
"""


def big_libraries():
    """Libraries whose tables together need more than a mebibyte."""
    folder = Path("/usr/lib/x86_64-linux-gnu")
    names = ("libLLVM-1*.so*", "libcrypto.so.3", "libpython3*.so.1.0", "libstdc++.so.6",
             "libperl.so.5*", "libgtk-3.so.0", "libavcodec.so*", "libicui18n.so.7?")  # fmt: skip
    found = [next(iter(sorted(folder.glob(name))), None) for name in names]
    found = [str(path) for path in found if path]
    if sum(os.path.getsize(path) for path in found) < 20 << 20:
        pytest.skip("no libraries here that are large enough")
    return found


def test_tables_stay_within_their_bound_and_what_found_no_room_is_cut_not_wrong(bounded, start):
    libraries = big_libraries()
    first = burning(start, "chain", 40, 60)
    profile_pids(bounded, first)
    assert whole(bounded.folded(pid=first.pid)) >= WHOLE, truncated(bounded)
    big = burning(start, Path("/usr/bin/python3"), "-c", BIG, *libraries)
    profile_pids(bounded, first, big)

    def full():
        now = metrics(bounded)
        return now["unwind_evicted_total"] + now["unwind_refused_total"] > 0

    wait_for(full, 30, every=0.3, why="there is not room for all")
    for _ in range(4):
        bounded.folded()
        time.sleep(0.5)
        now = metrics(bounded)
        assert now['unwind_bytes{state="allocated"}'] <= now['unwind_bytes{state="max"}'] == 1 << 20
    late = burning(start, "chain", 40, 60)
    profile_pids(bounded, first, big, late)
    for target in (first, late):
        assert_chain(bounded.folded(pid=target.pid), 40, at_bottom=True)
    causes = truncated(bounded)
    assert causes["no_table"] > 0, causes
    late = LATE | {"runtime_pending"}  # its Python
    assert set(causes) <= late | {"no_table", "frame_pointer"}, (causes, cut(bounded.folded()))


# Files that lie


def section(path, name):
    """(offset, size) of a section."""
    if not shutil.which("readelf"):
        pytest.skip("readelf is not installed")
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    match = re.search(rf" {re.escape(name)} +\w+ +\w+ (\w+) (\w+)", text.stdout)
    return int(match[1], 16), int(match[2], 16)


def ruin(path, how):
    """Changes what tells of stacks in a file; it runs as before."""
    content = bytearray(path.read_bytes())
    at, size = section(path, ".eh_frame")
    if how == "noise":
        content[at : at + size] = os.urandom(size)
    elif how == "zeros":
        content[at : at + size] = bytes(size)
    elif how == "endless":
        content[at : at + 4] = b"\xf0\xff\xff\x7f"
    elif how == "index":
        at, size = section(path, ".eh_frame_hdr")
        content[at + 4 : at + size] = os.urandom(size - 4)
    else:
        del content[int.from_bytes(content[40:48], "little") :]  # the table of sections
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["noise", "zeros", "endless", "index", "cut"])
def test_a_file_with_broken_cfi_is_profiled_on_and_others_are_whole(
    profiler, start, copy, observe, how
):
    path = copy("chain", "broken")
    ruin(path, how)
    good, bad = burning(start, "chain", 20, 2), burning(start, path, 20, 2)
    oracle.stop(good.pid, bad.pid)  # to begin may take as long as they run
    profiler.profile(pids=[good.pid, bad.pid], frequency=HZ, thread_frame=0)
    before_ns, observer = bad.cpu_ns_now(), observe(HZ)
    for target in (good, bad):
        os.kill(target.pid, signal.SIGCONT)
    for target in (good, bad):
        target.finish()
    assert whole(profiler.folded(pid=good.pid)) >= WHOLE
    profile = profiler.folded(pid=bad.pid)
    same_time(profile.total(), HZ, bad.cpu_ns - before_ns, observer.ns(bad.pid), within=0.06)
    if how == "cut":
        assert whole(profile) >= WHOLE, "program headers tell where the CFI is"
    else:
        assert profile.total("bottom") >= 0.98 * profile.total(), "the leaf is known"
    assert profiler.alive()

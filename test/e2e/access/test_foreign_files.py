"""A process that is merely profiled leads the daemon to files: devices, files of the kernel's own, links,
other users' files. The daemon opens none but plain ones of those who have a say."""
import os
import shutil
import stat
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from foreign_files import NOBODY, OTHER, Attacker, SlowFolder, Watch, linked, node
from helpers import BIN, HZ, program, wait_burned, wait_for
from java_vm import Vm
from javas import javas
from test_symbols import SPIN, build_id, nearly_all, split, tool

TRACES = ("/sys/kernel/tracing/trace_pipe", "/sys/kernel/debug/tracing/trace_pipe")


@pytest.fixture
def folder(work):
    """Where nobody has its programs."""
    work.chmod(0o755)
    return work / "nobodys"


@pytest.fixture
def watch():
    made = []

    def begin(path):
        made.append(Watch(path))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture
def attack():
    """attack(program, …): it runs as nobody."""
    made = []

    def begin(*argv, **how):
        made.append(Attacker(*argv, **how))
        return made[-1]

    yield begin
    for one in made:
        one.kill()


def profiled(profiler, pid, comm, seconds=0.3, **entry):
    """Its profile: what its frames are called was looked for in its files by then."""
    profiler.profile({"comm": f"^{comm}$", **entry}, frequency=HZ)
    wait_burned(pid, seconds=seconds)
    profile = profiler.folded(pid=pid)
    assert profile.total() > 50
    return profile


def symbols_lost(profiler):
    return profiler.config()["status"]["symbols_lost"]


# ---- what a debug link leads to ----


def lay(what, path):
    """Returns what must not be opened. (Of /dev/ptmx nobody is told.)"""
    if what == "device":
        return node(path)
    if what == "disk":
        return node(path, stat.S_IFBLK, (7, 0))
    if what == "fifo":
        os.mkfifo(path, 0o666)
        return path
    if what == "trace_pipe":
        found = [trace for trace in TRACES if os.path.exists(trace)]
        if not found:
            pytest.skip("no tracefs")
        path.symlink_to(found[0])
    else:
        path.symlink_to(what)
    return path.resolve()


@pytest.mark.parametrize("place", [".", ".debug"])
@pytest.mark.parametrize("what", ["/proc/kmsg", "/proc/version", "trace_pipe", "/dev/full", "device", "disk", "fifo"])
def test_what_lies_where_a_debug_file_is_looked_for_is_not_opened(profiler, folder, watch, attack, what, place):
    target = linked(folder, "trap", "x.debug")
    (folder / place).mkdir(exist_ok=True)
    path = lay(what, folder / place / "x.debug")
    seen = watch(path)
    profile = profiled(profiler, attack(target, 60).pid, "trap")
    assert not seen.was_opened()
    assert nearly_all(profile, *SPIN)


def test_the_kernels_log_stays_for_who_reads_it(profiler, folder, attack):
    """/proc/kmsg gives each message once."""
    readers = [link for link in Path("/proc").glob("[0-9]*/fd/*") if os.path.islink(link) and links_to(link, "/proc/kmsg")]
    if readers or not os.access("/dev/kmsg", os.W_OK):
        pytest.skip("another one reads /proc/kmsg, or /dev/kmsg can't be written")
    target = linked(folder, "trap", "x.debug")
    (folder / "x.debug").symlink_to("/proc/kmsg")
    message = f"stackprobe test {uuid.uuid4()}"
    Path("/dev/kmsg").write_text(message + "\n")
    profile = profiled(profiler, attack(target, 60).pid, "trap")
    fd = os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    text = b""
    try:
        while part := os.read(fd, 65536):
            text += part
    except BlockingIOError:
        pass
    finally:
        os.close(fd)
    assert message in text.decode(errors="replace")
    assert nearly_all(profile, *SPIN)


def links_to(link, to):
    try:
        return os.readlink(link) == to
    except OSError:
        return False


@pytest.mark.parametrize("what", ["kmsg", "device"])
def test_nor_in_a_root_of_its_own(profiler, folder, watch, attack, what):
    """As in a container: a mount namespace, and a chroot there."""
    root = folder / "root"
    target = linked(root / "opt", "caged", "x.debug")
    for name in ("usr", "proc"):
        (root / name).mkdir()
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    if what == "kmsg":
        (root / "opt/x.debug").symlink_to("/proc/kmsg")
        path = "/proc/kmsg"
    else:
        path = node(root / "opt/x.debug")
    seen = watch(path)
    script = ('mount --bind /usr "$0/usr" && mount --rbind /proc "$0/proc" && '
              'exec chroot --userspec=65534:65534 "$0" "$@"')  # fmt: skip
    run = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, str(root), "/opt/caged", "60"],
                           stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_for(lambda: Path(f"/proc/{run.pid}/comm").read_text() == "caged\n", why="it runs")
        profile = profiled(profiler, run.pid, "caged", cmdline="/opt/caged")
        assert not seen.was_opened()
        assert nearly_all(profile, *SPIN)
    finally:
        run.kill()
        run.wait()
    assert target.exists()


# ---- debugging_dir ----


@pytest.mark.parametrize("what", ["link", "device"])
def test_what_lies_in_debugging_dir_is_not_opened_either(profiler, folder, watch, attack, work, what):
    target = linked(folder, "trap", "x.debug")
    named = work / "named"
    named.mkdir()
    if what == "link":
        (named / "x.debug").symlink_to("/dev/full")
        path = "/dev/full"
    else:
        path = node(named / "x.debug")
    seen = watch(path)
    profile = profiled(profiler, attack(target, 60).pid, "trap", debugging_dir=str(named))
    assert not seen.was_opened()
    assert nearly_all(profile, *SPIN)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_links_of_debugging_dir_stay_below_it(profiler, start, copy, work, where):
    """As if it were the root, so that those of an unpacked image lead where they should."""
    target = copy("spin", "splitspin")
    id_ = build_id(target)
    named = work / "named"
    split(target, named / "opt/real.debug" if where == "inside" else work / "opt/real.debug")
    link = named / ".build-id" / id_[:2] / f"{id_[2:]}.debug"
    link.parent.mkdir(parents=True)
    link.symlink_to("/opt/real.debug" if where == "inside" else work / "opt/real.debug")
    profile = profiled(profiler, start(target, 60).pid, "splitspin", debugging_dir=str(named))
    if where == "inside":
        assert nearly_all(profile, *SPIN)
    else:
        assert "inner_spin" not in profile.frames()


# ---- whose debug files count ----


def own(uid, *paths):
    for path in paths:
        os.chown(path, uid, uid)


@pytest.mark.parametrize(("program_of", "debug_of", "counts"), [
    pytest.param(0, 0, True, id="root's"),
    pytest.param(NOBODY, NOBODY, True, id="the program's owner's"),
    pytest.param(0, NOBODY, True, id="the process's user's"),
    pytest.param(NOBODY, 0, True, id="root's, of another one's program"),
    pytest.param(0, OTHER, False, id="another one's"),
    pytest.param(NOBODY, OTHER, False, id="another one's, of another one's program"),
])  # fmt: skip
def test_a_debug_file_is_somebodys_who_has_a_say(profiler, folder, attack, program_of, debug_of, counts):
    folder.mkdir()
    target = shutil.copy(program("spin"), folder / "split")
    debug = folder / ".debug/split.debug"
    split(target, debug)
    tool("objcopy", f"--add-gnu-debuglink={debug}", target)
    own(program_of, target)
    own(debug_of, debug)
    profile = profiled(profiler, attack(target, 60).pid, "split")
    lost = symbols_lost(profiler)
    if counts:
        assert nearly_all(profile, *SPIN)
        assert lost.get("debug_refused", 0) == 0
    else:
        assert "inner_spin" not in profile.frames()
        assert lost["debug_refused"] > 0


def test_a_debug_file_that_counts_for_its_owner_names_nothing_of_others(profiler, folder, attack):
    folder.mkdir()
    target = shutil.copy(program("spin"), folder / "split")
    debug = folder / ".debug/split.debug"
    split(target, debug)
    tool("objcopy", f"--add-gnu-debuglink={debug}", target)
    own(NOBODY, folder, debug.parent, debug)
    own(0, target)
    own_one, other = attack(target, 60), attack(target, 60, uid=OTHER)
    assert nearly_all(profiled(profiler, own_one.pid, "split"), *SPIN)
    assert "inner_spin" not in profiled(profiler, other.pid, "split").frames()
    assert symbols_lost(profiler)["debug_refused"] > 0


def test_a_debug_file_that_is_too_large_to_be_checked_is_left_out_and_counted(profiler, folder, attack, start):
    """8 GiB were summed up for it, and its file system was said to hang."""
    target = linked(folder, "large", "x.debug", bare=True)
    large = folder / "x.debug"
    shutil.copy(program("spin"), large)
    os.truncate(large, 4 << 30)
    own(NOBODY, large)
    (folder / ".debug").mkdir()
    (folder / ".debug/x.debug").symlink_to(large)
    innocent = start("spin", 60)
    began = time.monotonic()
    profile = profiled(profiler, attack(target, 60).pid, "(large|spin)")
    assert time.monotonic() - began < 20
    assert "inner_spin" not in profile.frames()
    lost = symbols_lost(profiler)
    assert lost["debug_refused"] > 0 and lost["file_hung"] == 0
    assert nearly_all(profiler.folded(pid=innocent.pid), *SPIN)


def test_one_that_is_slow_to_be_checked_is_left_out_after_two_seconds(profiler, folder, attack, work):
    target = linked(folder, "slow", "x.debug", bare=True)
    (work / "fuse").mkdir()
    content = program("spin").read_bytes().ljust(8 << 20, b"\0")
    with SlowFolder(work / "fuse", "file", content, 0.15):
        (folder / "x.debug").symlink_to(work / "fuse/file")
        profile = profiled(profiler, attack(target, 60).pid, "slow")
    assert "inner_spin" not in profile.frames()
    lost = symbols_lost(profiler)
    assert lost["file_hung"] == 0 and lost["debug_refused"] > 0


def test_what_is_no_elf_file_is_not_read_for_its_checksum(profiler, folder, attack):
    """Whether a guess of what a file has is right would be seen by whose symbols are used."""
    target = linked(folder, "guess", "x.debug")
    secret = folder.parent / "secret"
    secret.write_bytes(b"x" * (64 << 20))
    (folder / "x.debug").symlink_to(secret)
    attacker = attack(target, 60)
    before = read_chars(profiler.pid)
    profile = profiled(profiler, attacker.pid, "guess")
    assert read_chars(profiler.pid) - before < 32 << 20
    assert nearly_all(profile, *SPIN)


def read_chars(pid):
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


# ---- files of agents ----


def test_a_device_in_a_java_data_folder_is_not_opened(profiler, work, watch):
    if not javas():
        pytest.skip("no Java here")
    script = 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"'
    vm = Vm(javas()[0], work, before=("unshare", "--mount", "sh", "-c", script, "sh"))
    try:
        profiler.profile(pids=[vm.pid], frequency=HZ, max_overhead=0, java_source="agent")
        wait_for(lambda: profiler.processes().get(vm.pid, {}).get("java_agent") == "attached", why="attached")
        vm.be_late()
        wait_for(lambda: (vm.data / "java-symbols.bin").exists(), why="its file")
        (vm.data / "java-symbols.bin").unlink()
        # Below the tmpfs of the VM's own namespace.
        done = subprocess.run(["nsenter", f"--mount=/proc/{vm.pid}/ns/mnt", "mknod", "-m", "666",
                               f"/tmp/java-data-{vm.inner}/java-symbols.bin", "c", "1", "3"], check=False)  # fmt: skip
        if done.returncode:
            pytest.skip("mknod isn't allowed here")
        seen = watch(vm.data / "java-symbols.bin")
        for _ in range(3):
            wait_burned(vm.pid, seconds=0.3)
            assert profiler.folded(pid=vm.pid).total() > 0
        assert not seen.was_opened()
    finally:
        vm.kill()


# ---- doctor ----

MAPS = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
fd = os.open(sys.argv[1], os.O_RDONLY)
at = libc.mmap(0x200000, 4096, 1, 2 | 0x10, fd, 0)
assert at == 0x200000, at
os.close(fd)
print("mapped", flush=True)
time.sleep(600)
"""


def test_doctor_opens_no_device_that_a_process_has_mapped(folder, watch):
    """It tries whether it may open what is mapped: of the first mapping, which is where the process likes."""
    folder.mkdir()
    zero = node(folder / "zero", device=(1, 5))
    with subprocess.Popen(["/usr/bin/python3", "-c", MAPS, zero], user=NOBODY, group=NOBODY, extra_groups=[],
                          stdout=subprocess.PIPE, text=True) as mapping:  # fmt: skip
        try:
            assert mapping.stdout.readline() == "mapped\n"
            seen = watch(zero)
            subprocess.run([BIN, "doctor", "--json"], stdout=subprocess.DEVNULL, check=False)
            assert not seen.was_opened()
        finally:
            mapping.kill()


# ---- memory ----

LONG = "a_function_whose_name_is_longer_than_what_is_copied_with_a_stack_" + 60 * "and_longer_"
BURNS = f"""
import os, sys
def {LONG}(until):
    n = 0
    while n < until:
        n += 1
    return n
while {LONG}(1000000) and not os.path.exists(sys.argv[1]):
    pass
os.execv(sys.argv[2], [sys.argv[2], "60"])
"""


def memories(profiler):
    """Processes whose memory the daemon has open."""
    held = []
    for link in Path(f"/proc/{profiler.pid}/fd").iterdir():
        try:
            held.append(os.readlink(link))
        except OSError:
            continue
    return [link for link in held if link.startswith("/proc/") and link.endswith("/mem")]


def test_memory_is_of_the_program_that_was_examined_until_that_execs(profiler, work, copy):
    """By one descriptor, which is let go when the process becomes another program, or ends."""
    go = work / "go"
    other = copy("spin", "other")
    python = other.parent / "burning"
    python.symlink_to("/usr/bin/python3")
    with subprocess.Popen([python, "-c", BURNS, go, other], stdout=subprocess.DEVNULL) as process:
        try:
            profiler.profile("^(burning|other)$", frequency=HZ)
            wait_burned(process.pid, seconds=0.5)

            def frames():
                return profiler.folded(pid=process.pid).frames()

            wait_for(lambda: any(frame.startswith(LONG) for frame in frames()), every=0.2, why=frames)
            assert memories(profiler) == [f"/proc/{process.pid}/mem"]
            go.touch()
            wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "other\n", why="an exec")
            wait_for(lambda: not memories(profiler), why="it is let go")
            wait_burned(process.pid, seconds=0.3)
            assert profiler.folded(pid=process.pid).total("inner_spin") > 50
            assert not memories(profiler)
        finally:
            process.kill()

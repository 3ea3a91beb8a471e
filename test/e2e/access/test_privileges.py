"""What the daemon, its children and `record` may do, and how their program is hardened."""
import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, SAN, Daemon, program, wait_burned, wait_for
from java_vm import Vm
from javas import javas
from test_doctor import needs, report, without

NOBODY = 65534
NUMBERS = {"dac_override": 1, "dac_read_search": 2, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7, "setpcap": 8,
           "net_bind_service": 10, "sys_ptrace": 19, "sys_admin": 21, "sys_nice": 23, "syslog": 34, "perfmon": 38,
           "bpf": 39, "checkpoint_restore": 40}  # fmt: skip
PROFILING = {"bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore", "syslog", "sys_nice", "setuid",
             "setgid", "kill"}  # fmt: skip
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def status(path):
    """{name: value} of a status file; {} where the process has gone."""
    try:
        return dict(line.split(":\t", 1) for line in Path(path, "status").read_text().splitlines() if ":\t" in line)
    except OSError:
        return {}


def names(bits):
    bits = int(bits, 16)
    assert not bits & ~sum(1 << number for number in NUMBERS.values()), f"others: {bits:#x}"
    return {name for name, number in NUMBERS.items() if bits >> number & 1}


def held(name, of="CapPrm"):
    """Whether we, and so what we start, have it."""
    return bool(int(status("/proc/self")[of], 16) >> NUMBERS[name] & 1)


def needs_root():
    if os.geteuid() != 0 or not held("setpcap") or not PROFILING <= {name for name in NUMBERS if held(name)}:
        pytest.skip("needs root with the capabilities of profiling and CAP_SETPCAP")


def admin_is_needed():
    """By doctor's trials without it."""
    found = report(*without("sys_admin"))
    return found.state("cpu_clock") == "no" or {found.state("uprobe_session"), found.state("uprobe")} == {"no"}


def assert_bare(found, kept):
    assert names(found["CapPrm"]) == names(found["CapEff"]) == kept, found
    assert {found[name] for name in ("CapInh", "CapBnd", "CapAmb")} == {"0" * 16}, found
    assert found["NoNewPrivs"] == "1", found


# ---- the daemon ----


def test_the_daemon_has_what_profiling_takes_and_no_more_in_each_of_its_threads(profiler, start):
    needs_root()
    target = start("spin", 60)
    profiler.profile(pids=[target.pid], probes=("oncpu", "mem_glibc"))
    wait_burned(target.pid)
    profiler.folded()
    kept = PROFILING | ({"sys_admin"} if admin_is_needed() else set())
    threads = list(Path(f"/proc/{profiler.pid}/task").iterdir())
    assert len(threads) > 2
    for thread in threads:
        assert_bare(status(thread), kept)
    told = re.search("capabilities that it keeps: (.*)", profiler.log)[1]
    assert set(told.split()) == kept


def test_what_a_container_or_the_unit_gave_is_all_that_it_has(work, needs_bpf):
    """As without CAP_SETPCAP: its bounding set stays, and no_new_privs makes it worth nothing."""
    needs_root()
    less = ",".join(f"+{name}" for name in sorted(PROFILING - {"sys_nice"}))
    daemon = Daemon(work)
    daemon.before = ["setpriv", "--bounding-set", f"-all,{less}"]
    daemon.start()
    found = status(f"/proc/{daemon.pid}")
    assert names(found["CapPrm"]) == names(found["CapBnd"]) == PROFILING - {"sys_nice"}
    assert found["NoNewPrivs"] == "1" and int(found["CapAmb"], 16) == int(found["CapInh"], 16) == 0
    daemon.done()


@pytest.mark.parametrize(("before", "own"), [([], -10), (["setpriv", "--bounding-set", "-sys_nice"], 0)],
                         ids=["may", "may not"])  # fmt: skip
def test_its_loop_comes_before_its_other_work(work, needs_bpf, start, before, own):
    needs_root()
    daemon = Daemon(work)
    daemon.before = before
    daemon.start()
    target = start("spin", 60)
    daemon.profile(pids=[target.pid])
    wait_burned(target.pid)
    daemon.folded()
    nice = set()
    for thread in Path(f"/proc/{daemon.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            name = "loop" if thread.name == str(daemon.pid) else (thread / "comm").read_text().strip()
            nice.add((name, os.getpriority(os.PRIO_PROCESS, int(thread.name)) - os.nice(0)))
    daemon.done()
    prompt = {(name, value) for name, value in nice if name in ("loop", "urgent", "folders", "loads")}
    assert {("loop", own), ("urgent", own)} <= prompt and {value for _, value in prompt} == {own}, nice
    others = nice - prompt
    assert {("bulk", 0), ("foreign", 0)} <= others and {value for _, value in others} == {0}, nice


def nobodys(work, *capabilities):
    """A daemon of nobody's, with these capabilities as ambient ones."""
    needs("setpriv")
    work.chmod(0o755)
    os.chown(work, NOBODY, NOBODY)
    daemon = Daemon(work)
    daemon.binary = work / "stackprobe"
    shutil.copy(BIN, daemon.binary)
    daemon.binary.chmod(0o755)
    given = ",".join(f"+{name}" for name in capabilities)
    more = ["--inh-caps", given, "--ambient-caps", given] if given else []
    daemon.before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *more]
    return daemon


def looks_into(pid, what="environ"):
    """As another process of nobody's."""
    done = subprocess.run(["cat", f"/proc/{pid}/{what}"], user=NOBODY, group=NOBODY, extra_groups=[],
                          capture_output=True, check=False)  # fmt: skip
    return done.returncode == 0


def test_other_processes_of_its_user_do_not_look_into_it(work):
    """Its memory has an upload's password, and a key."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become nobody")
    daemon = nobodys(work).start()
    with subprocess.Popen(["sleep", "100"], user=NOBODY, group=NOBODY, extra_groups=[]) as other:
        wait_for(lambda: looks_into(other.pid), why="that one may look at its like")
        assert not looks_into(daemon.pid)
        other.kill()
    daemon.done()


def low_port():
    """A free port below 1024."""
    for port in range(1023, 600, -1):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    return pytest.skip("no port below 1024 can be had")


def test_who_listens_on_a_port_below_1024_can_move_to_another_one(work):
    needs_root()
    daemon = Daemon(work)
    daemon.port = low_port()
    daemon.start()
    kept = names(status(f"/proc/{daemon.pid}")["CapPrm"])
    assert kept - {"sys_admin"} == PROFILING | {"net_bind_service"}
    assert_bare(status(f"/proc/{daemon.pid}"), kept)
    daemon.done()
    # Without --listen, whose address a SIGHUP doesn't change.
    text = daemon.conf.read_text()
    ports = [daemon.port, 0]
    daemon.conf.write_text(text.replace("port = 0", f"port = {ports[0]}"))
    with subprocess.Popen([str(BIN), "--config", str(daemon.conf)], stderr=subprocess.PIPE, text=True) as moving:
        wait_for(lambda: f"listening on 127.0.0.1:{ports[0]}" in moving.stderr.readline(), why="the first port")
        ports[1] = low_port()
        daemon.conf.write_text(text.replace("port = 0", f"port = {ports[1]}"))
        moving.send_signal(signal.SIGHUP)
        wait_for(lambda: f"listening on 127.0.0.1:{ports[1]}" in moving.stderr.readline(), why="the second one")
        moving.terminate()


def test_locked_memory_is_raised_before_the_right_to_do_so_is_gone(serve):
    """Before Linux 5.11 BPF maps count as such."""
    if not int(status("/proc/self")["CapEff"], 16) >> 24 & 1:
        pytest.skip("needs CAP_SYS_RESOURCE")
    daemon = serve(before=["prlimit", "--memlock=65536:65536"])
    limits = Path(f"/proc/{daemon.pid}/limits").read_text()
    assert re.search(r"Max locked memory +unlimited +unlimited", limits), limits


# ---- its children ----


def children(pid):
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found |= set(map(int, task.read_text().split()))
        except OSError:
            continue
    return found


def argv0(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return b""


def reader_of(daemon, start):
    """The line reader's status, while it reads."""
    def seen():
        target = start("spin", 20, f"spin{time.monotonic_ns() % 10**8}")
        path = f"/flamegraph/oncpu.pb.gz?pid={target.pid}&seconds=1"
        with subprocess.Popen(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{daemon.port}{path}"]) as asking:
            while asking.poll() is None:
                for pid in children(daemon.pid):
                    # Its name first: what is read before it has execed is the daemon's.
                    if argv0(pid) == b"stackprobe-lines" and (found := status(f"/proc/{pid}")):
                        return found
        target.kill()
        return None

    needs("curl")
    return wait_for(seen, 90, why="a line reader")


def assert_powerless(found):
    assert {found[name] for name in SETS if name != "CapBnd"} == {"0" * 16}, found
    assert found["NoNewPrivs"] == "1", found
    assert set(found["Uid"].split()) == {str(NOBODY)}, found


@pytest.mark.quick
def test_the_line_reader_has_nothing(profiler, start):
    needs_root()
    found = reader_of(profiler, start)
    assert_powerless(found)
    assert found["CapBnd"] == "0" * 16


# Stops the first of a process's children that it may, and tells its pid.
STOPS = """
import glob, os, signal, sys
while True:
    for path in glob.glob(f"/proc/{sys.argv[1]}/task/*/children"):
        try:
            for child in open(path).read().split():
                os.kill(int(child), signal.SIGSTOP)
                print(child)
                sys.exit()
        except OSError:
            pass
"""


def test_another_process_of_nobodys_does_not_hold_up_the_line_reader(profiler, start):
    """It may stop the reader, which then answers nothing and hears no alarm."""
    needs_root()
    stopped = []

    def one_is_stopped():
        target = start("spin", 20, f"spin{time.monotonic_ns() % 10**8}")
        argv = ["/usr/bin/python3", "-c", STOPS, str(profiler.pid)]
        with subprocess.Popen(argv, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", text=True,
                              stdout=subprocess.PIPE) as stopper:  # fmt: skip
            began = time.monotonic()
            answer = profiler.get(f"/flamegraph/oncpu.pb.gz?pid={target.pid}&seconds=1")
            took = time.monotonic() - began
            stopper.kill()
            stopped.extend(map(int, stopper.stdout.read().split()))
        target.kill()
        assert answer.status == 200 and took < 15  # 1 s, 3 s for lines, and what a busy machine takes
        return stopped

    wait_for(one_is_stopped, 90, every=0, why="a line reader that is stopped")
    wait_for(lambda: not status(f"/proc/{stopped[0]}"), 30, why="its end")
    assert "stackprobe_children_left 0\n" in profiler.get("/metrics").text
    assert reader_of(profiler, start), "the next one is read"


def ambient(work):
    """A daemon of nobody's that has the capabilities all the same. Nobody may change nobody's user."""
    needs_root()
    return nobodys(work, *sorted(PROFILING - {"setuid", "setgid", "kill"}))


def test_the_line_reader_of_a_daemon_that_is_not_root_has_nothing(needs_bpf, work, start):
    daemon = ambient(work).start()
    try:
        assert_powerless(reader_of(daemon, start))
    finally:
        daemon.done()


def a_java():
    return (javas() or [pytest.skip("no Java VM")])[0]


def test_what_asks_a_java_vm_has_nothing_where_the_daemon_is_not_root(needs_bpf, work):
    daemon = ambient(work).start()
    vm = None
    try:
        vm = Vm(a_java(), work, before=("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"))
        daemon.put_ok(daemon.wanting(pids=[vm.pid], java_source="agent"))
        seen = []

        def asked():
            for pid in children(daemon.pid):
                found = status(f"/proc/{pid}")
                # At first it is the daemon's like; to have asked for a session is what it does first.
                if found and found.get("CapPrm") == "0" * 16:
                    seen.append(found)
            return seen

        wait_for(asked, 60, every=0, why="a child without a capability")
        assert seen[-1]["CapEff"] == seen[-1]["CapAmb"] == "0" * 16
    finally:
        if vm:
            vm.kill()
        daemon.done()


# ---- record ----

ASKS = "grep -E '^(Cap|NoNewPrivs|Seccomp|Sig[BI])' /proc/self/status; ulimit -l; ulimit -n; ulimit -Hn; umask; cat /proc/self/oom_score_adj"


def record(work, *argv, **kwargs):
    return subprocess.run([str(BIN), "record", "-q", "-o", str(work / "out.folded"), *map(str, argv)],
                          capture_output=True, text=True, check=False, timeout=60, **kwargs)  # fmt: skip


def test_a_recorded_command_is_run_as_it_was_called(needs_bpf, work):
    plain = subprocess.run(["sh", "-c", ASKS], capture_output=True, text=True, check=True).stdout
    done = record(work, "--", "sh", "-c", ASKS)
    assert (done.returncode, done.stdout) == (0, plain), done.stderr


def test_a_recorded_set_user_id_program_becomes_that_user(needs_bpf, work):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    work.chmod(0o755)
    path = work / "id"
    shutil.copy(shutil.which("id"), path)
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o4755)
    if subprocess.run([path, "-u"], capture_output=True, text=True, check=True).stdout != f"{NOBODY}\n":
        pytest.skip("no set-user-id programs on this file system")
    done = record(work, "--", path, "-u")
    assert done.stdout == f"{NOBODY}\n", done.stderr


def test_record_itself_gives_up_what_it_does_not_need(needs_bpf, work):
    needs_root()
    argv = [BIN, "record", "-q", "-o", work / "out.folded", "--", program("spin"), "60"]
    with subprocess.Popen([str(arg) for arg in argv], stderr=subprocess.DEVNULL) as recording:
        found = lambda: status(f"/proc/{recording.pid}")  # noqa: E731
        wait_for(lambda: found().get("NoNewPrivs") == "1", why="it has given up")
        kept = PROFILING | ({"sys_admin"} if admin_is_needed() else set())
        assert_bare(found(), kept)
        recording.send_signal(signal.SIGINT)
        recording.wait(30)


def test_a_recorded_command_of_another_user_is_ended_in_time(needs_bpf, work):
    needs_root()
    needs("setpriv")
    done = record(work, "-d", "1", "--", "setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "50")
    assert done.returncode == 0, done.stderr


def test_root_records_into_a_folder_of_another_user(needs_bpf, work):
    """As `sudo stackprobe record` does at home."""
    needs_root()
    theirs = work / "theirs"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, NOBODY, NOBODY)
    done = record(work, "-o", theirs / "out.svg", "--", program("spin"), "1")
    assert done.returncode == 0 and (theirs / "out.svg").stat().st_size, done.stderr


# ---- the program's file ----


class Elf:
    """What a 64-bit little-endian ELF file says of itself, by the gABI, for there may be no readelf."""

    PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_PROPERTY = 2, 3, 0x6474E551, 0x6474E552, 0x6474E553

    def __init__(self, data):
        self.data = data
        assert data[:6] == b"\x7fELF\x02\x01"
        self.type, = struct.unpack_from("<H", data, 16)
        phoff, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * size) for i in range(count)]

    def segment(self, kind):
        return next((one for one in self.segments if one[0] == kind), None)

    def content(self, kind):
        found = self.segment(kind)
        return self.data[found[2] : found[2] + found[5]] if found else b""

    def dynamic(self):
        return dict(struct.iter_unpack("<QQ", self.content(self.PT_DYNAMIC)))

    def offset(self, address):
        return next(off + address - at for kind, _, off, at, _, size, *_ in self.segments
                    if kind == 1 and at <= address < at + size)  # fmt: skip

    def symbols(self):
        """{name: value} of the dynamic ones."""
        dynamic = self.dynamic()
        at, strings = self.offset(dynamic[6]), self.offset(dynamic[5])
        found = {}
        while at < strings:  # the table of names comes behind
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            end = self.data.index(b"\0", strings + name)
            found[self.data[strings + name : end].decode()] = value
            at += 24
        return found


def program_and_reader():
    """The daemon's file, and the line reader's, which lies in it."""
    data = BIN.read_bytes()
    inside = [found.start() for found in re.finditer(b"\x7fELF\x02\x01\x01", data)][1:]
    readers = [elf for elf in (Elf(data[begin:]) for begin in inside) if is_reader(elf)]
    assert len(readers) == 1
    return {"stackprobe": Elf(data), "stackprobe-lines": readers[0]}


def is_reader(elf):
    """Neither one of the BPF objects nor an agent's library."""
    return elf.type == 3 and elf.segment(Elf.PT_INTERP) is not None


@pytest.mark.parametrize("name", ("stackprobe", "stackprobe-lines"))
def test_the_program_is_placed_at_random_and_its_tables_are_read_only(name):
    elf = program_and_reader()[name]
    dynamic = elf.dynamic()
    assert elf.type == 3 and dynamic.get(0x6FFFFFFB, 0) & 0x08000000, "a position-independent program"
    assert dynamic.get(0x6FFFFFFB, 0) & 1, "all functions are bound at the start (-z now)"
    assert elf.segment(Elf.PT_GNU_RELRO), "then the table of them is made read-only"
    assert not elf.segment(Elf.PT_GNU_STACK)[1] & 1, "no code on the stack"
    assert all(one[1] & 3 != 3 for one in elf.segments if one[0] == 1), "nothing is both written and executed"


def test_calls_are_checked():
    """_FORTIFY_SOURCE, and the stack's canary. (The line reader has no call that could be.)"""
    if SAN:
        pytest.skip("AddressSanitizer checks them itself")
    found = program_and_reader()
    symbols = found["stackprobe"].symbols()
    assert {"__snprintf_chk", "__memcpy_chk", "__stack_chk_fail"} <= symbols.keys()
    assert "__stack_chk_fail" in found["stackprobe-lines"].symbols()


def test_indirect_jumps_are_marked():
    """-fcf-protection: a function begins with endbr64. The note by which a kernel switches it on is there only if all
    that is linked has it; Debian 12's crt1.o has not."""
    if os.uname().machine != "x86_64":
        pytest.skip("x86-64's")
    elf = program_and_reader()["stackprobe"]
    at = elf.offset(elf.symbols()["stackprobe_doctor_burns"])
    assert elf.data[at : at + 4] == b"\xf3\x0f\x1e\xfa"
    gcc = shutil.which("gcc")
    begin = gcc and subprocess.run([gcc, "-print-file-name=Scrt1.o"], capture_output=True, text=True, check=True).stdout
    if not begin or b"\x02\x00\x00\xc0\x04\x00\x00\x00\x03" not in Path(begin.strip()).read_bytes():
        pytest.skip("libc's begin of a program isn't marked")
    assert b"\x02\x00\x00\xc0\x04\x00\x00\x00\x03" in elf.content(Elf.PT_GNU_PROPERTY)

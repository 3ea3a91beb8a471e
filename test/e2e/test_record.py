"""stackprobe record: one profile without HTTP."""
import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from folded import Profile
from helpers import BIN, HZ, SANITIZER_REPORT, missing_privilege, program, same_time, wait_for

LATER = "not available in this version"
SPUN = ("main", "outer", "middle", "inner_spin")


def run(*args, timeout=60, **kwargs):
    """stackprobe record, until it ends by itself."""
    argv = [str(arg) for arg in (BIN, "record", *args)]
    ended = subprocess.run(
        argv, capture_output=True, text=True, timeout=timeout, check=False, **kwargs
    )
    assert not SANITIZER_REPORT.search(ended.stderr), ended.stderr
    return ended


def begin(*args, **kwargs):
    argv = [str(arg) for arg in (BIN, "record", *args)]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


def has_begun(recorder, path):
    """Whether a command has written its pid there, as `sh -c 'echo $$ > path; …'` does."""
    assert recorder.poll() is None, recorder.communicate()
    return path.exists() and path.read_text().strip()


def wait_armed(recorder):
    """Until it samples: the clocks of the CPUs are its last descriptors."""

    def samples():
        assert recorder.poll() is None, recorder.communicate()
        try:
            links = [os.readlink(fd) for fd in Path(f"/proc/{recorder.pid}/fd").iterdir()]
        except FileNotFoundError:  # one was closed meanwhile
            return False
        return "anon_inode:[perf_event]" in links

    wait_for(samples, seconds=30)
    time.sleep(0.3)


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def out(work, needs_bpf):
    return work / "out.folded"


class Terminal:
    """A recording on a terminal of its own, as its foreground job."""

    def __init__(self, *args):
        argv = [str(arg) for arg in (BIN, "record", *args)]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(argv[0], argv)
        self.shown = ""
        self.status = None

    def read(self):
        """Takes what has been written meanwhile."""
        while select.select([self.fd], [], [], 0.05)[0]:
            try:
                text = os.read(self.fd, 65536).decode()
            except OSError:  # the other end is closed
                text = ""
            self.shown += text
            if not text:
                break
        return self.shown

    def type(self, keys):
        os.write(self.fd, keys)

    def wait(self, seconds=30):
        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid

        wait_for(ended, seconds=seconds, why=f"the end, after {self.shown!r}")
        self.read()
        return self.status

    def close(self):
        os.close(self.fd)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(needs_bpf):
    opened = []

    def make(*args):
        opened.append(Terminal(*args))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


# What is in the profile


def test_a_command_of_20_ms_has_its_main(out):
    for _ in range(5):
        ended = run("-F", 1000, "-o", out, "--", program("short_lived"), 0.02)
        assert ended.returncode == 0, ended.stderr
        profile = Profile(out.read_text())
        assert profile.total("main", "short_work") >= 5, out.read_text()
        assert profile.names == {"short_lived"}  # nothing from before its exec


def test_samples_are_the_cpu_time_of_the_command(out, observe):
    observer = observe(HZ)
    ended = run("-F", HZ, "-o", out, "--", program("spin"), 2)
    cpu_ns = json.loads(ended.stdout)["cpu_ns"]
    profile = Profile(out.read_text())
    # test_truth.py is the strict one
    same_time(profile.total(), HZ, cpu_ns, observer.ns(*profile.pids), within=0.15)
    assert profile.total(*SPUN) >= 0.95 * profile.total()


def test_what_the_command_starts_is_in_it_across_execs(out):
    script = f"{program('spin')} 0.3 && {program('forker')} 0.3 {program('short_lived')} 0.2; true"
    ended = run("-F", 500, "-o", out, "--", "sh", "-c", script)
    assert ended.returncode == 0, ended.stderr
    profile = Profile(out.read_text())
    assert profile.total(*SPUN) > 50
    assert profile.total("main", "parent_work") > 50
    assert profile.total("child_work") > 50
    assert profile.total("main", "short_work") > 30
    assert profile.names >= {"spin", "forker", "short_lived"}


def test_a_process_by_its_pid_is_recorded_with_what_it_starts(out, start):
    target = start("forker", "-w", 0.5, program("short_lived"), 0.3)
    other = start("spin", 30)
    wait_for(lambda: " T " in Path(f"/proc/{target.pid}/stat").read_text())
    recorder = begin("-F", 500, "-o", out, "-p", target.pid)
    wait_armed(recorder)
    os.kill(target.pid, signal.SIGCONT)
    child = target.first_line()["child"]
    target.finish()
    _, said = recorder.communicate(timeout=30)  # its processes have ended, and so has it
    assert recorder.returncode == 0, said
    profile = Profile(out.read_text())
    assert profile.pids == {target.pid, child}
    assert profile.total("main", "parent_work", pid=target.pid) > 100
    assert profile.total("main", "short_work", pid=child) > 50
    assert other.pid not in profile.pids


def test_several_pids_are_one_profile(out, start):
    targets = [start("spin", 60) for _ in range(3)]
    first, second, third = (target.pid for target in targets)
    ended = run("-d", 1, "-o", out, "-p", f"{first},{second}", "-p", third, "-p", first)
    assert ended.returncode == 0, ended.stderr
    assert Profile(out.read_text()).pids == {first, second, third}


def test_children_that_were_there_before_are_not_recorded(out, start):
    target = start("forker", 20, program("spin"), 20)
    child = target.first_line()["child"]
    assert run("-d", 0.5, "-o", out, "-p", target.pid).returncode == 0
    os.kill(child, signal.SIGKILL)
    assert Profile(out.read_text()).pids == {target.pid}


def test_a_process_that_ended_before_anything_was_sampled_makes_an_empty_profile(work, needs_bpf):
    for name in ("out.svg", "out.folded", "out.json"):
        ended = run("-o", work / name, "--", "sleep", 0.05)
        assert ended.returncode == 0
        assert (work / name).exists()
    sleeper = subprocess.Popen(["sleep", "60"])
    ended = run("-d", 0.2, "-o", work / "still.folded", "-p", sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert ended.returncode == 0
    assert "an empty profile, no samples" in ended.stderr
    assert (work / "still.folded").read_text() == ""


def test_one_that_nobody_has_waited_for_ends_the_recording(out):
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: " Z " in Path(f"/proc/{zombie.pid}/stat").read_text())
    ended = run("-o", out, "-p", zombie.pid, timeout=20)
    zombie.wait()
    assert ended.returncode == 0, ended.stderr
    assert out.read_text() == ""


# The command is as if it were started directly

SHOW = r"""
import json, os, resource, signal
def ids():
    return {name: os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{name}")}
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
mask = os.umask(0)
print(json.dumps({
    "fds": sorted(name for name, to in ids().items() if not to.startswith("/proc/")),
    "signals": [status[name].strip() for name in ("SigBlk", "SigIgn", "SigCgt")],
    "umask": mask,
    "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource)
               if name.startswith("RLIMIT_")],
    "cwd": os.getcwd(), "env": dict(os.environ), "nice": os.nice(0),
    "group": os.getpgrp() == os.getpgid(os.getppid()), "session": os.getsid(0),
    "parent_death": status.get("Pdeathsig"),
}))
"""


def test_the_command_inherits_what_it_would_have_had(work, out):
    def change():
        os.umask(0o037)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 500), hard))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    command = [sys.executable, "-c", SHOW]
    kwargs = {"cwd": work, "preexec_fn": change, "stdin": subprocess.DEVNULL}
    direct = subprocess.run(command, capture_output=True, text=True, check=True, **kwargs)
    recorded = run("-o", out, "--", *command, **kwargs)
    assert recorded.returncode == 0, recorded.stderr
    assert json.loads(recorded.stdout) == json.loads(direct.stdout)


def test_the_file_has_the_mode_of_the_umask(out):
    assert run("-o", out, "true", preexec_fn=lambda: os.umask(0o027)).returncode == 0
    assert out.stat().st_mode & 0o7777 == 0o640


def test_standard_input_and_output_are_the_commands(out):
    ended = run("-o", out, "--", "cat", input="through\n")
    assert ended.stdout == "through\n"


def test_standard_descriptors_that_are_closed_are_closed_for_the_command(out):
    show = "import os; os.write(3, repr([os.path.exists(f'/proc/self/fd/{n}') for n in range(3)]).encode())"
    found, given = os.pipe()

    def change():
        os.dup2(given, 3)
        os.closerange(0, 3)

    argv = [BIN, "record", "-o", out, "--", sys.executable, "-S", "-c", show]
    ended = subprocess.run(argv, preexec_fn=change, pass_fds=[3, given], timeout=60, check=False)
    os.close(given)
    assert ended.returncode == 0
    with os.fdopen(found) as answer:
        assert answer.read() == repr([False] * 3)
    assert out.exists()


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_the_exit_status_is_the_commands(out, status):
    ended = run("-o", out, "--", "sh", "-c", f"exit {status}")
    assert ended.returncode == status
    assert out.exists()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGSEGV", "SIGHUP", "SIGUSR1"])
def test_a_command_that_a_signal_kills_ends_it_by_that_signal(out, name):
    ended = run("-o", out, "--", "sh", "-c", f"kill -{name[3:]} $$")
    assert ended.returncode == -getattr(signal, name)
    assert out.exists()


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(work, out):
    ended = run("-o", out, "--", "no-such-command")
    assert ended.returncode == 127
    assert "no-such-command" in ended.stderr
    plain = work / "plain"
    plain.write_text("")
    assert run("-o", out, "--", plain).returncode == 126
    assert run("-o", out, "--", work).returncode == 126
    assert not out.exists() and not leftovers(work)


def test_options_behind_the_commands_name_are_the_commands(out):
    assert run("-o", out, "echo", "-d", "-F").stdout == "-d -F\n"


# How it ends


def test_a_duration_ends_it_and_the_command(work, out):
    before = time.monotonic()
    ended = run("-d", 0.7, "-o", out, "--", program("spin"), 60)
    assert 0.7 <= time.monotonic() - before < 30
    assert ended.returncode == 0, ended.stderr
    assert Profile(out.read_text()).total(*SPUN) > 0
    script = "trap 'exit 9' TERM; while :; do sleep 0.05; done"
    assert run("-d", 0.7, "-o", out, "--", "sh", "-c", script).returncode == 9


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_ends_a_recording_of_a_process_and_it_is_written(out, start, name):
    target = start("spin", 60)
    recorder = begin("-o", out, "-p", target.pid)
    wait_armed(recorder)
    time.sleep(0.5)
    recorder.send_signal(getattr(signal, name))
    _, said = recorder.communicate(timeout=20)
    assert recorder.returncode == 0, said
    assert Profile(out.read_text()).total(*SPUN, pid=target.pid) > 0
    assert target.popen.poll() is None  # it goes on


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_for_the_recorder_alone_reaches_the_command(work, out, name):
    begun = work / "begun"
    script = f"echo $$ > {begun}; exec {program('spin')} 60"
    recorder = begin("-o", out, "--", "sh", "-c", script)
    pid = int(wait_for(lambda: has_begun(recorder, begun)))
    time.sleep(0.5)
    recorder.send_signal(getattr(signal, name))
    recorder.communicate(timeout=20)
    assert recorder.returncode == -getattr(signal, name)
    assert not Path(f"/proc/{pid}").exists()
    assert Profile(out.read_text()).total(*SPUN, pid=pid) > 0


def test_a_command_that_ignores_an_interrupt_gets_sigterm_at_the_second(work, out):
    begun = work / "begun"
    script = f"trap '' INT; echo $$ > {begun}; exec {program('spin')} 60"
    recorder = begin("-o", out, "--", "sh", "-c", script)
    wait_for(lambda: has_begun(recorder, begun))
    time.sleep(0.5)
    recorder.send_signal(signal.SIGINT)
    wait_for(out.exists, why="the profile, while the command runs on")
    assert Profile(out.read_text()).total(*SPUN) > 0
    time.sleep(0.5)
    assert recorder.poll() is None
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=20)
    assert recorder.returncode == -signal.SIGTERM


def test_a_job_that_is_stopped_goes_on(work, out):
    begun = work / "begun"
    script = f"echo $$ > {begun}; exec {program('spin')} 1"
    recorder = begin("-o", out, "--", "sh", "-c", script, preexec_fn=os.setpgrp)
    wait_for(lambda: has_begun(recorder, begun))
    os.killpg(recorder.pid, signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(recorder.pid, os.WUNTRACED)[1])
    os.killpg(recorder.pid, signal.SIGCONT)
    _, said = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, said
    assert Profile(out.read_text()).total(*SPUN) > 50


def test_sigkill_leaves_no_waiting_process_and_no_file(work, out):
    recorder = begin("-o", out, "--", "sleep", 0.5)
    recorder.kill()
    recorder.communicate(timeout=20)
    assert not out.exists() and not leftovers(work)


# On a terminal


def test_ctrl_c_ends_command_and_recording_and_the_profile_is_written(terminal, out):
    shown = terminal("-o", out, "--", program("spin"), 60)
    wait_for(lambda: re.search(r"stackprobe: [1-9]\d* s, \d+ samples, 0 lost", shown.read()))
    shown.type(b"\x03")
    assert shown.wait() == -signal.SIGINT
    assert Profile(out.read_text()).total(*SPUN) > 0
    assert re.search(r"wrote .*out\.folded: \d+ samples of 1 process in [^\n]*\r\n$", shown.shown)


def test_ctrl_c_reaches_the_command_once(terminal, work, out):
    caught = work / "caught"
    script = f"trap 'echo caught >> {caught}; sleep 0.5; exit 7' INT; while :; do sleep 0.05; done"
    shown = terminal("-o", out, "--", "sh", "-c", script)
    wait_for(lambda: " 1 s," in shown.read())
    shown.type(b"\x03")
    assert shown.wait() == 7
    assert caught.read_text() == "caught\n"
    assert out.exists()


def test_a_second_ctrl_c_does_not_lose_the_profile(terminal, out):
    shown = terminal("-o", out, "--", "sh", "-c", f"trap '' INT; exec {program('spin')} 60")
    wait_for(lambda: " 1 s," in shown.read())
    shown.type(b"\x03")
    wait_for(lambda: "out.folded" in shown.read(), why="the line that it is written")
    time.sleep(0.3)
    shown.type(b"\x03")
    assert shown.wait() == -signal.SIGTERM
    assert Profile(out.read_text()).total(*SPUN) > 0


def test_the_progress_line_is_drawn_over_itself_and_erased(terminal, out, start):
    target = start("spin", 60)
    shown = terminal("-d", 2.5, "-o", out, "-p", target.pid)
    assert shown.wait() == 0
    drawn = re.findall(r"\rstackprobe: (\d+) s, (\d+) samples, \d+ lost", shown.shown)
    assert [int(seconds) for seconds, _ in drawn] == sorted({int(s) for s, _ in drawn})
    assert len(drawn) >= 2 and int(drawn[-1][1]) > 0
    before_last_line = shown.shown.rsplit("\r", 3)[-3]
    assert before_last_line.strip(" ") == ""  # blanks over it
    assert shown.shown.count("\n") == 1


def test_no_progress_line_where_a_full_screen_program_runs(terminal, out):
    shown = terminal("-o", out, "--", "sh", "-c", "sleep 0.2; stty raw; sleep 1.5; stty sane")
    assert shown.wait() == 0
    assert not re.search(r"stackprobe: [1-9] s,", shown.shown)


def test_without_a_terminal_there_is_one_line_at_the_end(out):
    ended = run("-d", 1.3, "-o", out, "--", program("spin"), 60)
    assert re.fullmatch(
        r"stackprobe: wrote .*: \d+ samples of 1 process in \d+\.\d\d s, 0 lost, \d+ truncated\n",
        ended.stderr,
    )
    assert run("-q", "-d", 0.3, "-o", out, "--", program("spin"), 60).stderr == ""


# Where it is written


def test_the_ending_of_the_name_chooses_the_format(work, needs_bpf):
    for name in ("out.svg", "out.folded", "out.json"):
        ended = run("-o", work / name, "--", program("spin"), 0.3)
        assert ended.returncode == 0, ended.stderr
    assert "<title>" in (work / "out.svg").read_text()
    assert Profile((work / "out.folded").read_text()).total(*SPUN) > 10
    assert json.loads((work / "out.json").read_text())["total"] > 10
    assert not leftovers(work)


def test_a_dash_is_folded_text_where_the_commands_output_does_not_disturb_it(needs_bpf):
    ended = run("-q", "-o", "-", "--", program("spin"), 0.3)
    assert Profile(ended.stdout).total(*SPUN) > 10
    assert "cpu_ns" in ended.stderr


def test_without_a_name_it_is_stackprobe_svg_in_the_working_folder(work, needs_bpf):
    assert run("--", "true", cwd=work).returncode == 0
    assert (work / "stackprobe.svg").read_text().startswith("<?xml")


def test_an_existing_file_is_replaced_when_the_new_one_is_whole(work, out):
    out.write_text("before")
    recorder = begin("-o", out, "--", "sleep", 1)
    time.sleep(0.5)
    assert out.read_text() == "before"
    recorder.communicate(timeout=20)
    assert out.read_text() != "before"
    assert not leftovers(work)


def test_a_fifo_is_written_to_and_stays(work, needs_bpf):
    fifo = work / "fifo.folded"
    os.mkfifo(fifo)
    recorder = begin("-o", fifo, "--", program("spin"), 0.3)
    assert Profile(fifo.read_text()).total(*SPUN) > 10
    recorder.communicate(timeout=20)
    assert fifo.is_fifo()


@pytest.mark.parametrize("where", ["no-such-folder/out.svg", "file/out.svg", "folder.svg"])
def test_a_path_that_cannot_be_written_is_said_before_the_command_starts(work, where):
    (work / "file").write_text("")
    (work / "folder.svg").mkdir()
    ended = run("-o", work / where, "--", "touch", work / "ran")
    assert ended.returncode == 1
    assert where in ended.stderr
    assert not (work / "ran").exists()


def test_a_full_disk_is_status_one_and_the_file_before_is_kept(needs_bpf, work):
    disk = work / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        (disk / "out.svg").write_text("before")
        ended = run("-o", disk / "out.svg", "--", program("spin"), 0.2)
        kept, left = (disk / "out.svg").read_text(), leftovers(disk)
    finally:
        subprocess.run(["umount", disk], check=True)
    assert ended.returncode == 1
    assert "No space left" in ended.stderr
    assert (kept, left) == ("before", [])


# What it refuses


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-p", "1", "--", "true"],
        ["-p", "x"],
        ["-p", ""],
        ["-p", "1,,2"],
        ["-p", "-1"],
        ["-p", "99999999999"],
        ["-d", "0", "true"],
        ["-d", "-1", "true"],
        ["-d", "nan", "true"],
        ["-d", "1s", "true"],
        ["-d", "1e400", "true"],
        ["-F", "0", "true"],
        ["-F", "1001", "true"],
        ["-F", "10.5", "true"],
        ["-e", "frobs", "true"],
        ["-e", "", "true"],
        ["-o", "x.png", "true"],
        ["-o", "svg", "true"],
        ["--no-such-option", "true"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_two_and_says_why(args):
    ended = run(*args)
    assert ended.returncode == 2
    assert ended.stderr.strip()


def test_an_unknown_ending_and_an_unknown_probe_say_what_there_is():
    assert ".svg, .folded, .json or .jsonl" in run("-o", "x.png", "true").stderr
    assert "oncpu, offcpu" in run("-e", "frobs", "true").stderr


def test_what_is_not_built_is_status_one_before_anything_starts(work):
    ended = run("-o", "x.pb.gz", "--", "touch", work / "ran", cwd=work)
    assert ended.returncode == 1
    assert ended.stderr == f"stackprobe: {LATER}: .pb.gz\n"
    assert not (work / "ran").exists()


def test_a_pid_without_a_process_is_said(start):
    target = start("spin", 0)
    target.finish()
    ended = run("-p", target.pid)
    assert ended.returncode == 1
    assert f"no process has the pid {target.pid}" in ended.stderr


def test_a_thread_is_answered_with_its_process(start):
    target = start("threads", 5)
    tids = wait_for(
        lambda: [t.name for t in Path(f"/proc/{target.pid}/task").iterdir()][1:], why="threads"
    )
    ended = run("-p", tids[0])
    assert ended.returncode == 1
    assert str(target.pid) in ended.stderr


def test_without_privileges_one_sentence_says_what_is_missing(work):
    if os.geteuid() != 0:
        assert missing_privilege()
    work.chmod(0o777)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        ended = run("-o", work / "x.svg", "--", "touch", work / "ran", **nobody)
    except PermissionError:
        pytest.skip("the program lies where only root can reach it")
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and "CAP_BPF" in ended.stderr
    assert not (work / "ran").exists() and not (work / "x.svg").exists()


def test_in_a_pid_namespace_of_its_own_it_says_so(work, needs_bpf):
    spaces = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*spaces, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespace can be made here")
    argv = [*spaces, BIN, "record", "-o", work / "x.svg", "--", "touch", work / "ran"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "pid namespace" in ended.stderr and ended.stderr.count("\n") == 1
    assert not (work / "ran").exists() and not (work / "x.svg").exists()


def test_help_tells_all_options():
    shown = run("--help")
    assert shown.returncode == 0
    for option in ("--pid", "--event", "--duration", "--frequency", "--output", "--quiet"):
        assert option in shown.stdout


def test_a_commands_first_allocation_is_in_it(work, needs_bpf):
    ended = run("-e", "mem,mem_glibc", "-o", "out.folded", program("firsts"), cwd=work,
                stdin=subprocess.DEVNULL)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    # Far more than is sampled, so it is for sure; its stack may be cut, for the program is new.
    allocated = Profile((work / "out.mem_glibc.folded").read_text())
    assert allocated.total("first_thing") == told["bytes"]
    assert allocated.total("malloc") == allocated.total() < told["bytes"] + 2**20
    grown = Profile((work / "out.mem.folded").read_text())
    assert told["touched"] * 0.8 < grown.total("[anon]") < told["touched"] * 1.2
    assert "objects" in ended.stderr and "faults" in ended.stderr
    assert "thinned" not in ended.stderr


def test_what_a_process_holds_at_the_end_is_a_view(needs_bpf):
    grows = "import time\nkept = []\nwhile True: kept.append(bytearray(10**6)); time.sleep(0.002)"
    target = subprocess.Popen([sys.executable, "-c", grows])
    try:
        ended = run("-e", "mem_glibc", "--view", "inuse", "-p", target.pid, "-d", 1, "-o", "-")
        none = run("-e", "mem_glibc", "--view", "mmap", "-p", target.pid, "-d", 0.2, "-o", "-")
    finally:
        target.kill()
        target.wait()
    assert ended.returncode == none.returncode == 0, ended.stderr
    assert Profile(ended.stdout).total("malloc") > 20 * 10**6
    assert " objects, in " in ended.stderr
    assert none.stdout == "" and " mappings, in " in none.stderr, "malloc's own maps are no view's"


@pytest.mark.parametrize(
    "args, word",
    [
        (["-e", "mem_glibc", "--view", "leak", "-p", "1"], "alloc, inuse, mmap"),
        (["-e", "mem", "--view", "inuse", "-p", "1"], "mem_glibc"),
        (["-e", "mem_glibc", "--view", "inuse", "--", "true"], "-p"),
    ],
    ids=str,
)
def test_a_view_that_makes_no_sense_is_wrong_usage(args, word):
    ended = run(*args)
    assert ended.returncode == 2
    assert word in ended.stderr

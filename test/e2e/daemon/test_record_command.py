"""stackprobe record and the command that it runs: as if it were started directly, and how both end."""
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
from helpers import BIN, program, wait_burned, wait_for
from recorder import SPUN, begin, has_begun, leftovers, out, run, wait_armed


SECONDS = r" [1-9]\d* s,"  # in the progress line: on a busy host the first one may be the second


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
    assert run("-d", 2, "-o", out, "--", "sh", "-c", script).returncode == 9  # its trap is set by then


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_ends_a_recording_of_a_process_and_it_is_written(out, start, name):
    target = start("spin", 60)
    recorder = begin("-o", out, "-p", target.pid)
    wait_armed(recorder)
    wait_burned(target.pid, seconds=0.2)
    recorder.send_signal(getattr(signal, name))
    _, said = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, said
    assert Profile(out.read_text()).total(*SPUN, pid=target.pid) > 0
    assert target.popen.poll() is None  # it goes on


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_for_the_recorder_alone_reaches_the_command(work, out, name):
    begun = work / "begun"
    script = f"echo $$ > {begun}; exec {program('spin')} 60"
    recorder = begin("-o", out, "--", "sh", "-c", script)
    pid = int(wait_for(lambda: has_begun(recorder, begun)))
    wait_burned(pid, seconds=0.2)
    recorder.send_signal(getattr(signal, name))
    recorder.communicate(timeout=60)
    assert recorder.returncode == -getattr(signal, name)
    assert not Path(f"/proc/{pid}").exists()
    assert Profile(out.read_text()).total(*SPUN, pid=pid) > 0


def test_a_command_that_ignores_an_interrupt_gets_sigterm_at_the_second(work, out):
    begun = work / "begun"
    script = f"trap '' INT; echo $$ > {begun}; exec {program('spin')} 60"
    recorder = begin("-o", out, "--", "sh", "-c", script)
    wait_burned(int(wait_for(lambda: has_begun(recorder, begun))), seconds=0.2)
    recorder.send_signal(signal.SIGINT)
    wait_for(out.exists, why="the profile, while the command runs on")
    assert Profile(out.read_text()).total(*SPUN) > 0
    time.sleep(0.5)
    assert recorder.poll() is None
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=60)
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
    recorder.communicate(timeout=60)
    assert not out.exists() and not leftovers(work)


# On a terminal


def test_ctrl_c_ends_command_and_recording_and_the_profile_is_written(terminal, out):
    shown = terminal("-o", out, "--", program("spin"), 60)
    wait_for(lambda: re.search(r"stackprobe: [1-9]\d* s, \d+ samples, 0 lost", shown.read()), 30)
    shown.type(b"\x03")
    assert shown.wait() == -signal.SIGINT
    assert Profile(out.read_text()).total(*SPUN) > 0
    assert re.search(r"wrote .*out\.folded: \d+ samples of 1 process in [^\n]*\r\n$", shown.shown)


def test_ctrl_c_reaches_the_command_once(terminal, work, out):
    caught = work / "caught"
    script = f"trap 'echo caught >> {caught}; sleep 0.5; exit 7' INT; while :; do sleep 0.05; done"
    shown = terminal("-o", out, "--", "sh", "-c", script)
    wait_for(lambda: re.search(SECONDS, shown.read()))
    shown.type(b"\x03")
    assert shown.wait() == 7
    assert caught.read_text() == "caught\n"
    assert out.exists()


def test_a_second_ctrl_c_does_not_lose_the_profile(terminal, out):
    shown = terminal("-o", out, "--", "sh", "-c", f"trap '' INT; exec {program('spin')} 60")
    wait_for(lambda: re.search(SECONDS, shown.read()))
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
        r"stackprobe: wrote .*: \d+ samples of 1 process in \d+\.\d\d s, 0 lost, \d+ truncated( \(.*\))?\n",
        ended.stderr,
    )
    assert run("-q", "-d", 0.3, "-o", out, "--", program("spin"), 60).stderr == ""

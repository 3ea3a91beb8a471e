"""`stackprobe top`: once, as text and JSON; and its screens, in tmux."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers import BIN, cpu_ns, wait_for
from scene import children

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux isn't installed")


def top(*args, timeout=30):
    argv = [str(arg) for arg in (BIN, "top", *args)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)


class Screen:
    """A terminal in which `top` runs."""

    def __init__(self, work, name, *args, columns=80, rows=24, term="screen", env=()):
        self.tmux = ["tmux", "-f", "/dev/null", "-S", str(work / "tmux.sock")]
        self.name = name
        command = ["env", f"TERM={term}", *env, str(BIN), "top", *map(str, args)]
        text = " ".join(command) + "; echo ended with $?; sleep 100"
        self.run("-u", "new-session", "-d", "-s", name, "-x", str(columns), "-y", str(rows), "-c", str(work), text)

    def run(self, *args):
        return subprocess.run(self.tmux + list(args), capture_output=True, text=True, check=True).stdout

    def keys(self, *keys):
        self.run("send-keys", "-t", self.name, *keys)

    def text(self, *options):
        return self.run("capture-pane", "-p", *options, "-t", self.name)

    def wait(self, *parts, without=(), seconds=20):
        def is_there():
            text = self.text()
            return text if all(part in text for part in parts) and not any(part in text for part in without) else None

        return wait_for(is_there, seconds, every=0.1, why=lambda: f"{parts} in\n{self.text()}")

    def resize(self, columns, rows):
        self.run("resize-window", "-t", self.name, "-x", str(columns), "-y", str(rows))

    def pid(self):
        (shell,) = self.run("list-panes", "-t", self.name, "-F", "#{pane_pid}").split()
        return wait_for(lambda: children(int(shell)), why="it runs")[0]

    def end(self):
        subprocess.run(self.tmux + ["kill-server"], capture_output=True, check=False)


@pytest.fixture
def screens(work):
    made = []

    def make(*args, **kwargs):
        made.append(Screen(work, f"s{len(made)}", *args, **kwargs))
        return made[-1]

    yield make
    for screen in made[:1]:
        screen.end()


def row_in(text, pid):
    lines = [line for line in text.splitlines() if re.match(rf" *{pid} ", line)]
    return lines[0] if lines else None


@pytest.mark.quick
def test_it_looks_once(profiler, start):
    target = start("spin", 60)

    def look():
        found = top("--once", "--socket", profiler.socket, "-n", 1000)
        assert found.returncode == 0, found.stderr
        row = row_in(found.stdout, target.pid)
        return row and "spin" in row and float(re.search(r"spin\s+\S*\s+(\d+\.\d)", row)[1]) > 0 and found

    found = wait_for(look, why="a second in which it had a CPU")
    lines = found.stdout.splitlines()
    assert lines[0].startswith("stackprobe top") and "%CPU" in lines[3]
    assert max(map(len, lines)) <= 100


def test_once_as_json_is_what_the_daemon_says(profiler, start):
    target = start("spin", 60)
    found = top("--once", "--json", "--socket", profiler.socket, "-n", 3, "--by", "cpu", "-d", 2)
    assert found.returncode == 0, found.stderr
    (line,) = found.stdout.splitlines()
    said = json.loads(line)
    assert said["by"] == "run_ns" and said["group_by"] == "pid" and len(said["rows"]) == 3
    assert 1.9 < said["until"] - said["from"] < 20
    everybody = json.loads(top("--once", "--json", "--socket", profiler.socket, "-n", 10000).stdout)
    (mine,) = [row for row in everybody["rows"] if row.get("pid") == target.pid]
    assert mine["comm"] == "spin" and mine["run_ns"] > 0


def test_json_comes_line_by_line_until_nobody_reads(profiler):
    argv = [str(BIN), "top", "--json", "--socket", str(profiler.socket), "-n", "5"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        said = [json.loads(child.stdout.readline()) for _ in range(3)]
        child.stdout.close()
        assert child.wait(20) == 1  # it couldn't write
    for before, after in zip(said, said[1:]):
        assert after["from"] == before["until"]


def test_without_a_daemon_it_has_one_of_its_own(work, start):
    target = start("spin", 60)
    found = top("--once", "--json", "--alone", "-n", 10000, timeout=60)
    assert found.returncode == 0, found.stderr
    assert target.pid in {row.get("pid") for row in json.loads(found.stdout)["rows"]}
    argv = [str(BIN), "top", "--json", "--alone"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        (own,) = children(child.pid)
        os.kill(child.pid, signal.SIGKILL)
        wait_for(lambda: not os.path.exists(f"/proc/{own}"), why="its daemon ends with it")


def test_what_can_not_be_had_is_said(profiler, work):
    found = top("--once", "--socket", work / "nobody.sock")
    assert found.returncode == 1 and "no daemon listens" in found.stderr
    assert top("--by", "bogus").returncode == top("--group", "none").returncode == top("extra").returncode == 2
    assert top("--alone", "--socket", "x").returncode == 2
    found = top("--socket", profiler.socket)  # standard output is a pipe
    assert found.returncode == 1 and "--once" in found.stderr
    assert "cpu, wait" in top("--help").stdout


@needs_tmux
def test_the_screen_shows_rows_and_obeys_keys(profiler, start, screens):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid)
    text = screen.wait("1 row by pid, sorted by cpu", "spin", "%CPU", "q quit")
    lines = text.splitlines()
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    assert re.search(r"CPUs +\d+ +busy +\d", lines[1])
    assert row_in(text, target.pid)
    wait_for(lambda: re.search("[▁-█]{3}", row_in(screen.text(), target.pid) or ""), why=screen.text)
    screen.keys("Right")
    screen.wait("sorted by wait")
    screen.keys("Left", "r")
    screen.wait("sorted by cpu, smallest first")
    screen.keys("/", "Escape")
    screen.wait("by pid, sorted by", without=["; filter"])
    screen.keys("/", "s", "p", "x", "BSpace", "i", "Enter")
    screen.wait("filter spi", "spin")
    screen.keys("?")
    screen.wait("flame graph of the row's process", "page faults")
    screen.keys("x")
    screen.wait("by pid, sorted by", without=["page faults"])
    screen.keys("g")
    screen.wait("by comm, sorted by", "spin", "PROCS")
    screen.keys("Space")
    screen.wait("(paused)")
    screen.keys("q")
    screen.wait("ended with 0")


@needs_tmux
def test_a_row_becomes_a_flame_graph(profiler, start, screens, work):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid)
    screen.wait("1 row by pid")
    screen.keys("f")
    screen.wait(f"oncpu of {target.pid} spin, 10 s")
    screen.keys("f")
    screen.wait("one flame graph at a time")
    screen.wait("written: stackprobe-oncpu-", seconds=40)
    (picture,) = work.glob(f"stackprobe-oncpu-{target.pid}-spin-*.svg")
    text = picture.read_text()
    assert "<svg" in text and "spin" in text


@needs_tmux
def test_a_container_s_row_becomes_a_flame_graph_of_its_processes(profiler, start, screens, work, podman):
    """Two of one container, and none of what else runs."""
    start("chain", 20, 60)
    one = podman.run("c", "sh", "-c", "/opt/c_spin 600 & exec /opt/c_spin 600")
    wait_for(lambda: [cpu_ns(pid) > 1e8 for pid in (one.pid, *children(one.pid))] == [True] * 2, why="both burn")
    screen = screens("--socket", profiler.socket, "--group", "container", "--filter", one.name)
    screen.wait("1 row by container", one.name)
    screen.keys("f")
    screen.wait(f"oncpu of {one.name}, 10 s")
    screen.wait("written: stackprobe-oncpu-", seconds=40)
    (picture,) = work.glob("stackprobe-oncpu-*.svg")
    text = picture.read_text()
    assert "c_spin" in text and "f001" not in text
    assert len(set(re.findall(r"c_spin\W+(\d+)", text))) == 2


@needs_tmux
def test_it_follows_the_size_of_the_terminal(profiler, start, screens):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid)
    text = screen.wait("1 row by pid", "spin")
    assert "DWRITE" not in text
    screen.resize(132, 40)
    text = screen.wait("DWRITE", "MIGR", "spin")
    assert len(text.splitlines()) == 40
    screen.resize(30, 8)
    screen.wait(str(target.pid), without=["DWRITE"])
    screen.resize(80, 24)
    screen.wait("q quit", "spin")


@needs_tmux
@pytest.mark.parametrize("term, args, env", [("vt100", (), ()), ("screen", ("--no-color",), ()), ("screen", (), ("NO_COLOR=1",))])
def test_it_works_without_colours(profiler, start, screens, term, args, env):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid, *args, term=term, env=env)
    screen.wait("1 row by pid", "spin")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", screen.text("-e"))


@needs_tmux
def test_colours_are_there_where_the_terminal_has_them(profiler, start, screens):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid)
    screen.wait("1 row by pid", "spin")
    wait_for(lambda: re.search(r"\x1b\[[0-9;]*32m", screen.text("-e")), why=screen.text)


@needs_tmux
def test_it_says_that_the_daemon_has_ended_and_goes_on_with_the_next(profiler, start, screens):
    target = start("spin", 60)
    screen = screens("--socket", profiler.socket, "--filter", target.pid)
    screen.wait("1 row by pid", "spin")
    profiler.stop()
    screen.wait("no daemon listens", str(target.pid))
    profiler.start()
    screen.wait("1 row by pid", "spin", without=["no daemon"])
    os.kill(screen.pid(), signal.SIGTERM)
    screen.wait("ended with 0")


@needs_tmux
def test_a_name_can_not_write_to_the_terminal(profiler, screens):
    script = r"printf '\033[2Jbad\007' > /proc/$$/comm; while :; do :; done"
    with subprocess.Popen(["sh", "-c", script]) as target:
        screen = screens("--socket", profiler.socket, "--filter", target.pid)
        text = screen.wait("1 row by pid", "?[2Jbad?")
        assert "CPUs" in text
        target.kill()


def test_a_user_without_rights_gets_the_daemons_words(profiler):
    profiler.socket.parent.chmod(0o711)
    argv = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs",
            str(BIN), "top", "--once", "--socket", str(profiler.socket)]  # fmt: skip
    found = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert found.returncode == 1 and "role" in found.stderr, found.stderr

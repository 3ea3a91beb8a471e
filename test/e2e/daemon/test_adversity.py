"""What goes wrong around the daemon: profiling goes on, what is lost is counted and said, and all is
well again when the cause is gone.
"""
import http.client
import os
import re
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from asking import burning
from folded import Profile
from helpers import BIN, SAN, lost, wait_burned, wait_for

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
HALF = b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\njson={"


def metric(daemon, name, **labels):
    """The value of a metric; with labels the one that has them, without the sum of all."""
    found = 0.0
    for line in daemon.get("/metrics").text.split("\n"):
        match = re.fullmatch(rf"stackprobe_{name}(?:{{(.*)}})? (\S+)", line)
        if match and all(f'{k}="{v}"' in (match[1] or "") for k, v in labels.items()):
            found += float(match[2])
    return found


class Cutter:
    """Ends the period that runs, by a change of params, without stopping."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.frame = 1

    def cut(self):
        self.wait_samples()
        before = self.outcomes()
        self.frame = 1 - self.frame
        self.daemon.put_ok({"params": {"thread_frame": self.frame}})
        wait_for(lambda: self.outcomes() > before, why="files that are written, or not")

    def wait_samples(self):
        """Until there are some more."""
        before = self.daemon.probe()["samples"]
        wait_for(lambda: self.daemon.probe()["samples"] > before + 50, 30, why="sampling goes on")

    def outcomes(self):
        return metric(self.daemon, "files_written_total") + metric(
            self.daemon, "files_failed_total"
        )

    def cut_well(self):
        """Cuts, and the new files are whole."""
        written = metric(self.daemon, "files_written_total")
        failed = metric(self.daemon, "files_failed_total")
        svgs = set(self.daemon.files(self.daemon.svg_dir, "svg"))
        foldeds = set(self.daemon.files(self.daemon.flame_dir, "folded"))
        self.cut()
        assert metric(self.daemon, "files_failed_total") == failed, self.daemon.log
        assert metric(self.daemon, "files_written_total") == written + 1
        (svg,) = set(self.daemon.files(self.daemon.svg_dir, "svg")) - svgs
        (folded,) = set(self.daemon.files(self.daemon.flame_dir, "folded")) - foldeds
        ElementTree.parse(svg)
        profile = Profile(folded.read_text())
        assert profile.total("inner_spin") > 0.8 * profile.total() > 0
        assert svg.stem[:19] == folded.stem[:19], "they have their second in common"
        return svg, profile

    def cut_badly(self, cause):
        """Cuts, and the files are lost, counted with their cause, and said."""
        said = len(self.daemon.log)
        failed = metric(self.daemon, "files_failed_total", cause=cause)
        unwritten = metric(self.daemon, "unwritten_samples_total")
        self.cut()
        assert metric(self.daemon, "files_failed_total", cause=cause) == failed + 1, self.daemon.log
        assert metric(self.daemon, "unwritten_samples_total") > unwritten
        assert self.daemon.probe()["state"] == "running"
        self.wait_samples()
        files = self.daemon.config()["status"]["files"]
        assert files["failed"][cause] == failed + 1
        (line,) = [text for text in self.daemon.log[said:].split("\n") if " error " in text[:40]]
        assert files["last_failure"] in line
        return line


@pytest.fixture
def cutter(profiler, start):
    target = burning(start)
    profiler.profile(pids=[target.pid], frequency=500)
    return Cutter(profiler)


@pytest.fixture
def mount(work):
    """mount(folder, options): a small file system of its own."""
    mounted = []

    def run(folder, options):
        folder.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=750,{options}", "adversity", folder],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if made.returncode:
            pytest.skip(f"nothing can be mounted: {made.stderr}")
        mounted.append(folder)

    yield run
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(path):
    """Writes until the disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass


def test_a_disk_that_is_full_loses_its_files_only(mount, profiler, cutter):
    mount(profiler.svg_dir, "size=300k")
    _, before = cutter.cut_well()
    assert before.total()
    fill(profiler.svg_dir / "filler")
    line = cutter.cut_badly("no_space")
    assert "No space left on device" in line and str(profiler.svg_dir) in line
    kept = {p.name for p in profiler.svg_dir.rglob("*") if p.is_file()}
    assert len([name for name in kept if name.endswith(".svg")]) == 2  # the first and its link
    # What has room is kept: the folded text lies elsewhere.
    assert len(profiler.files(profiler.flame_dir, "folded")) == 2
    cutter.cut_badly("no_space")
    (profiler.svg_dir / "filler").unlink()
    svg, _ = cutter.cut_well()
    assert (profiler.svg_dir / "oncpu/latest.svg").resolve() == svg


def test_a_disk_that_is_full_for_the_folded_text_leaves_the_picture(mount, profiler, cutter):
    mount(profiler.flame_dir, "size=16k")
    fill(profiler.flame_dir / "filler")
    line = cutter.cut_badly("no_space")
    assert str(profiler.flame_dir) in line
    (svg,) = profiler.files(profiler.svg_dir, "svg")
    ElementTree.parse(svg)
    (profiler.flame_dir / "filler").unlink()
    cutter.cut_well()


def test_folders_that_were_removed_are_made_again(profiler, cutter):
    cutter.cut_well()
    for folder in (profiler.svg_dir, profiler.flame_dir):
        shutil.rmtree(folder)
    svg, _ = cutter.cut_well()
    assert (profiler.svg_dir / "oncpu/latest.svg").resolve() == svg


def test_a_folder_that_is_read_only_loses_its_files_only(mount, profiler, cutter):
    mount(profiler.svg_dir, "size=1m")
    cutter.cut_well()
    subprocess.run(["mount", "-o", "remount,ro", profiler.svg_dir], check=True)
    line = cutter.cut_badly("not_writable")
    assert "Read-only file system" in line
    subprocess.run(["mount", "-o", "remount,rw", profiler.svg_dir], check=True)
    cutter.cut_well()


def test_something_else_in_the_folder_s_place_is_said(profiler, cutter):
    cutter.cut_well()
    shutil.rmtree(profiler.svg_dir)
    profiler.svg_dir.write_text("a file")
    cutter.cut_badly("bad_folder")
    profiler.svg_dir.unlink()
    cutter.cut_well()


def test_files_that_failed_at_the_end_do_not_hold_it_up(mount, profiler, cutter):
    mount(profiler.svg_dir, "size=300k")
    fill(profiler.svg_dir / "filler")
    time.sleep(0.3)
    profiler.stop()
    assert "No space left on device" in profiler.log


PERIOD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)–(?:\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d)")


def period(text):
    """From and until in a picture's title, as seconds of the day."""
    match = PERIOD.search(text)
    assert match, text[:3000]
    first, last = match[1].split(" ")[1], match[2]
    return tuple(sum(int(n) * 60 ** (2 - i) for i, n in enumerate(t.split(":")))
                 for t in (first, last))  # fmt: skip


def test_a_clock_set_back_by_an_hour_changes_names_only(needs_bpf, daemon, start, work, monkeypatch):
    if SAN:
        pytest.skip("a sanitizer's build can't be preloaded with libfaketime")
    if not FAKETIME.exists():
        pytest.skip("no libfaketime")
    offset = work / "offset"
    offset.write_text("+0")
    daemon.stop()
    monkeypatch.setenv("LD_PRELOAD", str(FAKETIME))
    monkeypatch.setenv("FAKETIME_TIMESTAMP_FILE", str(offset))
    monkeypatch.setenv("FAKETIME_NO_CACHE", "1")
    monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    daemon.start()
    for name in ("LD_PRELOAD", "FAKETIME_TIMESTAMP_FILE"):
        monkeypatch.delenv(name)
    target = burning(start)
    daemon.profile(pids=[target.pid], frequency=500, svg_period=30)
    cutter = Cutter(daemon)
    first, _ = cutter.cut_well()
    offset.write_text("-3600")
    began = time.monotonic()
    second, profile = cutter.cut_well()
    moments = [time.mktime(time.strptime(p.stem[:19], "%Y-%m-%d-%H-%M-%S")) for p in (first, second)]
    assert -3700 < moments[1] - moments[0] < -3500, "faketime moves the daemon's clock"
    assert (daemon.svg_dir / "oncpu/latest.svg").resolve() == second
    begin, end = period(second.read_text())
    assert 0 <= (end - begin) % 86400 <= 10, second.read_text()[:3000]
    assert profile.total("inner_spin")

    # The picture of now: the period before as well, while this one is short.
    time.sleep(1)
    begin, end = period(daemon.get("/flamegraph/oncpu.svg").text)
    assert 0 <= (end - begin) % 86400 <= 40
    # The period ends when it is due, not an hour later.
    wait_for(lambda: len(daemon.files(daemon.svg_dir, "svg")) == 3, seconds=60, every=0.5)
    assert time.monotonic() - began > 25
    offset.write_text("+0")
    cutter.cut_well()
    offset.write_text("-7200")
    daemon.stop()  # does not wait for its clock


def limit_files(daemon, soft):
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))


def start_with_files(daemon, count):
    """Starts it again with so many descriptors at most."""
    daemon.stop()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    argv = [str(BIN), "--config", str(daemon.conf), "--listen", f"127.0.0.1:{daemon.port}"]
    offset = len(daemon.log)

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    with daemon.log_path.open("ab") as log:
        daemon.popen = subprocess.Popen(  # pylint: disable=consider-using-with
            argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=lower
        )
    wait_for(lambda: "listening on" in daemon.log[offset:], why="it listens")
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_sixty_four_descriptors_are_enough(profiler, start, copy):
    start_with_files(profiler, 64)
    targets = [burning(lambda name, *a, n=n: start(copy(name, n), *a)) for n in ("aa", "bb", "cc")]
    profiler.profile(pids=[target.pid for target in targets], frequency=500)
    cutter = Cutter(profiler)
    wait_burned(*(target.pid for target in targets), seconds=0.3)
    profile = profiler.folded()
    for target in targets:
        mine = sum(s.value for s in profile.of(target.pid))
        assert profile.total("inner_spin", pid=target.pid) > 0.8 * mine > 0
    cutter.cut_well()
    assert lost_samples(profiler) == 0


def test_sixty_four_descriptors_are_enough_for_a_program_of_many_files(profiler, start):
    """Python with some thirty libraries: more than there are descriptors left. Some may lack their
    names, but neither its samples nor those of others are lost."""
    start_with_files(profiler, 64)
    spin = burning(start)
    python = start(Path("/usr/bin/python3"), "-c", "import ssl, sqlite3, lzma, bz2, ctypes, curses\n"
                   "import json, decimal, hashlib, zoneinfo, asyncio, readline\n"
                   "while True:\n    sum(range(1000))\n")  # fmt: skip
    wait_for(lambda: python.cpu_ns_now() > 3e8, why="it burns")
    profiler.profile(pids=[spin.pid, python.pid], frequency=500)
    cutter = Cutter(profiler)
    wait_burned(spin.pid, python.pid, seconds=0.3)
    profile = profiler.folded()
    assert profile.total("inner_spin", pid=spin.pid) > 0
    assert sum(s.value for s in profile.of(python.pid)) > 20
    written = metric(profiler, "files_written_total")
    cutter.cut()
    assert metric(profiler, "files_written_total") == written + 1, profiler.log
    assert lost_samples(profiler) == 0


def lost_samples(daemon):
    return lost(daemon.probe())


NO_DESCRIPTORS = 'stackprobe_files_failed_total{cause="no_descriptors"} 1\n'


def ask_over(sock, path):
    """What the daemon answers over a connection that is there already."""
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    response = http.client.HTTPResponse(sock)
    response.begin()
    return response.read().decode()


def test_no_descriptor_left_is_said_and_passes(profiler, cutter):
    cutter.cut_well()
    with profiler.connect() as sock:  # made before: no new connection is accepted
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
        said = len(profiler.log)
        limit_files(profiler, 3)
        body = b'json={"params": {"multi_instance": 1}}'
        sock.sendall(b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
                     + body)  # fmt: skip
        answer = sock.recv(4096)
        waits = profiler.connect()
        waits.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if answer.startswith(b"HTTP/1.1 200"):
            wait_for(lambda: NO_DESCRIPTORS in ask_over(sock, "/metrics"), why="a file fails")
        limit_files(profiler, 1024)
    assert waits.recv(4096).startswith(b"HTTP/1.1 200")
    waits.close()
    assert profiler.log[said:].count("no descriptor is left") == 1
    assert "descriptors again" in profiler.log[said:]
    assert profiler.alive()
    if answer.startswith(b"HTTP/1.1 200"):
        wait_for(lambda: "Too many open files" in profiler.log[said:], why="it is said")
    else:
        assert b"Too many open files" in answer
    assert profiler.probe()["state"] == "running"
    time.sleep(0.5)
    before = cutter.outcomes()
    profiler.put_ok({"params": {"multi_instance": 0}})
    wait_for(lambda: cutter.outcomes() > before, why="the end of that period")
    cutter.cut_well()


def half_open(daemon, count):
    """Connections that never finish their request; some are closed by the daemon."""
    opened = []
    for _ in range(count):
        sock = socket.socket()
        sock.settimeout(0.5)
        try:
            sock.connect(("127.0.0.1", daemon.port))
            sock.sendall(HALF)
        except OSError:
            sock.close()  # or the kernel tries again, for seconds
        opened.append(sock)
    return opened


def is_healthy(daemon):
    """Whether it answers. Where it has room for four connections, one that has just come may have to go for others that
    wait."""
    try:
        return daemon.get("/healthz", timeout=10).status == 200
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return False


@pytest.mark.parametrize("descriptors", [None, 64], ids=["usual", "64"])
def test_three_hundred_half_open_connections_hold_nobody_up(profiler, start, descriptors):
    if descriptors:
        start_with_files(profiler, descriptors)
    target = burning(start)
    profiler.profile(pids=[target.pid], frequency=500)
    cutter = Cutter(profiler)
    with_half = half_open(profiler, 300)
    try:
        for _ in range(5):
            wait_for(lambda: is_healthy(profiler), 10, why="an answer")
        cutter.cut_well()
        again = half_open(profiler, 100)
        with_half += again
        wait_for(lambda: is_healthy(profiler), 10, why="an answer")
        cutter.cut_well()
    finally:
        for sock in with_half:
            sock.close()
    cutter.cut_well()
    assert lost_samples(profiler) == 0
    assert len(os.listdir(f"/proc/{profiler.pid}/fd")) < 200

"""What every end-to-end test uses: the daemon and target programs.

The shape of GET's "status" is known in one place, Daemon.probe and
Daemon.processes.
"""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
from pathlib import Path
from typing import NamedTuple

import pytest

from beside import TAG, WORKER, own_programs
from folded import Profile

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("STACKPROBE_BIN", ROOT / "build/stackprobe")).resolve()
BUILT_PROGRAMS = Path(os.environ.get("STACKPROBE_PROGRAMS", ROOT / "build/test/programs")).resolve()
PROGRAMS = own_programs(BUILT_PROGRAMS)
BPF_PROGRAMS = BUILT_PROGRAMS.parent / "bpf"
SAN = os.environ.get("STACKPROBE_SAN") == "1"

# Where tests run beside each other what takes seconds takes longer.
PATIENCE = 3 if WORKER else 1

# 1000 Hz keeps step with the scheduler's ticks (250 a second): where others want the CPU as well, a
# program is met at the same moment of each turn, and its samples are up to 9 % too many or too few.
HZ = 997

SUCCESS = '{ "result": "success", "message":"New config takes effect" }'
SANITIZER_REPORT = re.compile(r"ERROR: (Address|Leak)Sanitizer|runtime error:")


def program(name):
    """A test program's path. Without the compilers of Rust and of Go there is no rustnames, and none
    of Go's, without the C library of 32-bit programs none of these, and that is a skip."""
    path = PROGRAMS / name
    if not path.exists() and name == "rustnames":
        pytest.skip("rustnames was not built: no rustc")
    if not path.exists() and name.startswith("go"):
        pytest.skip(f"{name} was not built: no go")
    if not path.exists() and name.startswith("narrow_"):
        pytest.skip(f"{name} was not built: no C library of 32-bit programs")
    assert path.exists(), f"{path} is missing: run `make` first"
    return path


def wait_for(what, seconds=30, every=0.02, why=""):
    """The first true result of what(), asked until `seconds` are over, or PATIENCE times as much if they are many."""
    seconds *= PATIENCE if seconds >= 20 else 1
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds} s: {why() if callable(why) else why or what}"
        time.sleep(every)


def cpu_ns(pid):
    """CPU time of its threads so far, by the scheduler's own count."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks)


def wait_burned(*pids, seconds=1, within=60):
    """Until each has used so much more CPU time: its samples are so many, however busy the machine is."""
    began = {pid: cpu_ns(pid) for pid in pids}

    def used():
        return {pid: (cpu_ns(pid) - before_ns) / 1e9 for pid, before_ns in began.items()}

    wait_for(lambda: min(used().values()) >= seconds, within, 0.05, why=lambda: f"{seconds} s of CPU time: {used()}")


def ours(comm, **keys):
    """An entry of proc_name. Where tests run beside each other it chooses this test's worker's processes; those in
    containers have names of their own, c_…."""
    if WORKER and not comm.startswith("^c_"):
        keys.setdefault("cmdline", TAG)
    return {"comm": comm, **keys}


def by_name_alone(comm):
    """An entry for processes that are over before their command line could be read: of a program that no other test
    has under that name."""
    return {"comm": comm, "cmdline": ""}


def give_way(pid):
    """It burns while its test waits for something else: tests that wait for what burns come first."""
    assert pid, "it runs"
    os.setpriority(os.PRIO_PROCESS, pid, 5)


class Response(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    @property
    def message(self):
        """The sentence of an answer that says no, which is JSON in gala-gopher's shape."""
        answer = self.json()
        assert answer["result"] == "failed", answer
        return answer["message"]


def libconfig(value):
    """As a conf file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(libconfig(one) for one in value)})"
    return str(value) if isinstance(value, int) else json.dumps(str(value))


class Target:
    """A program that runs until it ends by itself or the test does. `how`: the user …, as Popen has it."""

    def __init__(self, argv, log, cpu=None, **how):
        self.log = log
        self.cpu_ns = None
        with log.open("wb") as out:
            argv = [arg if isinstance(arg, bytes) else str(arg) for arg in argv]
            self.popen = subprocess.Popen(argv, stdout=out, stderr=out, **how)
        if cpu is not None:
            os.sched_setaffinity(self.popen.pid, {cpu})

    @property
    def pid(self):
        return self.popen.pid

    def first_line(self):
        return json.loads(wait_for(lambda: "\n" in self.log.read_text() and self.log.read_text())
                          .split("\n", maxsplit=1)[0])

    def cpu_ns_now(self):
        return cpu_ns(self.pid)

    def finish(self):
        """Waits for its end. Sets cpu_ns, the kernel's figure; returns its last line of JSON."""
        self.reap()
        text = self.log.read_text()
        assert self.popen.returncode == 0, f"status {self.popen.returncode}: {text}"
        lines = text.strip().split("\n")
        return json.loads(lines[-1]) if lines[-1] else {}

    def kill(self):
        if self.popen.returncode is None:
            os.kill(self.pid, signal.SIGKILL)  # not popen.kill(), which reaps what has ended
            self.reap()

    def reap(self):
        _, status, usage = os.wait4(self.pid, 0)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)


class Daemon:
    """stackprobe, on a port of its own, with folders of its own."""

    crashes = []  # of all daemons: those that ended with an error, and reports of a sanitizer

    def __init__(self, work):
        self.work = work
        self.svg_dir = work / "svg"
        self.flame_dir = work / "flame"
        self.conf = work / "stackprobe.conf"
        self.socket = work / "api.sock"
        self.bind = "127.0.0.1"
        self.log_path = work / "stackprobe.log"
        self.popen = None
        self.killed = False
        self.port = 0
        self.options = []  # further ones of the command line
        self.before = []  # a command that execs it
        self.binary = BIN
        self.set_rest()

    def set_rest(self, **keys):
        """Writes the conf file, with these keys in rest_api_server."""
        rest = {"bind_addr": "127.0.0.1", "port": 0, "socket": self.socket, **keys}
        lines = "".join(f"{key} = {libconfig(value)};\n" for key, value in rest.items())
        self.conf.write_text(
            f"""global = {{ log_level = "info"; state_dir = "{self.work}/state";
            output_roots = ["/var/log", "/tmp"]; restore = false; process_metrics = -1; }};
            rest_api_server = {{ {lines} }};\n"""
        )

    def start(self):
        """Starts it and waits until it listens. After the first start the port stays the same."""
        assert BIN.exists(), f"{BIN} is missing: run `make` first"
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        argv = [*self.before, self.binary, "--config", self.conf, "--listen", f"{self.bind}:{self.port}", *self.options]
        with self.log_path.open("ab") as log:
            self.popen = subprocess.Popen(
                [*argv, "--log-level", "info"], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.killed = False

        def listening():
            log = self.log[offset:]
            assert self.popen.poll() is None, f"ended with {self.popen.returncode}:\n{log}"
            return re.search(rf"listening on {re.escape(self.bind.strip('[]'))}:(\d+)", log)

        self.port = int(wait_for(listening, why="a line that says it listens")[1])
        return self

    @property
    def pid(self):
        return self.popen.pid

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.popen.poll() is None and self.get("/healthz", timeout=10).status == 200

    def stop(self):
        """SIGTERM has to end it with status 0 within 10 s."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            status = self.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"SIGTERM did not end it within 10 s\n{self.log}")
        if status != 0:
            self.crashed(f"ended with {status}")
        assert status == 0, f"ended with {status}\n{self.log}"

    def crashed(self, how):
        """No clock has a part in that: it counts even if the test's next run goes well."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self.crashes.append(f"{test}: {how}")

    def kill(self):
        self.killed = True
        self.popen.kill()
        self.popen.wait()

    def done(self):
        """The end of a test: it must be alive, stop well and have reported no memory error."""
        if not self.killed:
            self.stop()
        report = SANITIZER_REPORT.search(self.log)
        if report:
            self.crashed(self.log[report.start() :].split("\n", maxsplit=1)[0])
        assert not report, self.log[report.start() :]

    # HTTP

    def http(self, timeout):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, timeout=30, conn=None):
        conn = conn or self.http(timeout)
        try:
            conn.request(method, path, body, {"Connection": "close", **(headers or {})})
            answer = conn.getresponse()
            return Response(answer.status, answer.headers, answer.read())
        finally:
            conn.close()

    def connect(self, timeout=10):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def get(self, path, timeout=30):
        return self.request("GET", path, timeout=timeout)

    def put(self, doc, **kwargs):
        """PUT /flamegraph of a document, or of bytes as they are."""
        body = doc if isinstance(doc, bytes) else b"json=" + json.dumps(doc).encode()
        return self.request("PUT", "/flamegraph", body, **kwargs)

    def put_ok(self, doc):
        answer = self.put(doc)
        assert answer.status == 200, answer.text

    def config(self):
        answer = self.get("/flamegraph")
        assert answer.status == 200, answer.text
        return answer.json()

    def settings(self):
        """GET without its status: what a PUT can change."""
        return {key: value for key, value in self.config().items() if key != "status"}

    # Profiling

    def wanting(self, *entries, pids=(), probes=("oncpu",), state="running", **params):
        """A body for PUT. An entry is a comm pattern or a whole entry of proc_name."""
        names = [ours(**e) if isinstance(e, dict) else ours(e) for e in entries]
        return {
            "cmd": {"probe": list(probes)},
            "snoopers": {"proc_id": list(pids), "proc_name": names},
            "params": {"svg_dir": str(self.svg_dir), "flame_dir": str(self.flame_dir), **params},
            "state": state,
        }

    def profile(self, *entries, probes=("oncpu",), **kwargs):
        """PUTs wanting(…) and waits until the probes are armed."""
        self.put_ok(self.wanting(*entries, probes=probes, **kwargs))
        for probe in probes:
            self.wait_running(probe)

    def wait_running(self, probe="oncpu"):
        wait_for(lambda: self.probe(probe)["state"] == "running", why=f"{probe} running")

    def probe(self, name="oncpu"):
        """Status of a probe: state, reason, samples, lost by place, truncated by cause."""
        return self.config()["status"]["probes"][name]

    def processes(self):
        """Matched processes: {pid: {pid, comm, …}}."""
        return {p["pid"]: p for p in self.config()["status"]["processes"]}

    def folded(self, probe="oncpu", **query):
        answer = self.get(f"/flamegraph/{probe}.folded?" + urllib.parse.urlencode(query))
        assert answer.status == 200, answer.text
        return Profile(answer.text)

    def files(self, folder, ending):
        """Written files below a folder, without the links to the newest."""
        # os.walk(): rglob() fails when a folder goes while it looks (that of temporary files does).
        paths = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
        return sorted(p for p in paths if p.suffix == f".{ending}" and not p.is_symlink())

    def written(self):
        """All folded files together."""
        return [Profile(p.read_text()) for p in self.files(self.flame_dir, "folded")]


def told_lost(probe):
    """{place: lost there}. Beside other tests without `process_unknown`: their programs of that name are undecided
    until their command lines are read, and some are over by then."""
    return {where: n for where, n in probe["lost"].items() if n and not (WORKER and where == "process_unknown")}


def lost(probe):
    """Samples lost in all places together."""
    return sum(told_lost(probe).values()) if isinstance(probe["lost"], dict) else probe["lost"]


def why_not(work, **keys):
    """What it says when it doesn't start with these keys of rest_api_server."""
    daemon = Daemon(work)
    daemon.set_rest(**keys)
    done = subprocess.run([BIN, "--config", daemon.conf], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    return done.stdout + done.stderr


def stopped(comm="^nothing-like-this$", **params):
    """A body for PUT that configures on-CPU profiling and starts nothing."""
    return {
        "cmd": {"probe": ["oncpu"]},
        "snoopers": {"proc_name": [{"comm": comm}]},
        "params": params or {"multi_instance": 0},
        "state": "stopped",
    }


def missing_privilege():
    """Why BPF can't be used here, or None."""
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel has no BTF (/sys/kernel/btf/vmlinux)"
    status = Path("/proc/self/status").read_text()
    capabilities = int(re.search(r"CapEff:\s*(\w+)", status)[1], 16)
    sys_admin, perfmon, bpf = (capabilities >> bit & 1 for bit in (21, 38, 39))
    if not sys_admin and not (perfmon and bpf):
        return "needs CAP_BPF and CAP_PERFMON"
    return None


def weather_ns(cpu_ns, beside_ns):
    """How far the clock's ticks are off, by an Observer's; a machine isn't that bad that it may be
    more than a quarter."""
    return min(abs(beside_ns - cpu_ns), 0.25 * cpu_ns)


def same_time(samples, hz, cpu_ns, beside_ns, within=0.03):
    """Samples × period has to be the CPU time, within a part of it. `beside_ns` is what an Observer
    at the same frequency found meanwhile: as much as that is off, the machine's clock was."""
    sampled_ns = samples * 1e9 / hz
    assert abs(sampled_ns - cpu_ns) <= within * cpu_ns + weather_ns(cpu_ns, beside_ns), (
        f"{samples} samples at {hz} Hz = {sampled_ns / 1e6:.1f} ms, "
        f"CPU time {cpu_ns / 1e6:.1f} ms: {sampled_ns / cpu_ns - 1:+.2%}; "
        f"another observer {beside_ns / cpu_ns - 1:+.2%}"
    )

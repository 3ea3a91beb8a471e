"""The trigger by pressure: a session that waits for it, samples for a period, and waits again.

Pressure is made in a cgroup of the test's own: what else runs on the machine has no part in it."""
import itertools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from folded import Profile
from helpers import BIN, wait_burned, wait_for

HIERARCHIES = Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")
# No host is stalled on I/O for ten seconds of ten, all of its tasks at once.
NEVER = "io full 10000000 10000000"
# Without CAP_SYS_RESOURCE, which the daemon gives up, the kernel sets triggers for windows of so many seconds alone.
BY_KERNEL, BY_LOOKING = 2000000, 1000000

numbers = itertools.count()


class Cgroup:
    """One of the test's own below the v2 hierarchy."""

    def __init__(self, hierarchy):
        self.name = f"/stackprobe-e2e-{os.getpid()}-{next(numbers)}"
        self.path = Path(f"{hierarchy}{self.name}")
        self.hierarchy = hierarchy
        self.make()

    def make(self):
        self.path.mkdir()

    def put(self, target):
        (self.path / "cgroup.procs").write_text(str(target.pid))

    def remove(self):
        if self.path.exists():
            for pid in (self.path / "cgroup.procs").read_text().split():
                (self.hierarchy / "cgroup.procs").write_text(pid)
            self.path.rmdir()


@pytest.fixture
def cgroup():
    found = [path for path in HIERARCHIES if (path / "cgroup.procs").exists() and (path / "cgroup.controllers").exists()]
    if not found or os.geteuid() != 0:
        pytest.skip("needs root and a v2 hierarchy of cgroups, to make one of its own")
    if not Path("/proc/pressure/cpu").exists():
        pytest.skip("the kernel measures no pressure (PSI)")
    made = Cgroup(found[0])
    if not (made.path / "cpu.pressure").exists():
        made.remove()
        pytest.skip("cgroups have no pressure here")
    yield made
    made.remove()


@pytest.fixture
def press(start, cgroup):
    """press(): two programs that want one CPU, in the cgroup. Each waits for the other half of the time."""

    def begin(seconds=600):
        cpu = min(os.sched_getaffinity(0))
        targets = [start("spin", seconds, cpu=cpu) for _ in range(2)]
        for target in targets:
            cgroup.put(target)
        return targets

    return begin


def cpu_trigger(cgroup, window=BY_KERNEL):
    return f"cpu some 100000 {window} {cgroup.name}"


def trigger(daemon):
    return daemon.config()["status"]["trigger"]


def wait_state(daemon, state, probe="oncpu"):
    return wait_for(lambda: (now := daemon.probe(probe))["state"] == state and now, 60, why=lambda: daemon.probe(probe))


def bpf_programs(daemon):
    """Descriptors of BPF programs and of perf events that the daemon has."""
    found = []
    for fd in Path(f"/proc/{daemon.pid}/fd").iterdir():
        try:
            found.append(os.readlink(fd))
        except FileNotFoundError:
            continue  # closed just now
    return [name for name in found if re.search("bpf[-_](prog|link)|perf_event", name)]


def fired_total(daemon):
    return int(re.search(r"^stackprobe_trigger_fired_total (\d+)$", daemon.get("/metrics").text, re.MULTILINE)[1])


def folded_files(daemon, before=False):
    return [path for path in daemon.files(daemon.flame_dir, "folded") if ("before" in path.name) == before]


def test_without_one_it_is_off(daemon):
    daemon.put_ok(daemon.wanting("^nobody-is-called-so$", state="stopped"))
    assert daemon.settings()["params"]["trigger"] == ""
    assert trigger(daemon) == {"state": "off", "text": "", "waits_for": "", "how": "", "reason": "", "fired": 0,
                               "last_fired": 0}  # fmt: skip


@pytest.mark.quick
def test_it_waits_and_nothing_is_loaded(profiler, start):
    target = start("spin", 600)
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=("oncpu", "offcpu"), trigger=NEVER))
    assert profiler.probe("oncpu")["state"] == profiler.probe("offcpu")["state"] == "waiting"
    assert profiler.probe()["samples"] == 0
    assert bpf_programs(profiler) == []
    assert profiler.processes() == {}
    shown = trigger(profiler)
    assert shown["state"] == "waiting" and shown["text"] == NEVER and shown["fired"] == 0
    assert shown["waits_for"] == "all tasks stalled on io for 10000 ms within 10000 ms, on the whole host"
    assert shown["how"] in ("kernel", "each second") and (shown["how"] == "kernel") == (shown["reason"] == "")
    assert profiler.get("/flamegraph/oncpu.svg").status == 404
    metrics = profiler.get("/metrics").text
    for state in ("up", "down"):
        assert f'stackprobe_probe_{state}{{feature="flamegraph",probe="oncpu"}} 0\n' in metrics
    profiler.put_ok({"params": {"frequency": 99}})  # other params
    profiler.put_ok(profiler.settings())  # and what GET shows
    assert profiler.probe()["state"] == "waiting"
    profiler.put_ok({"state": "stopped"})
    assert profiler.probe()["state"] == "stopped" and trigger(profiler)["state"] == "off"
    profiler.put_ok({"params": {"trigger": ""}, "state": "running"})
    profiler.wait_running()


def test_a_session_on_demand_goes_beside_it(profiler, start):
    target = start("spin", 600)
    profiler.put_ok(profiler.wanting("^nobody-is-called-so$", trigger=NEVER))
    assert profiler.folded(pid=target.pid, seconds=1).total("inner_spin") > 0
    assert profiler.probe()["state"] == "waiting"
    wait_for(lambda: bpf_programs(profiler) == [])


@pytest.mark.quick
@pytest.mark.parametrize("window", [BY_KERNEL, BY_LOOKING], ids=["kernel", "looking"])
def test_pressure_begins_the_sampling(profiler, cgroup, press, window):
    profiler.put_ok(profiler.wanting("^spin$", trigger=cpu_trigger(cgroup, window)))
    shown = trigger(profiler)
    assert shown["state"] == "waiting", shown
    assert shown["how"] == ("kernel" if window == BY_KERNEL else "each second"), shown
    assert window == BY_KERNEL or "CAP_SYS_RESOURCE" in shown["reason"], shown
    targets = press()
    wait_state(profiler, "running")
    shown = trigger(profiler)
    assert shown["state"] == "sampling" and shown["fired"] == fired_total(profiler) == 1 and shown["last_fired"] > 0
    wait_for(lambda: set(profiler.processes()) >= {target.pid for target in targets})
    wait_burned(*(target.pid for target in targets), seconds=0.5)
    assert profiler.folded().total("inner_spin") > 0
    assert "the trigger fired" in profiler.log
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: folded_files(profiler))
    wait_for(lambda: bpf_programs(profiler) == [])
    assert trigger(profiler)["state"] == "off"


def test_after_the_period_it_waits_and_fires_again(profiler, cgroup, press):
    profiler.put_ok(profiler.wanting("^spin$", trigger=cpu_trigger(cgroup), svg_period=30))
    targets = press()
    wait_state(profiler, "running")
    wait_burned(*(target.pid for target in targets), seconds=0.5)
    for target in targets:
        target.kill()
    wait_state(profiler, "waiting")
    wait_for(lambda: folded_files(profiler))
    assert Profile(folded_files(profiler)[0].read_text()).total("inner_spin") > 0
    wait_for(lambda: bpf_programs(profiler) == [])
    assert trigger(profiler)["fired"] == 1 and not folded_files(profiler, before=True)
    assert profiler.get("/flamegraph/oncpu.folded").status == 200  # of the period before
    press()
    wait_state(profiler, "running")
    assert fired_total(profiler) == 2


def test_what_was_before_gets_a_file(profiler, cgroup, press):
    targets = press()
    profiler.profile("^spin$", probes=("oncpu", "offcpu"))
    wait_burned(*(target.pid for target in targets), seconds=0.5)
    # The period ends with that, and history has its window.
    profiler.put_ok({"params": {"trigger": cpu_trigger(cgroup)}})
    (of_period,) = wait_for(lambda: [p for p in folded_files(profiler) if "oncpu" in p.parts])
    wait_state(profiler, "running")
    found = wait_for(lambda: [p for p in folded_files(profiler, before=True) if "oncpu" in p.parts])
    before = Profile(found[0].read_text())
    assert re.fullmatch(r"\d{4}(-\d\d){5}-before\.folded", found[0].name)
    assert before.total("inner_spin") == Profile(of_period.read_text()).total("inner_spin") > 0
    pictures = wait_for(lambda: [p for p in profiler.files(profiler.svg_dir, "svg") if p.stem == found[0].stem])
    assert len(pictures) == 1
    assert "before" not in os.readlink(profiler.svg_dir / "oncpu/latest.svg")


@pytest.mark.parametrize("text, says", [
    ("disk some 1 500000", "word 1, disk, must be cpu, memory or io"),
    ("cpu any 1 500000", "word 2, any, must be some or full"),
    ("cpu some 0 500000", "word 3, 0, must be the stall in microseconds, from 1 to 10000000"),
    ("cpu some 1", "word 4 is missing: it must be the window in microseconds, from 500000 to 10000000"),
    ("cpu some 600000 500000", "word 3, 600000, must be no longer than the window, which is word 4"),
    ("cpu some 1 500000 /a/../..", 'the cgroup\'s path must not have ".."'),
])  # fmt: skip
def test_a_wrong_text_is_refused(daemon, text, says):
    answer = daemon.put(daemon.wanting("^x$", state="stopped", trigger=text))
    assert answer.status == 400
    assert answer.message == f"params.trigger invalid value: {says}"
    assert says in answer.json()["detail"] and "STALL_US" in answer.json()["detail"]
    assert daemon.config() == {}


@pytest.mark.parametrize("resource", ["cpu", "memory", "io"])
def test_where_the_kernel_measures_no_pressure_that_is_said(profiler, resource):
    profiler.stop()  # as without psi=1: its folder is empty
    profiler.before = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc/pressure && exec "$@"', "sh"]
    profiler.start()
    answer = profiler.put(profiler.wanting("^x$", trigger=f"{resource} some 500000 2000000"))
    assert answer.status == 200, answer.text
    reason = profiler.probe()["reason"]
    assert reason.startswith("this kernel measures no pressure (PSI)") and "psi=1" in reason
    assert answer.json()["warnings"] == [f"params.trigger can't fire now: {reason}"]


@pytest.mark.parametrize("window", [BY_KERNEL, BY_LOOKING], ids=["kernel", "looking"])
def test_a_cgroup_comes_and_goes(daemon, cgroup, window):
    cgroup.remove()
    answer = daemon.put(daemon.wanting("^x$", trigger=cpu_trigger(cgroup, window)))
    missing = f"there is no cgroup {cgroup.name}"
    assert answer.status == 200 and answer.json()["warnings"] == [f"params.trigger can't fire now: {missing}"]
    assert daemon.probe()["state"] == "failed" and daemon.probe()["reason"] == missing
    assert trigger(daemon)["state"] == "failed" and trigger(daemon)["reason"] == missing
    cgroup.make()
    wait_state(daemon, "waiting")
    cgroup.remove()
    gone = wait_state(daemon, "failed")
    # The second is what it finds when it looks again.
    assert gone["reason"] in (f"the cgroup {cgroup.name} was removed", missing)
    assert f"the cgroup {cgroup.name} was removed" in daemon.log
    cgroup.make()
    daemon.put_ok({"state": "running"})  # a PUT looks at once
    assert daemon.probe()["state"] == "waiting"


def test_a_restart_waits_again(daemon):
    daemon.conf.write_text(daemon.conf.read_text().replace("restore = false;", "restore = true;"))
    daemon.stop()
    daemon.start()
    daemon.put_ok(daemon.wanting("^x$", trigger=NEVER))
    before = daemon.settings()
    daemon.stop()
    daemon.start()
    wait_state(daemon, "waiting")
    assert daemon.settings() == before
    assert bpf_programs(daemon) == []
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: "SIGHUP" in daemon.log)
    assert json.loads(daemon.get("/flamegraph").text)["status"]["trigger"]["state"] == "waiting"


# record --trigger


def recording(work, *args):
    """A recording that waits, and what it has said so far."""
    err = work / "record.err"
    with err.open("wb") as out:
        popen = subprocess.Popen([BIN, "record", "-o", str(work / "out.folded"), *args], stdout=out, stderr=out)
    wait_for(lambda: "waits for its trigger: " in err.read_text() or popen.poll() is not None, why=err.read_text)
    assert popen.poll() is None, err.read_text()
    return popen, err


def test_record_begins_when_it_fires(needs_bpf, work, cgroup, press, start):
    target = start("spin", 600)
    popen, err = recording(work, "-p", str(target.pid), "-d", "1", "--trigger", cpu_trigger(cgroup))
    assert "some tasks stalled on cpu for 100 ms within 2000 ms" in err.read_text()
    press()
    assert popen.wait(60) == 0, err.read_text()
    assert "the trigger fired, the recording begins" in err.read_text()
    assert Profile((work / "out.folded").read_text()).total("inner_spin") > 0


def test_a_signal_ends_the_waiting_of_record(needs_bpf, work):
    popen, err = recording(work, "-a", "--trigger", NEVER)
    popen.send_signal(signal.SIGINT)
    assert popen.wait(30) == 1
    assert "nothing was recorded: the trigger hasn't fired" in err.read_text()
    assert not (work / "out.folded").exists()


def test_record_says_what_is_wrong_with_a_trigger(work):
    done = subprocess.run([BIN, "record", "-a", "--trigger", "cpu some 1"], cwd=work, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 2 and "word 4 is missing: it must be the window" in done.stderr
    done = subprocess.run([BIN, "record", "-a", "--trigger", "cpu some 1 500000 /there/is/no/such"], cwd=work,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert "can't wait for the trigger: " in done.stderr

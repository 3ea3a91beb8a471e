"""`stackprobe doctor`: what it says is so, and changes where privileges and kernel change."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from accounts import COUNTING, PROBES as PROC_PROBES
from helpers import BIN, wait_for
from sched_client import PROBES
from seccomp import BPF, PERF_EVENT_OPEN, forbidding, needs_filters

pytestmark = pytest.mark.xdist_group("sysctl")

NOBODY = 65534
SWAPON = 167  # x86-64
STATES = {"yes", "limited", "no"}
SETTINGS = ("kptr_restrict", "perf_event_paranoid", "unprivileged_bpf_disabled",
            "bpf_stats_enabled", "perf_event_max_stack")  # fmt: skip


class Report:
    """What `doctor --json` says."""

    def __init__(self, ended):
        assert ended.returncode in (0, 1), ended.stderr
        self.status = ended.returncode
        self.stderr = ended.stderr
        self.doc = json.loads(ended.stdout)
        self.probes = {p["name"]: p for p in self.doc["probes"]}
        self.rows = {c["name"]: c for c in self.doc["capabilities"]}

    def state(self, name):
        return self.rows[name]["state"]


def run(*before, args=("--json",), binary=BIN, **kwargs):
    argv = [str(arg) for arg in (*before, binary, "doctor", *args)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False, **kwargs)


def report(*before, **kwargs):
    return Report(run(*before, **kwargs))


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")


def effective():
    status = Path("/proc/self/status").read_text()
    bits = int(re.search(r"CapEff:\s*(\w+)", status)[1], 16)
    return {name for name, bit in NUMBERS.items() if bits >> bit & 1}


NUMBERS = {"dac_override": 1, "dac_read_search": 2, "sys_ptrace": 19, "sys_admin": 21,
           "sys_resource": 24, "syslog": 34, "perfmon": 38, "bpf": 39,
           "checkpoint_restore": 40}  # fmt: skip


@pytest.fixture
def public(work):
    """The program where everybody may run it."""
    work.chmod(0o755)
    path = work / "stackprobe"
    shutil.copy(BIN, path)
    path.chmod(0o755)
    return path


@pytest.fixture
def stranger():
    """A process of another user than root."""
    needs("setpriv")
    with subprocess.Popen(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sleep", "100"]
    ) as process:
        status = Path(f"/proc/{process.pid}/status")
        wait_for(lambda: f"Uid:\t{NOBODY}" in status.read_text(), why="it is nobody's")
        yield process
        process.kill()


def without(*capabilities):
    """A command's beginning that drops capabilities; a skip where they aren't there anyway."""
    needs("setpriv")
    missing = set(capabilities) - effective()
    if os.geteuid() != 0 or missing:
        pytest.skip(f"needs root with {missing or 'all capabilities'}")
    return "setpriv", "--bounding-set", ",".join(f"-{name}" for name in capabilities)


def in_own_mounts(*commands):
    """A command's beginning that runs `commands` in a mount namespace of its own."""
    needs("unshare")
    if "sys_admin" not in effective():
        pytest.skip("needs CAP_SYS_ADMIN for a mount namespace")
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("no mount namespace can be made here (a chroot whose / is no mount?)")
    return "unshare", "-m", "sh", "-c", " && ".join((*commands, 'exec "$@"')), "sh"


def test_json_has_its_shape(needs_bpf):
    found = report()
    assert set(found.doc) >= {"version", "kernel", "arch", "uid", "ok", "probes", "capabilities"}
    assert found.doc["kernel"] == os.uname().release
    assert found.doc["arch"] == os.uname().machine
    assert found.doc["uid"] == os.geteuid()
    assert list(found.probes)[:4] == ["oncpu", "offcpu", "mem", "mem_glibc"]
    assert len(found.rows) == len(found.doc["capabilities"]) > 30
    for row in (*found.probes.values(), *found.rows.values()):
        assert row["state"] in STATES
        assert row["reason"], row
        assert row["state"] != "no" or row["remedy"] or row.get("built") is False, row
        assert row["state"] != "yes" or not row["remedy"], row
    for row in found.rows.values():
        assert row["group"] and "use" in row
    for probe in found.probes.values():
        assert set(probe["needs"]) <= set(found.rows)
        assert probe["kernel"]["state"] in STATES
        assert probe["built"]


def test_probes_of_sched_and_proc_have_a_row_each(needs_bpf):
    found = report()
    assert [row["name"] for row in found.doc["sched"]] == PROBES
    assert {row["name"] for row in found.doc["proc"]} == {*PROC_PROBES, *COUNTING}
    for row in found.doc["sched"] + found.doc["proc"]:
        assert row["state"] in STATES and row["reason"]
        assert set(row["needs"]) <= set(found.rows)
        missing = [name for name in row["needs"] if found.rows[name]["state"] == "no"]
        assert (row["state"] == "no") == bool(missing)
    assert "tp_btf" in found.doc["sched"][0]["needs"]
    assert "cpu_clock" in found.doc["sched"][1]["needs"]


def test_what_it_says_of_oncpu_is_what_the_daemon_does(profiler, start):
    found = report()
    assert (found.status, found.doc["ok"]) == (0, True)
    assert found.probes["oncpu"]["state"] in ("yes", "limited")
    samples, named = map(int, re.search(r"(\d+) samples in 0.1 s of ours, (\d+) with the name",
                                        found.probes["oncpu"]["reason"]).groups())  # fmt: skip
    assert samples >= named > 20  # its own start is among them, which is longer on a busy host
    target = start("spin", 60)
    profiler.profile(pids=[target.pid], frequency=500)
    assert profiler.probe()["state"] == "running"
    wait_for(lambda: profiler.folded().total("inner_spin") > 0, why="samples")
    metrics = profiler.get("/metrics").text
    readable = "stackprobe_kernel_names_readable 1" in metrics
    assert (found.state("kernel_names") == "yes") == readable


# What GET tells of a probe on any kernel; doctor tells what this one lacks.
NEVER = {"mem": "pages that the kernel gets for itself (MAP_POPULATE, mlock, direct I/O) show no event",
         "blkio": "disks without requests (zram, pmem) don't tell when they are done: what they take is counted in "
                  "unseen_bytes"}  # fmt: skip


def test_a_probe_has_the_limits_that_get_tells_of_it(profiler, start):
    found = report()
    runs = [name for name, row in found.probes.items() if row["kernel"]["state"] != "no" and ":" not in name]
    target = start("spin", 60)
    profiler.profile(pids=[target.pid], probes=runs)
    compared = 0
    for name in runs:
        row, told = found.probes[name], profiler.probe(name).get("unseen")
        if told is None:
            continue
        limits = {part for part in told.removeprefix(NEVER.get(name, "")).split("; ") if part}
        assert limits <= set(row["reason"].split("; ")), (name, row, told)
        assert limits <= set(row["kernel"]["reason"].split("; ")), (name, row, told)
        assert told.startswith(NEVER.get(name, "")) and (row["state"] == "limited" or not limits), (name, row, told)
        compared += 1
    assert compared >= 6, runs


@pytest.mark.quick
def test_rows_agree_with_what_the_kernel_shows(needs_bpf):
    found = report()
    held = effective()
    for name in ("sys_ptrace", "syslog", "sys_resource"):
        assert (found.state(f"cap_{name}") == "yes") == (name in held), name
    for name in ("bpf", "perfmon", "checkpoint_restore"):
        assert (found.state(f"cap_{name}") == "yes") == bool({name, "sys_admin"} & held), name
    assert found.state("btf") == "yes"
    for name in ("kprobe", "uprobe"):
        if not Path(f"/sys/bus/event_source/devices/{name}").exists():
            assert found.state(name) == "no"
    if not list(Path("/sys/kernel").glob("*/tracing/events")) and not Path(
        "/sys/kernel/tracing/events"
    ).exists():
        assert found.state("tracepoint") == "no"
        assert "tracefs" in found.rows["tracepoint"]["remedy"]
    depth = int(Path("/proc/sys/kernel/perf_event_max_stack").read_text())
    assert (found.state("kernel_stacks") == "yes") == (depth >= 127)


def test_tracepoints_are_found_where_tracefs_is_mounted(needs_bpf, work):
    at = "/sys/kernel/tracing"
    if not Path(at).exists():
        pytest.skip("the kernel has no tracefs")
    mounted = in_own_mounts(f"mountpoint -q {at} || mount -t tracefs tracefs {at}")
    assert report(*mounted).state("tracepoint") == "yes"


def test_the_table_is_readable(needs_bpf):
    ended = run(args=())
    lines = ended.stdout.split("\n")
    assert ended.returncode == 0 and not ended.stderr
    assert max(map(len, lines)) <= 100
    for name in report().rows:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line[len(name) + 2 :].split()[0] in STATES
    assert re.search(r"^  oncpu +(yes|limited) ", ended.stdout, re.MULTILINE)


def test_an_ordinary_user_is_told_what_is_missing(public):
    needs("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root to become nobody")
    nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    found = report(*nobody, binary=public)
    assert (found.status, found.doc["ok"], found.doc["uid"]) == (1, False, NOBODY)
    assert not found.stderr
    assert found.probes["oncpu"]["state"] == "no"
    assert "not permitted" in found.probes["oncpu"]["reason"]
    assert "CAP_BPF and CAP_PERFMON" in found.probes["oncpu"]["remedy"]
    for name in ("cap_bpf", "cap_perfmon", "cap_sys_ptrace", "cpu_clock", "raw_tracepoint",
                 "uprobe", "ring_buffer", "map_memory", "process_maps"):  # fmt: skip
        assert found.state(name) == "no", name
    assert "root" in found.rows["process_maps"]["remedy"]
    assert found.state("pid_namespace") == report().state("pid_namespace")


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_without_a_capability_for_bpf_that_one_is_named(missing, needs_bpf):
    found = report(*without(missing, "sys_admin"))
    assert found.status == 1
    assert found.state(f"cap_{missing}") == "no"
    for row in (found.probes["oncpu"], found.rows["cpu_clock"], found.rows["raw_tracepoint"]):
        assert row["state"] == "no"
        assert row["remedy"] == f"add CAP_{missing.upper()}"


@pytest.mark.alone("compares two trials, which a busy machine can limit")
def test_without_sys_admin_all_runs_but_what_needs_it(needs_bpf):
    usual, found = report(), report(*without("sys_admin"))
    for name in ("oncpu", "offcpu", "mem"):
        assert found.probes[name]["state"] == usual.probes[name]["state"], name
    assert found.state("cap_bpf") == found.state("cap_perfmon") == "yes"
    if usual.state("uprobe") == "yes" and found.state("uprobe") == "no":
        assert "CAP_SYS_ADMIN" in found.rows["uprobe"]["remedy"]
    needed = [row for name, row in found.probes.items() if name != "llc"]  # that needs a PMU
    assert found.status == int(any(row["state"] == "no" for row in needed))
    assert found.state("bpf_statistics") == "no"


@pytest.mark.parametrize(("calls", "named"), [
    ((BPF,), "bpf()"), ((PERF_EVENT_OPEN,), "perf_event_open()"),
    ((BPF, PERF_EVENT_OPEN), "bpf() and perf_event_open()"),
])  # fmt: skip
def test_a_filter_of_system_calls_is_told_from_a_privilege_that_lacks(needs_bpf, calls, named):
    """As a container has it whose runtime asks for CAP_SYS_ADMIN."""
    needs_filters()
    found = report(*without("sys_admin"), preexec_fn=forbidding(*calls))
    assert (found.status, found.state("seccomp")) == (1, "no")
    assert found.rows["seccomp"]["reason"] == f"a filter of system calls refuses {named}"
    assert found.state("cap_bpf") == found.state("cap_perfmon") == "yes"
    refused = ["ring_buffer", "raw_tracepoint"] if BPF in calls else ["cpu_clock"]
    for row in (found.probes["oncpu"], *map(found.rows.get, refused)):
        assert row["state"] == "no"
        assert "seccomp=unconfined" in row["remedy"] and "CAP_" not in row["remedy"]


def test_a_filter_that_lets_pass_what_is_needed_is_none(needs_bpf):
    needs_filters()
    found = report(preexec_fn=forbidding(SWAPON))
    assert found.rows["seccomp"]["reason"] == "a filter of system calls lets bpf() and perf_event_open() pass"
    assert report().state("seccomp") == "yes"


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_of_a_filter_and_a_capability_the_capability_comes_first(needs_bpf, missing):
    """For filters of runtimes go by it."""
    needs_filters()
    found = report(*without(missing, "sys_admin"), preexec_fn=forbidding(BPF, PERF_EVENT_OPEN))
    assert found.state("seccomp") != "yes"
    assert found.probes["oncpu"]["remedy"] == f"add CAP_{missing.upper()}"


def test_without_sys_ptrace_other_processes_are_closed(needs_bpf, stranger):
    found = report(*without("sys_ptrace"))
    for name in ("process_files", "process_memory"):  # recent kernels show maps to CAP_PERFMON
        assert found.state(name) == "no"
        assert "CAP_SYS_PTRACE" in found.rows[name]["remedy"]
    assert found.probes["oncpu"]["state"] == "limited"
    assert "CAP_SYS_PTRACE" in found.probes["oncpu"]["remedy"]
    assert report().state("process_maps") == "yes"


def test_without_checkpoint_restore_files_are_opened_by_path(needs_bpf, stranger):
    found = report(*without("checkpoint_restore", "sys_admin"))
    assert found.state("process_maps") == "yes"
    assert found.state("process_files") == "limited"
    assert "CAP_CHECKPOINT_RESTORE" in found.rows["process_files"]["remedy"]


def test_without_syslog_the_kernel_hides_its_names(needs_bpf):
    hidden = int(Path("/proc/sys/kernel/kptr_restrict").read_text()) > 0
    hidden |= int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 1
    if not hidden or report().state("kernel_names") != "yes":
        pytest.skip("this kernel's settings show or hide the names either way")
    found = report(*without("syslog", "sys_admin"))
    assert found.state("kernel_names") == "no"
    assert found.rows["kernel_names"]["remedy"] == "add CAP_SYSLOG"
    assert found.probes["oncpu"]["state"] == "limited"
    assert found.probes["readahead"]["state"] == "no"  # it looks for the kernel's functions by name
    assert found.status == 1


def test_without_kallsyms_oncpu_is_limited(needs_bpf, work):
    (work / "empty").touch()
    found = report(*in_own_mounts(f"mount --bind {work}/empty /proc/kallsyms"))
    assert found.state("kernel_names") == "no"
    assert "kallsyms" in found.rows["kernel_names"]["reason"]
    assert found.probes["oncpu"]["state"] == "limited"
    assert "kernel functions have no names" in found.probes["oncpu"]["reason"]


@pytest.mark.parametrize("content", [b"", b"\x9f\xeb\x01 this is no BTF" * 40], ids=["empty", "bad"])
def test_without_btf_nothing_runs_and_the_kernel_option_is_named(needs_bpf, work, content):
    (work / "btf").write_bytes(content)
    found = report(*in_own_mounts(f"mount --bind {work}/btf /sys/kernel/btf/vmlinux"))
    assert found.status == 1
    assert not found.stderr
    for row in (found.probes["oncpu"], found.rows["btf"], found.rows["tp_btf"]):
        assert row["state"] == "no"
        assert "CONFIG_DEBUG_INFO_BTF" in row["remedy"]
    for name in ("raw_tracepoint", "cpu_clock", "ring_buffer"):  # need none
        assert found.state(name) == "yes"


def test_in_a_pid_namespace_samples_of_it_cannot_be_found(needs_bpf):
    in_own_mounts()  # or a skip
    found = report("unshare", "-p", "-f", "--mount-proc")
    assert found.status == 1
    assert found.state("pid_namespace") == found.probes["oncpu"]["state"] == "no"
    assert "pid namespace" in found.probes["oncpu"]["remedy"]


def test_in_a_user_namespace_its_privileges_do_not_count(public):
    needs("unshare")
    ended = run("unshare", "-Ur", binary=public)
    if ended.returncode not in (0, 1) or not ended.stdout:
        pytest.skip(f"no user namespace: {ended.stderr}")
    found = Report(ended)
    assert found.state("user_namespace") == found.state("cap_bpf") == "no"
    assert found.probes["oncpu"]["state"] == "no"
    assert "user namespace" in found.probes["oncpu"]["remedy"]


def test_a_stripped_program_finds_itself_too(needs_bpf, public):
    needs("strip")
    subprocess.run(["strip", public], check=True)
    assert report(binary=public).probes["oncpu"]["state"] == report().probes["oncpu"]["state"]


def children(pid):
    try:
        return {int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()


@pytest.mark.alone("stops a process that lives for milliseconds")
def test_a_trial_that_hangs_is_given_up_and_leaves_nothing(needs_bpf):
    """A child after the first is stopped: that trial never answers."""
    argv = [BIN, "doctor", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as doctor:
        seen = set()

        def second():
            found = children(doctor.pid) - seen
            if found and len(seen) < 1:
                seen.update(found)  # the profile
            return found and seen and next(iter(found - seen), None)

        child = wait_for(second, every=0.0005, why="a second child")
        os.kill(child, signal.SIGSTOP)
        out, _ = doctor.communicate(timeout=90)
    found = json.loads(out)
    hung = [c["name"] for c in found["capabilities"] if "hung and was given up" in c["reason"]]
    assert len(hung) == 1, hung
    assert found["probes"][0]["state"] in ("yes", "limited", "no")
    wait_for(lambda: not Path(f"/proc/{child}").exists(), why="it is gone")


def test_no_setting_is_changed(needs_bpf):
    def settings():
        return [Path(f"/proc/sys/kernel/{name}").read_text() for name in SETTINGS]

    before = settings()
    report()
    assert settings() == before


def test_usage():
    shown = run(args=("--help",))
    assert shown.returncode == 0 and "--json" in shown.stdout
    assert run(args=("--frob",)).returncode == 2
    assert run(args=("more",)).returncode == 2

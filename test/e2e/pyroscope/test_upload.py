"""What is uploaded: all of it, as the server takes it, and the same as the files have."""
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import oracle
from beside import own_folder
from helpers import Target, program, wait_for
from pyroscope_double import Pyroscope
from uploads import (BUSY, CPU_NS, PROBES, TYPES, Uploader, assert_same, assert_whole, ends_aligned,
                     of_probe, pid_of, pushed_stacks, wait_windows)  # fmt: skip

CPU, SAMPLES = "process_cpu:cpu:nanoseconds:cpu:nanoseconds", TYPES["oncpu"][0]
ALLOC = {"memory:alloc_objects:count:space:bytes", "memory:alloc_space:bytes:space:bytes"}
TYPES_OF = {
    "oncpu": {CPU, SAMPLES},
    "offcpu": {"off_cpu:waits:count::", "off_cpu:off_cpu:nanoseconds::"},
    "mem": ALLOC,
    "mem_glibc": ALLOC,  # what is held isn't sent: the server adds up all types over time
}


def sent(multi_instance):
    """Two programs under all probes for some windows, to their end: what arrived, what the files have, and what
    GET says."""
    work = own_folder()
    targets = [Target([program("spin"), 600], work / "spin.log"),
               Target(["/usr/bin/python3", "-c", BUSY], work / "busy.log")]  # fmt: skip
    daemon = Uploader(work, service_name="who it is").start()
    try:
        with Pyroscope() as server:
            pids = [target.pid for target in targets]
            daemon.send(server, pids=pids, probes=PROBES, multi_instance=multi_instance, mem_fault_bytes=4096)
            wait_windows(server, 2, PROBES)
            state = daemon.upload()
            daemon.end(server, PROBES)
            pushed = {probe: pushed_stacks(server.stored, probe) for probe in PROBES}
            files = {probe: daemon.wait_stacks(probe, set(map(pid_of, pushed[probe]))) for probe in PROBES}
            return SimpleNamespace(server=server, pids=pids, pushed=pushed, files=files, state=state,
                                   end=daemon.upload(), metrics=daemon.get("/metrics").text)  # fmt: skip
    finally:
        for target in targets:
            target.kill()
        daemon.done()
        shutil.rmtree(work)


@pytest.fixture(scope="module")
def runs():
    known = {}

    def of(multi_instance):
        if multi_instance not in known:
            known[multi_instance] = None  # unless it can be had, once
            known[multi_instance] = sent(multi_instance)
        assert known[multi_instance], "not measured"
        return known[multi_instance]

    return of


@pytest.fixture(params=[0, 1], ids=["merged", "apart"])
def run(request, needs_bpf, runs):
    return runs(request.param)


@pytest.fixture
def merged(needs_bpf, runs):
    return runs(0)


@pytest.fixture
def apart(needs_bpf, runs):
    return runs(1)


def sample_labels(run):
    """Keys of all samples' labels that aren't their series'."""
    return {key for one in run.server.stored for sample in one.samples
            for key in sample.labels.keys() - one.labels.keys()}  # fmt: skip


def test_all_is_accepted_at_once(run):
    assert_whole(run.server)
    assert (run.server.put_off, run.server.repeated, run.server.unanswered) == ([], [], 0)
    assert {(one.path, one.status) for one in run.server.asked} == {("/push.v1.PusherService/Push", 200)}


def test_no_moment_is_missing_and_windows_end_with_the_clock(run):
    windows = run.server.windows()
    assert {dict(labels)["probe"] for _, labels in windows} == set(PROBES)
    for (type, labels), of in windows.items():
        assert len(of) >= 3 and ends_aligned(of), (type, labels, of)
    assert run.server.doubled() == {}


def test_each_probe_has_its_types(run):
    for probe in PROBES:
        assert {type for one in of_probe(run.server.stored, probe) for type in one.types} == TYPES_OF[probe], probe


def library_of(pid, name):
    """Its path, once the process has mapped it."""

    def mapped():
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return next((line.split()[-1] for line in lines if name in line and " r-xp " in line), None)

    return wait_for(mapped, 20, why=name)


@pytest.mark.parametrize("probe", PROBES)
def test_it_is_what_the_files_have(run, probe):
    assert run.files[probe].total() > 50
    assert_same(run.pushed[probe], run.files[probe])


def test_time_is_samples_times_the_period(run):
    samples = run.files["oncpu"].total()
    assert samples > 300
    assert run.server.total(CPU) == samples * CPU_NS
    assert {one.profile.period for one in of_probe(run.server.stored, "oncpu")} == {CPU_NS}


def test_series_have_the_labels_that_find_them(run):
    for probe in PROBES:
        (labels,) = {tuple(sorted(one.labels.items())) for one in of_probe(run.server.stored, probe)}
        labels = dict(labels)
        assert set(labels) == {"__name__", "service_name", "host", "probe"}
        assert labels["service_name"] == "who it is"
        assert labels["host"] == Path("/proc/sys/kernel/hostname").read_text().strip()
        assert labels["__name__"] == TYPES[probe][0].split(":")[0]


def test_the_host_has_the_name_that_it_is_given(uploader, start):
    """In a pod the system's own name is the pod's."""
    daemon = uploader()
    daemon.stop()
    daemon.options = ["--host", "nöde-7"]
    daemon.start()
    target = start("spin", 60)
    with Pyroscope(delay=0) as server:
        daemon.send(server, pids=[target.pid])
        daemon.end(server)
        assert server.label_values("host") == ["nöde-7"]
        assert "nöde-7" in daemon.get("/flamegraph/oncpu.svg").text


def test_a_process_is_a_frame_where_all_are_one(merged):
    assert sample_labels(merged) == set()
    roots = {sample.frames[0] for one in merged.server.stored for sample in one.samples}
    assert roots == {f"[{merged.pids[0]}]spin", f"[{merged.pids[1]}]python3"}


def test_a_process_is_labels_where_each_is_apart(apart):
    assert {"pid", "comm"} <= sample_labels(apart) <= {"pid", "comm", "container", "pod", "namespace", "container_pid"}
    pairs = {(sample.labels["pid"], sample.labels["comm"]) for one in apart.server.stored for sample in one.samples}
    assert pairs == {(str(apart.pids[0]), "spin"), (str(apart.pids[1]), "python3")}
    frames = {frame for one in apart.server.stored for sample in one.samples for frame in sample.frames}
    assert not [frame for frame in frames if re.match(r"\[\d+\]", frame)]
    by_pid = apart.server.totals(SAMPLES, "pid")
    for pid in apart.pids:
        assert by_pid[str(pid)] == sum(value for frames, value in apart.files["oncpu"].items() if pid_of(frames) == pid)


def test_a_thread_is_a_frame_and_never_a_label(run):
    below = 1 if sample_labels(run) == set() else 0
    threads = {sample.frames[below] for one in run.server.stored for sample in one.samples}
    assert threads == {"spin", "python3"}


def test_get_and_metrics_tell_how_it_goes(run):
    bodies = len(run.server.stored)
    assert run.state["state"] == "running" and run.state["reason"] == ""
    assert (run.state["server"], run.state["api"]) == (run.server.url, "push")
    figures = {key: run.end[key] for key in ("stored", "waiting", "waiting_bytes", "retries", "maybe_twice")}
    assert figures == {"stored": bodies, "waiting": 0, "waiting_bytes": 0, "retries": 0, "maybe_twice": 0}
    assert not any(run.end["lost"].values()) and run.end["last_failure"] == ""
    told = dict(re.findall(r"^stackprobe_upload_(\w+) (\d+)$", run.metrics, re.M))
    assert told["stored_total"] == str(bodies) and int(told["stored_bytes_total"]) > 0
    assert {told[name] for name in ("retries_total", "maybe_twice_total", "waiting", "waiting_bytes")} == {"0"}
    causes = re.findall(r'^stackprobe_upload_lost_total\{cause="(\w+)"\} 0$', run.metrics, re.M)
    assert set(causes) == set(run.end["lost"])


WRITES = """
import os, time
file = os.open("/dev/null", os.O_WRONLY)
while True:
    os.write(file, b"x" * 100)
    time.sleep(0.001)
"""


def test_second_values_are_series_of_their_own(uploader, start):
    """Where they are asked for; of offcpu's probe, which has none, there is no such series."""
    daemon = uploader()
    target = start(Path("/usr/bin/python3"), "-c", WRITES)
    with Pyroscope(delay=0) as server:
        daemon.send(server, pids=[target.pid], probes=("io", "event:writes", "offcpu"), io_time=1, event_time=1,
                    events={"writes": f"u:{library_of(target.pid, 'libc.so')}:write"})  # fmt: skip
        wait_windows(server, 2, probes=("io", "event:writes"))
        daemon.end(server, probes=("io", "event:writes", "offcpu"))
        assert_whole(server)
        types = {type for one in server.stored for type in one.types}
    assert {"io:io:bytes::", "io_time:io_time:nanoseconds::", "io_time:calls:count::"} <= types, types
    assert {"event_writes:events:count::", "event_writes_time:event_time:nanoseconds::"} <= types, types
    assert sum(server.totals("io_time:calls:count::", "probe").values()) == \
        sum(server.totals("io:calls:count::", "probe").values()) > 0  # fmt: skip
    assert not any(type.startswith("off_cpu_") for type in types)


def test_a_program_that_sleeps_has_windows_without_a_sample(uploader, start):
    daemon = uploader()
    target = start(Path("/bin/sleep"), 600)

    def sleeps():
        before = target.cpu_ns_now()
        time.sleep(0.3)
        return oracle.states(target.pid) == {"S"} and target.cpu_ns_now() == before

    wait_for(sleeps, why="it has begun, and sleeps")
    with Pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        wait_windows(server, 2)
        daemon.end(server)
        assert_whole(server)
        assert [one.samples for one in server.stored] == [()] * len(server.stored)
        for windows in server.windows().values():
            assert len(windows) >= 3 and ends_aligned(windows)

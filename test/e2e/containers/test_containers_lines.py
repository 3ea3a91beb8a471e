"""Containers and pods in what is shown of their processes: lines, labels, series and records, of a real podman's."""
import json
import re
import time
from collections import defaultdict
from types import SimpleNamespace

import pytest

import pprof
import oracle
from asking import enough
from folded import Profile
from helpers import HZ, give_way, wait_for
from pyroscope_double import Pyroscope
from pyroscope_ingest import CPU
from sched_client import Sched
from screen import render
from uploads import CPU_NS, PERIOD, assert_same, ingested_stacks, pid_of, pushed_stacks

SPIN = "/opt/c_spin"
LOOP = "while :; do /bin/sleep 0.05; done"


@pytest.fixture
def two(podman):
    """A container, and one in a pod, of the same program."""
    alone = podman.run("c", SPIN, 600)
    pod = podman.pod()
    inside = pod.run("c", SPIN, 600)
    for one in (alone, inside):
        give_way(one.pid)
    return alone, pod, inside


def known(profiler, *containers):
    """Waits until the names of these are."""
    names = {one.pid: one.name for one in containers}

    def shown():
        found = {pid: one["container"] or {} for pid, one in profiler.processes().items() if pid in names}
        return {pid: one.get("name") for pid, one in found.items()} == names

    wait_for(shown, 20, why=lambda: f"{names}: {profiler.processes()}")


def profile(profiler, *containers, **how):
    how = {"svg_period": 600, "frequency": HZ, "max_overhead": 0, **how}
    profiler.profile(pids=[one.pid for one in containers], **how)
    known(profiler, *containers)


def test_lines_begin_with_pod_and_container(profiler, two, start):
    alone, pod, inside = two
    bare = start("spin", 600)
    profiler.profile(pids=[alone.pid, inside.pid, bare.pid], svg_period=600)
    known(profiler, alone, inside)
    where = {alone.pid: (None, alone.name), inside.pid: (pod.name, inside.name), bare.pid: (None, None)}
    wait_for(lambda: profiler.folded().pids == set(where), why="samples of all")
    got = wait_for(lambda: (found := profiler.folded(seconds=2)).pids == set(where) and found, why="samples of all again")
    for pid, (pod_name, container) in where.items():
        assert got.containers(pid) == {(pod_name, container)}
        assert got.total("main", pid=pid) > 0
        alone_too = enough(lambda pid=pid: profiler.folded(seconds=1, pid=pid))
        assert alone_too.pids == {pid} and alone_too.containers() == {(pod_name, container)}
    tree = profiler.get("/flamegraph/oncpu.json").json()
    kinds = defaultdict(dict)
    collect(tree, kinds)
    assert set(kinds["pod"]) == {f"[Pod]{pod.name}"}
    assert set(kinds["container"]) == {f"[Con]{alone.name}", f"[Con]{inside.name}"}
    assert len(kinds["process"]) == 3
    picture = profiler.get("/flamegraph/oncpu.svg").text
    assert f"[Pod]{pod.name}" in picture and f"[Con]{inside.name}" in picture
    assert "pod, container</text>" in picture  # the legend


def collect(node, kinds):
    kinds[node["kind"]][node["name"]] = node
    assert node["total"] == node["self"] + sum(child["total"] for child in node["children"])
    for child in node["children"]:
        collect(child, kinds)


def test_get_has_the_process_with_both_pids_and_all_of_its_container(profiler, two):
    alone, pod, inside = two
    profile(profiler, alone, inside)
    got = profiler.processes()
    assert (got[alone.pid]["container"]["id"], got[alone.pid]["container"]["pod"]) == (alone.id, "")
    assert got[alone.pid]["container_pid"] == alone.inner_pid == 1
    assert (got[inside.pid]["container"]["id"], got[inside.pid]["container"]["pod"]) == (inside.id, pod.name)
    assert got[inside.pid]["container_pid"] == inside.inner_pid


def test_a_pprofs_samples_have_labels(profiler, two):
    alone, pod, inside = two
    profile(profiler, alone, inside)
    wait_for(lambda: profiler.folded().pids == {alone.pid, inside.pid}, why="samples of both")
    got = pprof.read(profiler.get("/flamegraph/oncpu.pb.gz").body)
    labels = {}
    for sample in got.samples:
        of = got.labels(sample)
        labels[int(of["pid"])] = of
        assert not any(name.startswith(("[Pod]", "[Con]")) for name in got.stack(sample))
    assert labels[alone.pid]["container"] == alone.name and "pod" not in labels[alone.pid]
    assert (labels[inside.pid]["container"], labels[inside.pid]["pod"]) == (inside.name, pod.name)
    for one in (alone, inside):
        assert labels[one.pid]["container_pid"] == str(one.inner_pid)


def test_of_processes_in_no_container_nothing_is_said(profiler, start):
    bare = start("spin", 600)
    profiler.profile(pids=[bare.pid], svg_period=600)
    wait_for(lambda: profiler.folded().pids == {bare.pid}, why="samples")
    got = pprof.read(profiler.get("/flamegraph/oncpu.pb.gz").body)
    assert {key for sample in got.samples for key in got.labels(sample)} <= {"pid", "comm", "thread"}
    assert profiler.processes()[bare.pid]["container"] is None
    assert "container_pid" not in profiler.processes()[bare.pid]


def test_files_are_one_for_each_process(profiler, two):
    alone, pod, inside = two
    profiler.profile(pids=[alone.pid, inside.pid], svg_period=30, multi_instance=1)
    known(profiler, alone, inside)
    wait_for(lambda: len(profiler.files(profiler.flame_dir, "folded")) >= 2, 45, why="a period's files")
    paths = profiler.files(profiler.flame_dir, "folded")
    of = {int(path.stem.rsplit("-", 1)[1]): Profile(path.read_text()) for path in paths}
    assert len(of) == len(paths) == 2
    assert of[alone.pid].containers() == {(None, alone.name)}
    assert of[inside.pid].containers() == {(pod.name, inside.name)}


def test_records_of_waits_have_the_container(profiler, podman, start):
    napping = podman.run("c", "/bin/sh", "-c", LOOP)
    bare = start("spin", 600)
    profiler.profile(pids=[napping.pid, bare.pid], probes=("offcpu",), svg_period=600, minblock=0, max_overhead=0)
    known(profiler, napping)

    def records():
        lines = profiler.get("/flamegraph/offcpu.jsonl").text.splitlines()
        return [one for one in map(json.loads, lines) if one["pid"] == napping.pid]

    wait_for(records, 20, why="records")
    for one in records():
        assert (one["container_id"], one["container"]) == (napping.id, napping.name)
        assert one["container_pid"] == napping.inner_pid
        assert "pod" not in one
        assert one["stack_data"].startswith("[p] sh;")
    others = [one for one in map(json.loads, profiler.get("/flamegraph/offcpu.jsonl").text.splitlines())
              if one["pid"] == bare.pid]  # fmt: skip
    assert all(one["container_id"] == "null" and "container" not in one for one in others)


def test_metrics_of_processes_have_the_container(profiler, two):
    alone, pod, inside = two
    profile(profiler, alone, inside, probes=("offcpu",))
    line = re.compile(r'stackprobe_process_cpu_seconds_total\{pid="(\d+)",comm="c_spin"([^}]*)\} ')

    def shown():
        return {int(pid): labels for pid, labels in line.findall(profiler.get("/metrics").text)}

    wait_for(lambda: set(shown()) == {alone.pid, inside.pid}, why="both")
    assert shown() == {alone.pid: f',container="{alone.name}"',
                       inside.pid: f',container="{inside.name}",pod="{pod.name}"'}  # fmt: skip


def test_slow_waits_of_sched_have_the_container(profiler, podman):
    """Two that share a CPU wait for each other."""
    pair = [podman.run("c", SPIN, 600, options=("--cpuset-cpus", "0")) for _ in range(2)]
    sched = Sched(profiler)
    sched.run("runqslower", snoopers={"proc_id": [one.pid for one in pair]}, min_us=1)

    def waits(pid):
        return [one for one in sched.json("runqslower")["events"] if one["pid"] == pid]

    for one in pair:
        wait_for(lambda one=one: waits(one.pid), why="it waits")
    # Only a thousand are kept: no more come, while the first of them gets its name.
    pids = [one.pid for one in pair]
    oracle.stop(*pids)
    for one, pid in zip(pair, pids):
        wait_for(lambda pid=pid: "container" in waits(pid)[0], why="the first wait has a name")
        assert {(wait.get("container"), wait.get("container_pid")) for wait in waits(one.pid)} == {(one.name, 1)}
        assert waits(one.pid)[-1]["comm"] == "c_spin"


def test_render_knows_whose_a_line_is_by_its_place():
    """Names that look like something else, and functions that do: c, p, n are kinds of frames."""
    picture = render("[Con][1]init_[k];[12][Con]x;[Pod]f 10\n"
                     "[Pod][9]p;[Con][Con]c;[13]a_[k];[Con]g;[7]h 20\n"
                     "[5]sh;[Pod]q 30\n")  # fmt: skip
    drawn = re.findall(r'<path class="([a-z])\d"[^>]*><title>(\S+) ', picture)
    assert drawn == [("p", "all"), ("p", "[5]sh"), ("n", "[Pod]q"),
                     ("c", "[Con][1]init_[k]"), ("p", "[12][Con]x"), ("n", "[Pod]f"),
                     ("c", "[Pod][9]p"), ("c", "[Con][Con]c"), ("p", "[13]a_[k]"), ("n", "[Con]g"),
                     ("n", "[7]h")]  # fmt: skip


# Uploads


@pytest.fixture(params=[0, 1], ids=["one graph", "one for each process"])
def sent(request, uploader, podman, start):
    """sent(api): a container, one in a pod and a process in none for some windows, to their end: the server, the
    daemon and who they were."""

    def run(api):
        daemon, alone, pod = uploader(), podman.run("c", SPIN, 600), podman.pod()
        inside, bare = pod.run("c", SPIN, 600), start("spin", 600)
        pids = [alone.pid, inside.pid, bare.pid]
        with Pyroscope() as server:
            wait_for(lambda: 0.2 < time.time() % PERIOD < 3)  # no window ends before names are known
            daemon.send(server, pids=pids, multi_instance=request.param, pyroscope_api=api)
            known(daemon, alone, inside)
            wait_for(lambda: server.stored, 40, why=lambda: server.refused)
            daemon.put_ok({"state": "stopped"})
            whole = daemon.wait_stacks("oncpu", set(pids)).total()
            wait_for(lambda: total(server, api) >= whole, 20, why=lambda: (total(server, api), whole))
            daemon.wait_sent()
            assert (server.refused, daemon.lost()) == ([], {})
        where = {alone.pid: (None, alone.name), inside.pid: (pod.name, inside.name), bare.pid: (None, None)}
        return SimpleNamespace(daemon=daemon, server=server, where=where, labels=request.param, alone=alone, inside=inside)

    return run


def total(server, api):
    return arrived(server, api).total()


def arrived(server, api):
    """{(pod, container, process, frame…): samples}"""
    if api == "ingest":
        return ingested_stacks(server.stored, CPU, CPU_NS)
    return pushed_stacks(server.stored, "oncpu", placed=True)


@pytest.mark.parametrize("api", ["push", "ingest"])
def test_what_is_sent_is_in_the_files_below_the_same_pod_and_container(sent, api):
    """Stack for stack, be these frames (multi_instance 0) or labels."""
    run = sent(api)
    stacks = arrived(run.server, api)
    assert_same(stacks, run.daemon.stacks("oncpu", placed=True))
    assert {(pid_of(key[2:]), key[:2]) for key in stacks} == set(run.where.items())
    samples = [sample for one in run.server.stored for sample in one.samples]
    for sample in samples:  # /ingest has frames always
        assert sample.frames[0].startswith("[") == (api == "ingest" or not run.labels)
        assert ("pid" in sample.labels) == bool(run.labels)
    seen = [sample.labels for sample in samples]
    inner = {labels["container"]: labels["container_pid"] for labels in seen if "container" in labels}
    containers = (run.alone, run.inside) if run.labels else ()
    assert inner == {one.name: str(one.inner_pid) for one in containers}
    assert any("container" not in labels for labels in seen)

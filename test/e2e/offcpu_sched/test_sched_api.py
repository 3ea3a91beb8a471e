"""PUT and GET /sched: what is taken and refused, and what its answers are made of."""
import json
import os
import re
import shutil
import time
import urllib.parse
from pathlib import Path

import pytest

import helpers
from helpers import SUCCESS, wait_for
from sched_client import PROBES, Sched

REFUSED = [
    ({}, "Bad request"),
    ({"cmd": {"probe": ["oncpu"]}}, "unsupported probe range: oncpu."),
    ({"cmd": {"probe": []}}, "invalid probe ranges: at least one must be set"),
    (
        {"params": {"min_us": 5, "latency_thr": 5}},
        "params.latency_thr and params.min_us exclude each other",
    ),
    ({"params": {"min_us": -1}}, "params.min_us invalid value -1, must be in [0, 4294967295]"),
    ({"params": {"min_us": None}}, "params.min_us invalid data type"),
    (
        {"params": {"group_by": "x" * 300}},
        f"params.group_by invalid value {'x' * 64}, "
        "must be one of none, pid, tid, pidns, cgroup, cpu",
    ),
    ({"params": {"group_by": ["pid"]}}, "params.group_by invalid data type"),
    ({"params": {"report_period": 4}}, "params.report_period invalid value 4, must be in [5, 600]"),
    ({"snoopers": {"proc_name": [{"comm": "x", "probe": ["runqlat"]}]}}, None),
    ({"snoopers": {"proc_id": ["1"]}}, None),
    ({"blacklist": {}}, "blacklist is not supported: use snoopers"),
    ({"state": "paused"}, "invalid state paused: must be running or stopped"),
]


@pytest.mark.parametrize("body, message", REFUSED, ids=lambda value: str(value)[:60])
def test_a_refused_put_says_why_and_changes_nothing(daemon, body, message):
    sched = Sched(daemon)
    assert sched.put({"cmd": {"probe": ["runqlat"]}, "params": {"min_us": 7}}).status == 200
    before = sched.config()
    answer = sched.put(body)
    assert answer.status == 400, answer.text
    assert answer.message == message if message else answer.message
    assert sched.config() == before


def test_nothing_is_there_before_the_first_put(daemon):
    sched = Sched(daemon)
    assert sched.config() == {}
    for probe in PROBES:
        answer = sched.get(f"{probe}.txt")
        assert answer.status == 404
        assert "PUT" in answer.message
    assert sched.get("runqslower.txt", "?follow=1").status == 404


def test_what_get_shows_can_be_put_back(daemon):
    sched = Sched(daemon)
    doc = {
        "cmd": {"probe": ["runqlen", "cpudist"]},
        "snoopers": {"proc_name": [{"comm": "^x$"}]},
        "params": {"latency_thr": 20, "group_by": "cgroup", "report_period": 30},
        "state": "stopped",
    }
    answer = sched.put(doc)
    assert answer.status == 200 and answer.text.strip() == SUCCESS
    shown = {key: value for key, value in sched.config().items() if key != "status"}
    assert shown["params"] == doc["params"]
    assert sched.put({"params": {"min_us": 3}}).status == 200
    assert sched.config()["params"] == {"min_us": 3, "group_by": "cgroup", "report_period": 30}
    assert sched.put(shown).status == 200
    assert {key: value for key, value in sched.config().items() if key != "status"} == shown


@pytest.mark.parametrize(
    "path",
    ["/sched/", "/sched/x.txt", "/sched/runqlat", "/sched/runqlat.svg", "/sched/.txt",
     "/sched/runqlat.txt/x", "/sched/oncpu.json", "/sched/runqlat.jsonx", "/schedx"],
)  # fmt: skip
def test_an_unknown_path_is_404(daemon, path):
    assert daemon.get(path).status == 404


@pytest.mark.parametrize(
    "name, query",
    [
        ("runqlat.txt", "?seconds=0"),
        ("runqlat.txt", "?seconds=601"),
        ("runqlat.txt", "?seconds=x"),
        ("runqlat.txt", "?follow=1"),
        ("runqslower.json", "?follow=1"),
        ("runqslower.txt", "?follow=2"),
        ("runqslower.txt", "?follow=1&seconds=1"),
        ("cpudist.json", "?pid=1"),
    ],
)
def test_a_query_that_makes_no_sense_is_400(daemon, name, query):
    answer = Sched(daemon).get(name, query)
    assert answer.status == 400
    assert answer.message


def test_what_can_only_be_read_is_405_for_put(daemon):
    answer = daemon.request("PUT", "/sched/runqlat.txt", b"{}")
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"
    answer = daemon.request("DELETE", "/sched")
    assert answer.status == 405 and "PUT" in answer.headers["Allow"]


def test_all_three_forms_of_a_body_are_taken(daemon):
    doc = '{"cmd":{"probe":["runqlat"]}}'
    for body in (doc, f"json={doc}", "json=" + urllib.parse.quote(doc)):
        assert daemon.request("PUT", "/sched", body.encode()).status == 200


def test_the_configuration_comes_back_after_a_restart(daemon):
    daemon.conf.write_text(daemon.conf.read_text().replace("restore = false", "restore = true"))
    sched = Sched(daemon)
    doc = {"cmd": {"probe": ["runqlat"]}, "params": {"group_by": "pid", "latency_thr": 4}}
    assert sched.put(doc).status == 200
    before = sched.config()
    daemon.stop()
    daemon.start()
    assert sched.config() == before
    assert daemon.config() == {}


@pytest.fixture
def powerless(work, monkeypatch):
    """The daemon without the privilege to load BPF programs."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to drop capabilities")
    wrapper = work / "powerless"
    wrapper.write_text(
        "#!/bin/sh\nexec setpriv --bounding-set -bpf,-perfmon,-sys_admin -- "
        f'{helpers.BIN} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setattr(helpers, "BIN", wrapper)
    started = helpers.Daemon(work)
    try:
        yield started.start()
    finally:
        started.done()


def test_without_privileges_it_is_503_with_the_reason_and_nothing_changes(powerless):
    sched = Sched(powerless)
    assert sched.put({"cmd": {"probe": ["runqlat"]}}).status == 200
    before = sched.config()
    answer = sched.put({"cmd": {"probe": PROBES}, "state": "running"})
    assert answer.status == 503
    assert "not permitted" in answer.message
    assert sched.config() == before
    answer = sched.get("runqlat.json", "?seconds=1")
    assert answer.status == 503 and "not permitted" in answer.message
    assert sched.get("runqlat.json").status == 404
    assert "PUT /sched can't be done" in powerless.log


# With BPF


def test_all_processes_are_counted_and_kernel_threads_too(profiler):
    sched = Sched(profiler)
    sched.run("runqlat", group_by="pid")
    comms = lambda: {one["comm"] for one in sched.json("runqlat")["histograms"]}
    wait_for(lambda: any(re.match(r"rcu_|ksoftirqd|kworker", comm) for comm in comms()), 20)
    assert any(comm.startswith("python") for comm in comms()) or len(comms()) > 3


def test_reading_resets_nothing(profiler):
    sched = Sched(profiler)
    sched.run("runqlat", "cpudist", "offcpudist", "runqlen")
    for probe in ("runqlat", "cpudist", "offcpudist", "runqlen"):
        first = wait_for(lambda probe=probe: sched.count(probe))
        assert sched.count(probe) >= first
        sched.get(f"{probe}.txt")
        assert sched.count(probe) >= first


def test_the_next_seconds_are_those_alone(profiler, start):
    target = start("spin", 60, cpu=0)
    sched = Sched(profiler)
    sched.run("runqlen")
    wait_for(lambda: sched.count("runqlen") > 0, why="it has begun")
    asked = time.monotonic()
    data = sched.json("runqlen", "?seconds=2")
    assert 1.9 < data["until"] - data["from"] <= time.monotonic() - asked + 0.1
    whole = sched.json("runqlen")
    # (The other CPU may be idle, and some machines' clocks tick seldom then.)
    assert 0 < data["histograms"][0]["count"] < whole["histograms"][0]["count"]
    target.kill()


def test_the_next_seconds_can_be_had_while_nothing_runs(profiler):
    sched = Sched(profiler)
    data = sched.json("runqlat", "?seconds=1")
    assert data["histograms"][0]["count"] > 0
    assert sched.config() == {}
    assert sched.get("runqlat.json").status == 404


def test_snoopers_choose_and_groups_are_apart(profiler, start):
    chosen = [start("spin", 60, cpu=0), start("spin", 60, cpu=0)]
    sched = Sched(profiler)
    sched.run("runqlat", snoopers={"proc_id": [t.pid for t in chosen]}, group_by="pid")
    pids = {t.pid for t in chosen}
    groups = wait_for(lambda: len(sched.groups("runqlat")) == 2 and sched.groups("runqlat"))
    assert set(groups) == pids
    assert {one["comm"] for one in groups.values()} == {"spin"}
    text = sched.get("runqlat.txt").text
    for pid in pids:
        assert f"\npid = {pid} spin\n     usecs               : count    distribution\n" in text
    assert re.search(r"\n +\d+ -> \d+ +: \d+ +\|\*+ *\|\n", text)


def test_another_grouping_begins_at_zero(profiler):
    sched = Sched(profiler)
    sched.run("runqlat")
    wait_for(lambda: sched.count("runqlat") > 100)
    began = sched.json("runqlat")["from"]
    assert sched.put({"params": {"group_by": "cpu"}}).status == 200
    data = sched.json("runqlat")
    assert data["group_by"] == "cpu" and data["from"] > began
    assert all(one["comm"] == "" for one in data["histograms"])


def test_chosen_processes_instead_of_all_begin_at_zero_and_run_queues_go_on(profiler, start):
    """What others do when they end isn't counted, though they began to sleep, or to run, when all were."""
    target = start("spin", 60, cpu=0)
    sched = Sched(profiler)
    sched.run("cpudist", "runqlen", group_by="pid")
    wait_for(lambda: len(sched.groups("cpudist")) > 3)
    others = [start(Path("/bin/sleep"), 1.5) for _ in range(3)]
    busy = [start("spin", 60) for _ in range(4)]
    wait_for(lambda: {other.pid for other in others + busy} <= set(sched.groups("cpudist")), why="they are counted")
    lengths = sched.json("runqlen")
    assert sched.put({"snoopers": {"proc_id": [target.pid]}}).status == 200
    for other in busy:
        other.kill()
    for other in others:
        other.finish()
    assert set(sched.groups("cpudist")) <= {target.pid}
    assert sched.json("runqlen")["from"] == lengths["from"]
    assert sched.count("runqlen") >= lengths["all"]["count"]


def test_the_same_put_again_disturbs_nothing(profiler):
    sched = Sched(profiler)
    sched.run("runqlat", "runqlen")
    wait_for(lambda: sched.count("runqlat") > 10)
    before = sched.probe("runqlat")
    sched.run("runqlat", "runqlen")
    sched.run("runqlat", "runqlen", "cpudist")
    after = sched.probe("runqlat")
    assert after["from"] == before["from"] and after["count"] >= before["count"]


def test_what_was_counted_stays_readable_after_the_stop(profiler):
    sched = Sched(profiler)
    sched.run("runqlat", "runqlen", "runqslower", min_us=0)
    wait_for(lambda: sched.count("runqlat") > 10 and sched.json("runqslower")["events"])
    sched.stop()
    kept = sched.json("runqlat")
    assert sched.probe("runqlat")["state"] == "stopped"
    time.sleep(0.3)
    assert sched.json("runqlat") == kept
    assert sched.json("runqslower")["events"]
    sched.run("runqlat")
    assert sched.json("runqlat")["from"] > kept["until"]


def test_status_tells_of_each_probe(profiler):
    sched = Sched(profiler)
    sched.run(*PROBES)
    status = sched.config()["status"]
    assert {name: one["state"] for name, one in status["probes"].items()} == dict.fromkeys(
        PROBES, "running"
    )
    assert set(status["lost"]) == {"records_full", "groups_full", "slow_ring_full"}
    assert "sched started: " + ", ".join(PROBES) in profiler.log
    sched.stop()
    assert "sched stopped: " + ", ".join(PROBES) in profiler.log


def test_the_flame_graph_goes_on_beside_it(profiler, start):
    target = start("spin", 60)
    profiler.profile(pids=[target.pid])
    sched = Sched(profiler)
    sched.run(*PROBES)
    wait_for(lambda: sched.count("cpudist") > 10)
    sched.stop()
    before = profiler.probe()["samples"]
    wait_for(lambda: profiler.probe()["samples"] > before)
    assert profiler.probe()["state"] == "running"


def test_a_line_is_logged_each_report_period(profiler):
    sched = Sched(profiler)
    sched.run("runqlat", "runqlen", report_period=5)
    wait_for(lambda: "sched, the last 5 s; runqlat: " in profiler.log, 30)


def metrics(daemon):
    """{name with labels: value}"""
    lines = daemon.get("/metrics").text.splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line[0] != "#"}


def test_metrics_are_histograms_of_seconds(profiler):
    sched = Sched(profiler)
    sched.run(*PROBES, min_us=0, group_by="pid")
    wait_for(lambda: sched.count("runqlat") > 100 and sched.count("offcpudist") > 100)

    def all_told():
        """Each CPU's clock has ticked, and slow ones have been read."""
        found = metrics(profiler)
        told = found["stackprobe_sched_runq_slow_total"]
        return told > 0 and found.get('stackprobe_sched_runq_length_count{cpu="0"}', 0) > 0 and found

    found = wait_for(all_told)
    for name in ("runq_latency_seconds", "oncpu_seconds", "offcpu_seconds"):
        prefix = f"stackprobe_sched_{name}"
        buckets = [v for k, v in found.items() if k.startswith(prefix + "_bucket")]
        assert len(buckets) == 27 and buckets == sorted(buckets)
        assert f'{prefix}_bucket{{le="1e-06"}}' in found
        assert f'{prefix}_bucket{{le="33.554432"}}' in found
        assert found[f'{prefix}_bucket{{le="+Inf"}}'] == found[f"{prefix}_count"] > 0
        assert found[f"{prefix}_sum"] > 0
    assert found["stackprobe_sched_runq_slow_total"] > 0
    assert 0 <= found['stackprobe_sched_runq_occupancy_ratio{cpu="0"}'] <= 1
    assert found['stackprobe_sched_runq_length_count{cpu="0"}'] > 0
    assert found['stackprobe_probe_up{feature="sched",probe="runqlat"}'] == 1
    sched.stop()
    assert metrics(profiler)['stackprobe_probe_up{feature="sched",probe="runqlat"}'] == 0


def test_a_ninth_measurement_is_429_and_a_client_that_went_makes_room(profiler):
    sched = Sched(profiler)
    clients = []
    for _ in range(8):
        client = profiler.connect()
        client.sendall(b"GET /sched/runqlat.json?seconds=30 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        clients.append(client)
    answer = wait_for(lambda: (lambda a: a if a.status == 429 else None)(
        sched.get("runqlat.json", "?seconds=1")), 20)
    assert "8 measurements" in answer.message
    clients.pop().close()
    wait_for(lambda: sched.get("runqlat.json", "?seconds=1").status == 200, 20)
    for client in clients:
        client.close()


def test_hostile_bodies_end_nothing(profiler):
    sched = Sched(profiler)
    sched.run("runqlat")
    for body in (b"\0" * 100, b"[" * 100000, b'{"params":{"group_by":"\xff"}}', b"{" * 5,
                 json.dumps({"params": {"min_us": 1e308}}).encode(),
                 json.dumps({"cmd": {"probe": [None] * 1000}}).encode()):
        assert profiler.request("PUT", "/sched", body).status == 400
    assert profiler.alive()
    assert sched.probe("runqlat")["state"] == "running"

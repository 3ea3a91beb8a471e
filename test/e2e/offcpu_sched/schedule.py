"""The feature /sched: its PUT, its histograms, and the scheduler's metrics of processes. The shapes
of its answers are known here alone."""
import json
import re
from typing import NamedTuple
from urllib.parse import urlencode

from helpers import ours, wait_for


def put_sched(profiler, doc):
    answer = profiler.request("PUT", "/sched", b"json=" + json.dumps(doc).encode())
    assert answer.status == 200, answer.text


def sched_probe(profiler, name):
    """Status of one of its probes."""
    answer = profiler.get("/sched")
    assert answer.status == 200, answer.text
    return answer.json()["status"]["probes"][name]


def profile_sched(profiler, *comms, pids=(), probes=("runqlat",), **params):
    """PUTs /sched for these processes, or without any for all, and waits until the probes run."""
    names = [ours(comm) for comm in comms]
    doc = {
        "cmd": {"probe": list(probes)},
        "snoopers": {"proc_id": list(pids), "proc_name": names},
        "params": params,
        "state": "running",
    }
    put_sched(profiler, doc)
    for name in probes:
        wait_for(lambda name=name: sched_probe(profiler, name)["state"] == "running", why=name)


class Histogram(NamedTuple):
    count: int
    sum_us: float
    slots: dict  # lowest value of a slot: how many


def histograms(profiler, probe, **query):
    """{group: Histogram} since the probe began. Without group_by the only group is None."""
    answer = profiler.get(f"/sched/{probe}.json?" + urlencode(query))
    assert answer.status == 200, answer.text
    return {shown["group"]: histogram(shown) for shown in answer.json()["histograms"]}


def histogram(shown):
    slots = {slot["from"]: slot["count"] for slot in shown["buckets"] if slot["count"]}
    assert sum(slots.values()) == shown["count"]
    return Histogram(shown["count"], shown.get("sum_us", 0), slots)


def slow_ones(profiler):
    """What runqslower reported: [{tid, lat_us, …}]. Nothing was left out."""
    answer = profiler.get("/sched/runqslower.json")
    assert answer.status == 200, answer.text
    assert answer.json()["missed"] == 0
    return answer.json()["events"]


# Metrics

LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def metrics(profiler, name):
    """[(labels, value)] of a metric."""
    text = profiler.get("/metrics").text
    lines = re.findall(rf"^stackprobe_{name}(?:\{{(.*)\}})? (\S+)$", text, re.M)
    return [(dict(LABEL.findall(labels)), float(value)) for labels, value in lines]


def process_metric(profiler, pid, name, **labels):
    """The sum of a metric of a process over its labels; None when there is none."""
    mine = [
        value
        for found, value in metrics(profiler, f"process_{name}_total")
        if found.get("pid") == str(pid) and labels.items() <= found.items()
    ]
    return sum(mine) if mine else None


def switches_metric(profiler, pid):
    """(voluntary, involuntary) switches of a process."""
    types = ("voluntary", "involuntary")
    return tuple(process_metric(profiler, pid, "context_switches", type=t) for t in types)

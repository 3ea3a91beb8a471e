"""Each metric of a running daemon is in doc/metrics.md, each one there is shown, and /metrics and GET say the same."""
import gzip
import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from busy_daemon import busy_daemon
from helpers import BIN, ROOT, missing_privilege, wait_for
from javas import CLASSES, javas

DOCUMENT = ROOT / "doc/metrics.md"
OF_PROCESS = {"pid", "comm", "container", "pod", "namespace"}


class Row(NamedTuple):
    """A line of the document. `labels`: {name: values}, none where they have no bound. `paths`: each path in GET,
    with the value of the label that it is of, "": it is none, or `*` stands for it."""

    name: str
    type: str
    labels: dict
    paths: list
    help: str


def labels_in(text):
    labels = {}
    for part in filter(None, text.split("; ")):
        names, values = re.fullmatch(r"`([^`]+)`(?:: (.*))?", part).groups()
        labels.update({name: values.split(", ") if values else [] for name in names.split(", ")})
    return labels


def row_of(line):
    name, type_, labels, paths, help_ = (cell.strip() for cell in line.strip("|\n").split("|"))
    return Row(name.strip("`"), type_, labels_in(labels), re.findall(r"`([^`]+)`(?: \((\w+)\))?", paths), help_)


def rows():
    return [row_of(line) for line in DOCUMENT.read_text().split("\n") if re.match(r"\| (`stackprobe_|`process_|\|)", line)]


def metrics(text):
    """{name: (type, help)}, {(name, labels): value}"""
    heads, values = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP"):
            name, help_ = line.split(" ", 3)[2:]
        elif line.startswith("# TYPE"):
            heads[name] = (line.split()[3], help_)
        else:
            series, labels, value = re.fullmatch(r"(\w+)(?:{(.*)})? (\S+)", line).groups()
            assert series in (name, f"{name}_bucket", f"{name}_sum", f"{name}_count"), line
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
            values[name, frozenset(pair for pair in pairs if pair[0] != "le")] = float(value)
    return heads, values


class Shown(NamedTuple):
    heads: dict
    values: dict
    get: dict
    again: dict  # the metrics after GET


@pytest.fixture(scope="module")
def shown():
    """What a daemon shows that runs all it can, and what it shows when nothing counts any more."""
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)
    with busy_daemon() as daemon:
        heads, values = metrics(daemon.get("/metrics").text)
        daemon.request("PUT", "/sched", b'{"state": "stopped"}')
        daemon.request("PUT", "/proc", b'{"state": "stopped"}')
        daemon.put_ok({"state": "stopped"})
        daemon.wait_sent()

        def quiet():
            before = metrics(daemon.get("/metrics").text)[1]
            get = daemon.config()
            again = metrics(daemon.get("/metrics").text)[1]
            same = all(again.get(key) == value for key, value in before.items() if "seconds" not in key[0]
                       and "resident" not in key[0] and not key[0].startswith("process_"))  # fmt: skip
            return same and (get, again)

        yield Shown(heads, values, *wait_for(quiet, 30, every=1.1, why="nothing counts any more"))


def test_the_document_is_what_the_program_prints():
    done = subprocess.run([ROOT / "scripts/documents", BIN], capture_output=True, cwd=ROOT, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_each_metric_is_in_the_document_with_its_type_and_sentence(shown):
    assert shown.heads == {row.name: (row.type, row.help) for row in rows() if row.name}
    assert len(shown.heads) > 120


def test_each_sentence_stands_alone(shown):
    """Grafana shows it alone."""
    for name, (_, help_) in shown.heads.items():
        assert not re.match(r"(Of )?(their|these|those|its|it|them)\b|Size of these|When it", help_, re.I), f"{name}: {help_}"


def test_openmetrics_and_gzip_come_when_they_are_asked_for(profiler):
    plain = profiler.get("/metrics")
    assert plain.headers["Content-Type"].startswith("text/plain; version=0.0.4") and "Content-Encoding" not in plain.headers
    asked = {"Accept": "application/openmetrics-text; version=1.0.0,text/plain;q=0.5", "Accept-Encoding": "gzip"}
    answer = profiler.request("GET", "/metrics", headers=asked)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    text = gzip.decompress(answer.body).decode()
    assert text.endswith("\n# EOF\n")
    families = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    assert families["stackprobe_windows"] == "counter" and families["process_cpu_seconds"] == "counter"
    samples = set(re.findall(r"^(\w+)[ {]", text, re.M))
    for name, kind in families.items():
        ends = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}[kind]
        samples -= {name + end for end in ends}
    assert not samples
    assert "Content-Encoding" not in profiler.request("GET", "/metrics", headers={"Accept-Encoding": "gzip;q=0"}).headers
    if tool := openmetrics_parser():
        assert len(list(tool(text))) == len(families)


def openmetrics_parser():
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        return None
    return text_string_to_metric_families


def test_names_of_exporters_tell_of_the_daemon(profiler):
    values = metrics(profiler.get("/metrics").text)[1]
    own = {name: value for (name, labels), value in values.items() if not name.startswith("stackprobe_")}
    descriptors = len(os.listdir(f"/proc/{profiler.pid}/fd"))
    assert abs(own["process_open_fds"] - descriptors) <= 2  # connections come and go
    assert own["process_resident_memory_bytes"] == pytest.approx(resident(profiler.pid), rel=0.2)
    assert abs(time.time() - own["process_start_time_seconds"]) < 600
    assert values["stackprobe_build_info", frozenset({("version", version())})] == 1


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def version():
    return subprocess.run([BIN, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def process_series(daemon):
    return [labels for name, labels in metrics(daemon.get("/metrics").text)[1] if "pid" in dict(labels)]


@pytest.mark.parametrize("most, wanted", [(None, 16), (3, 3), (0, 0), (-1, 61)])
def test_series_of_processes_are_those_of_the_heaviest(daemon, start, work, most, wanted):
    """Sixty that sleep, and one that burns."""
    daemon.stop()
    wish = "" if most is None else f"process_metrics = {most};"
    daemon.conf.write_text(daemon.conf.read_text().replace("process_metrics = -1;", wish))
    daemon.start()
    burner = start("spin", 600)
    sleepers = [start(Path("/bin/sleep"), 600) for _ in range(60)]
    daemon.profile(pids=[one.pid for one in (burner, *sleepers)], probes=("offcpu",))
    wait_for(lambda: bool(process_series(daemon)) == bool(wanted), why="series")
    wait_for(lambda: daemon.probe("offcpu")["state"] == "running", why="it runs")
    time.sleep(1.5)  # times are read once a second
    series = process_series(daemon)
    pids = {dict(labels)["pid"] for labels in series if not dict(labels).get("cause")}
    assert len(pids) == wanted
    assert len(series) <= 200 or most == -1
    assert not wanted or str(burner.pid) in pids
    left_out = metrics(daemon.get("/metrics").text)[1]["stackprobe_process_series_left_out", frozenset()]
    assert left_out == (61 - wanted if most != -1 else 0)
    daemon.put_ok({"state": "stopped"})
    assert not process_series(daemon)


def test_thousands_that_end_have_few_series(profiler):
    """As a build host has them: 4,000 short processes under off-CPU of all."""
    profiler.stop()
    profiler.conf.write_text(profiler.conf.read_text().replace("process_metrics = -1;", ""))
    profiler.start()
    body = profiler.wanting(probes=("offcpu",))
    body["snoopers"]["proc_name"] = [{"comm": "."}]
    profiler.put_ok(body)
    profiler.wait_running("offcpu")
    storm = "for i in $(seq 40); do for j in $(seq 100); do sleep 0.01 & done; wait; done"
    subprocess.run(["sh", "-c", storm], check=True)
    time.sleep(1.5)  # times are read once a second
    assert 0 < len(process_series(profiler)) <= 200
    left_out = metrics(profiler.get("/metrics").text)[1]["stackprobe_process_series_left_out", frozenset()]
    assert left_out > 1000


def test_each_label_is_in_the_document_with_its_values(shown):
    known = {row.name: row.labels for row in rows() if row.name}
    for name, labels in shown.values:
        for label, value in labels:
            assert label in known[name], f"{name}: {label}"
            bounded = known[name][label]
            of_users = label == "probe" and value.startswith("event:")  # which no list has
            assert not bounded or value in bounded or of_users, f"{name}: {label}={value}"


def test_each_metric_has_a_number(shown):
    """But those of what isn't there: VMs without a JDK, containers (test_proc_containers.py)."""
    numbers = {name for name, _ in shown.values}
    absent = set() if javas() and (CLASSES / "truth/Turns.class").exists() else {"stackprobe_java_processes"}
    absent |= {"stackprobe_process_stack_truncated_total"}  # of those that were cut
    absent |= {"stackprobe_node_energy_joules_total"}  # test_proc_energy.py
    absent |= {"stackprobe_node_cpu_events_total", "stackprobe_node_cpu_counted_seconds_total"}  # of a PMU
    absent |= {row.name for row in rows() if row.name and row.name.startswith("stackprobe_container_")}
    # Of a look for anomalies, after some minutes (test_anomalies.py).
    absent |= {f"stackprobe_{name}" for name in ("anomalies", "anomaly_compared_processes", "anomaly_look_timestamp_seconds",
                                                 "process_anomaly_rate")}  # fmt: skip
    assert {row.name for row in rows() if row.name} - numbers <= absent


def at_path(get, path):
    for key in path.split("."):
        if key not in get:
            return None
        get = get[key]
    return get


def paths_of(row):
    """(path in GET, labels) of each number of a row."""
    for path, value in row.paths:
        for label, values in [*row.labels.items()] or [("", [])]:
            if "*" in path:
                yield from ((path.replace("*", one), frozenset({(label, one)})) for one in values)
            else:
                yield path, frozenset({(label, value)} if value else ())


def test_get_has_the_same_numbers(shown):
    compared = 0
    asked = set(shown.get["cmd"]["probe"])
    for row in rows():
        if not row.name or "version" in row.labels:
            continue
        for path, labels in paths_of(row):
            number = at_path(shown.get, path)
            if path.startswith("status.probes.") and path.split(".")[2] not in asked:
                assert number is None, f"{path}: nobody asked for it"
                continue
            assert number is not None, f"GET has no {path}"
            assert shown.again[row.name, labels] == number, f"{row.name} {labels} and {path}"
            compared += 1
    assert compared > 90


def test_each_callback_of_the_loop_has_a_name(shown):
    loop = shown.get["status"]["loop"]
    assert loop["longest_us"]["other"] == loop["stalls"]["other"] == 0, loop
    assert {"http", "rings", "drain", "uploads", "urgent", "foreign", "bulk"} <= set(loop["longest_us"]), loop
    assert max(loop["longest_us"].values()) <= loop["longest_turn_us"]


def test_get_has_no_number_that_is_not_in_the_document(shown):
    known = [re.escape(path).replace(r"\*", r"[\w:]+") for row in rows() for path, _ in row.paths]
    processes = r"status\.processes(\..*)?"

    def numbers(value, path):
        if isinstance(value, dict):
            for key, one in value.items():
                yield from numbers(one, f"{path}.{key}")
        elif isinstance(value, (int, float)):
            yield path

    for path in numbers(shown.get["status"], "status"):
        assert re.fullmatch("|".join([*known, processes]), path), path

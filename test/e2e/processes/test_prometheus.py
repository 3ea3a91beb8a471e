"""Metrics as Prometheus' own tools see them: the linter, the examples of alerts, each panel of the dashboard."""
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from accounts import watch
from helpers import ROOT, wait_for

CONF = ROOT / "conf/prometheus"
needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus isn't installed")
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="Prometheus isn't installed")


def promtool(*args, text=None):
    found = subprocess.run(["promtool", *map(str, args)], input=text, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@needs_promtool
def test_the_alerts_fire_where_they_should():
    status, said = promtool("check", "rules", CONF / "alerts.yml")
    assert status == 0, said
    status, said = promtool("test", "rules", CONF / "alerts_test.yml")
    assert status == 0, said
    rules = (CONF / "alerts.yml").read_text().count("- alert:")
    assert (CONF / "alerts_test.yml").read_text().count("exp_alerts: []") == rules  # each is tried on a quiet host


@needs_promtool
def test_the_scrape_job_is_valid(work):
    for name in ("scrape.yml", "alerts.yml"):
        (work / name).write_bytes((CONF / name).read_bytes())
    status, said = promtool("check", "config", work / "scrape.yml")
    assert status == 0, said


@needs_promtool
def test_the_linter_has_nothing_to_say(profiler, start):
    watch(profiler)
    target = start("spin", 60)
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=("oncpu", "offcpu")))
    wait_for(lambda: "stackprobe_node_io_calls_total" in profiler.get("/metrics").text, why="/proc's numbers")
    status, said = promtool("check", "metrics", text=profiler.get("/metrics").text)
    told = [line for line in said.splitlines() if "stackprobe_bpf_runtime_seconds " not in line]
    assert status == 0 or not told, said


def test_series_of_processes_and_of_the_others_are_the_nodes(profiler, start):
    """And no series decreases, while others come and go and are chosen."""
    profiler.conf.write_text(profiler.conf.read_text().replace("process_metrics = -1;", ""))  # 16
    profiler.stop()
    profiler.start()
    watch(profiler)
    seen = {}

    def look():
        text = profiler.get("/metrics").text
        found = {labels: float(value) for labels, value in re.findall(r"^stackprobe_process_cost_cpu_seconds_total{(.*)} (.*)$", text, re.M)}
        if not found:
            return False
        node = float(re.search(r"^stackprobe_node_process_cpu_seconds_total (.*)$", text, re.M)[1])
        for labels, value in found.items():
            assert value >= seen.get(labels, 0) or value == 0, labels
        assert found['pid="others"'] >= seen.get('pid="others"', 0)
        seen.update(found)
        assert len(found) <= 17 and sum(found.values()) <= node + 1e-6
        return found

    wait_for(look, why="series")
    target = start("spin", 60)
    end = time.monotonic() + 8
    while time.monotonic() < end:
        subprocess.run(["sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done"], check=True)
        look()
        time.sleep(0.3)

    def mine():
        return next((value for labels, value in look().items() if f'pid="{target.pid}"' in labels), 0)

    wait_for(lambda: mine() > 0.5, every=0.5, why="a series of its own")


class Prometheus:
    def __init__(self, work, target):
        self.port = free_port()
        conf = work / "prometheus.yml"
        conf.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"scrape_configs:\n  - job_name: stackprobe\n    static_configs: [{{targets: ['{target}']}}]\n"
        )
        self.log = (work / "prometheus.log").open("w")
        argv = ["prometheus", f"--config.file={conf}", f"--storage.tsdb.path={work / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{self.port}", "--enable-feature=exemplar-storage"]  # fmt: skip
        self.popen = subprocess.Popen(argv, stdout=self.log, stderr=self.log)

    def ask(self, what, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return []  # it isn't there yet

    def query(self, expression):
        said = self.ask("query", query=expression)
        return said and said["result"]

    def exemplars(self, metric):
        now = time.time()
        return [one["labels"] for series in self.ask("query_exemplars", query=metric, start=now - 60, end=now)
                for one in series["exemplars"]]  # fmt: skip

    def stop(self):
        self.popen.kill()
        self.popen.wait()
        self.log.close()


@pytest.fixture
def prometheus(profiler, work):
    server = Prometheus(work, f"127.0.0.1:{profiler.port}")
    yield server
    server.stop()


def expressions():
    dashboard = json.loads((ROOT / "conf/grafana/stackprobe.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$instance", ".*").replace("$__rate_interval", "10s")


@needs_prometheus
def test_each_panel_of_the_dashboard_has_data(profiler, start, podman, prometheus):
    watch(profiler, report_period=5)
    one = podman.run("c", "/opt/c_spin", 600)
    target = start("spin", 60)
    profiler.put_ok(profiler.wanting(pids=[target.pid, one.pid], probes=("oncpu", "offcpu")))
    left = dict.fromkeys(expressions())
    assert len(left) > 15

    def all_have_data():
        for name, expression in list(left):
            if prometheus.query(expression):
                del left[name, expression]
        return not left

    wait_for(all_have_data, 40, every=1, why=lambda: list(left))
    known = {labels["pid"] for labels in prometheus.exemplars("stackprobe_node_process_cpu_seconds_total")}
    series = {result["metric"]["pid"] for result in prometheus.query("last_over_time(stackprobe_process_cost_cpu_seconds_total[1m])")}
    assert known and known <= series
    assert " # {" not in profiler.get("/metrics").text
    names = {result["metric"].get("container") for result in prometheus.query("stackprobe_container_cpu_seconds_total")}
    assert one.name in names

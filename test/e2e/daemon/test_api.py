"""PUT and GET /flamegraph, GET /healthz and /metrics: what is accepted and what is answered.

Nothing here runs a probe, except the two curl commands of the original's document.
"""
import json
import re
import shutil
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from helpers import SUCCESS, stopped, wait_for

TYPES = [
    None,
    "application/x-www-form-urlencoded",
    "application/json",
    "text/plain",
    "multipart/form-data; boundary=x",
]
FORMS = {
    "raw": lambda text: "json=" + text,
    "encoded": lambda text: "json=" + urllib.parse.quote(text),
    "encoded with plus": lambda text: urllib.parse.urlencode({"json": text}),
    "plain": lambda text: text,
    "plain with blanks": lambda text: "\r\n  " + text + "\n",
}


def test_get_before_the_first_put_is_an_empty_object(daemon):
    answer = daemon.get("/flamegraph")
    assert (answer.status, answer.json()) == (200, {})
    assert answer.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_the_body_is_read_whatever_the_content_type(daemon, form):
    for number, content_type in enumerate(TYPES):
        doc = stopped(comm=f"^a+ b%20{number}$", svg_period=100 + number)
        headers = {"Content-Type": content_type} if content_type else {}
        body = FORMS[form](json.dumps(doc)).encode()
        answer = daemon.put(body, headers=headers)
        assert (answer.status, answer.text.strip()) == (200, SUCCESS), (content_type, answer.text)
        assert answer.headers["Content-Type"].startswith("application/json")
        settings = daemon.settings()
        assert settings["snoopers"]["proc_name"][0]["comm"] == f"^a+ b%20{number}$"
        assert settings["params"]["svg_period"] == 100 + number


def test_feature_probe_and_state_names_compare_without_case(daemon):
    doc = {**stopped(), "cmd": {"probe": ["OnCPU"]}, "state": "STOPPED"}
    assert daemon.request("PUT", "/FlameGraph", json.dumps(doc)).status == 200
    settings = daemon.get("/FLAMEGRAPH").json()
    assert settings["cmd"]["probe"] == ["oncpu"]
    assert settings["state"] == "stopped"


def test_a_query_behind_the_feature_is_ignored(daemon):
    assert daemon.get("/flamegraph?pretty=1").status == 200


def test_params_merge_key_by_key(daemon):
    daemon.put_ok(stopped(svg_period=60))
    daemon.put_ok({"params": {"perf_sample_period": 20}})
    daemon.put_ok({"params": {"multi_instance": 1}})
    params = daemon.settings()["params"]
    assert (params["svg_period"], params["perf_sample_period"]) == (60, 20)
    assert params["multi_instance"] == 1


def test_snoopers_replace_the_whole_set(daemon):
    daemon.put_ok(stopped("^one$"))
    daemon.put_ok({"snoopers": {"proc_name": [{"comm": "^two$", "cmdline": "x"}]}})
    names = daemon.settings()["snoopers"]["proc_name"]
    assert [(e["comm"], e["cmdline"]) for e in names] == [("^two$", "x")]
    daemon.put_ok({"snoopers": {"proc_id": [1]}})
    snoopers = daemon.settings()["snoopers"]
    assert (snoopers["proc_id"], snoopers["proc_name"]) == ([1], [])


def test_the_probes_replace_the_list(daemon):
    daemon.put_ok({**stopped(), "cmd": {"probe": ["oncpu", "offcpu"]}})
    assert set(daemon.settings()["cmd"]["probe"]) == {"oncpu", "offcpu"}
    daemon.put_ok({"cmd": {"probe": ["oncpu"]}})
    assert daemon.settings()["cmd"]["probe"] == ["oncpu"]


def test_a_first_put_sets_the_defaults_and_zero_is_the_default(daemon):
    daemon.put_ok(stopped(svg_period=0, perf_sample_period=0))
    params = daemon.settings()["params"]
    wanted = {
        "svg_period": 180,
        "perf_sample_period": 10,
        "multi_instance": 0,
        "native_stack": 0,
        "thread_frame": 1,
        "frame_detail": "line",
        "java_source": "auto",
        "java_symbol_refresh_interval": 600,
        "max_overhead": 3,
        "icicle": 0,
        "mem_fault_bytes": 65536,
        "mem_sample_bytes": 524288,
        "mem_realloc_age": "new",
        "pyroscope_server": "",
        "pyroscope_api": "push",
        "svg_dir": "/var/log/stackprobe/stacktrace",
        "flame_dir": "/var/log/stackprobe/flamegraph",
    }
    assert {key: params[key] for key in wanted} == wanted


def test_svg_dir_and_output_dir_are_one_setting(daemon, work):
    daemon.put_ok(stopped(output_dir=f"{work}/one"))
    assert daemon.settings()["params"]["svg_dir"] == f"{work}/one"
    daemon.put_ok({"params": {"svg_dir": f"{work}/two"}})
    assert f"{work}/one" not in json.dumps(daemon.settings())


def test_frequency_stands_in_place_of_the_period(daemon):
    daemon.put_ok(stopped(frequency=250))
    params = daemon.settings()["params"]
    assert params["frequency"] == 250
    assert "perf_sample_period" not in params
    daemon.put_ok({"params": {"perf_sample_period": 40}})
    params = daemon.settings()["params"]
    assert params["perf_sample_period"] == 40
    assert "frequency" not in params


def test_what_is_unknown_or_has_no_effect_here_is_accepted(daemon):
    doc = stopped(svg_period=60, no_such_param=1, report_period=60, res_lower_thr=3)
    doc["cmd"].update(bin="/opt/x", check_cmd="ls", nothing=1)
    doc["snoopers"].update(custom_labels={"a": "b"}, pod_labels=["c"], pod_id=[])
    doc["snoopers"].update(container_id=[], container_name=[], something=[1])
    doc["snoopers"]["proc_name"][0].update(label={"k": "v"}, debugging_dir="", cmdline="")
    daemon.put_ok({**doc, "whatever": [1, 2, {}]})


def test_a_get_can_be_put_back_as_it_is(daemon, work):
    doc = stopped("^a;b\"\\/<é>$", svg_period=77, frequency=99, multi_instance=1)
    doc["params"].update(svg_dir=f"{work}/svg", pyroscope_server="localhost:4040")
    doc["params"].update(pyroscope_api="ingest", thread_frame=0)
    doc["snoopers"]["proc_id"] = [1, 2**22]
    doc["snoopers"]["proc_name"] += [
        {"comm": "x", "cmdline": "a b", "debugging_dir": "/usr/lib/debug", "probe": ["oncpu"]}
    ]
    daemon.put_ok(doc)
    answer, settings = daemon.get("/flamegraph"), daemon.settings()
    for body in (answer.body, b"json=" + answer.body, b"json=" + json.dumps(settings).encode()):
        assert daemon.put(body).status == 200
        assert daemon.settings() == settings


def test_a_stopped_feature_says_so_in_its_status(daemon):
    daemon.put_ok(stopped())
    assert daemon.settings()["state"] == "stopped"
    assert daemon.probe()["state"] == "stopped"
    assert daemon.processes() == {}


@pytest.mark.parametrize("server", ["", "ftp://localhost", "localhost:port", ":4040", "host:99999", "a b:1"])
def test_a_malformed_pyroscope_server_means_no_upload(daemon, server):
    daemon.put_ok(stopped(pyroscope_server=server))
    config = daemon.config()
    assert config["params"]["pyroscope_server"] == server
    upload = config["status"]["upload"]
    assert (upload["state"], upload["server"]) == ("off", "")
    assert ("neither host:port nor" if server else "is empty") in upload["reason"]


def test_a_pyroscope_server_is_kept_and_get_says_how_it_is_asked(daemon):
    daemon.put_ok(stopped(pyroscope_server="localhost:4040"))
    config = daemon.config()
    assert config["params"]["pyroscope_server"] == "localhost:4040"
    upload = config["status"]["upload"]
    assert (upload["state"], upload["server"], upload["reason"]) == ("running", "http://localhost:4040", "")


@pytest.fixture
def var_log():
    """What the commands of the document write below /var/log goes when it wasn't there before."""
    folders = [Path("/var/log/gala-gopher"), Path("/var/log/stackprobe")]
    made = [folder for folder in folders if not folder.exists()]
    yield
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


def curl(daemon, command):
    """A curl command from the document, run by a shell on this daemon's port."""
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    command = command.replace("localhost:9999", f"localhost:{daemon.port}")
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=30, check=True)
    return done.stdout.decode().strip()


def test_the_simple_curl_command_works_as_it_stands(var_log, profiler, start):
    target = start("spin", 60, "cadvisor")
    said = curl(
        profiler,
        """curl -X PUT http://localhost:9999/flamegraph -d json='{ "cmd": {"probe": ["oncpu"] },
        "snoopers": {"proc_name": [{ "comm": "cadvisor"}] }, "state": "running"}'""",
    )
    assert said == SUCCESS
    profiler.wait_running()
    wait_for(lambda: target.pid in profiler.processes(), why="it has given itself that name")


def test_the_advanced_curl_command_works_as_it_stands(var_log, profiler):
    said = curl(
        profiler,
        """curl -X PUT http://localhost:9999/flamegraph -d json='{ "cmd": { "probe": ["oncpu",
        "offcpu", "mem"] }, "snoopers": { "proc_name": [{ "comm": "cadvisor", "cmdline": "",
        "debugging_dir": "" }, { "comm": "java", "cmdline": "", "debugging_dir": "" }] },
        "params": { "perf_sample_period": 100, "svg_period": 300,
        "svg_dir": "/var/log/gala-gopher/stacktrace",
        "flame_dir": "/var/log/gala-gopher/flamegraph",
        "pyroscope_server": "localhost:4040", "multi_instance": 1, "native_stack": 0 },
        "state": "running"}'""",
    )
    assert said == SUCCESS
    profiler.wait_running()
    assert profiler.probe("offcpu")["state"] == "running"
    assert profiler.probe("mem")["state"] == "running"
    params = profiler.settings()["params"]
    assert (params["perf_sample_period"], params["svg_period"]) == (100, 300)
    assert params["svg_dir"] == "/var/log/gala-gopher/stacktrace"


def test_healthz_is_200_while_alive(daemon):
    assert daemon.get("/healthz").status == 200


SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')


def metrics(daemon):
    """Reads the Prometheus text format, strictly: {(name, labels): value}."""
    answer = daemon.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text.endswith("\n")
    types, values = {}, {}
    for line in answer.text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, f"{name} has two types"
            types[name] = kind
        elif line and not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            name = match[1]
            assert name in types, f"{name} has no type"
            assert types[name] == ("counter" if name.endswith("_total") else "gauge"), name
            assert (name, match[2]) not in values, line
            values[name, match[2]] = float(match[3])
    return values


def test_metrics_are_prometheus_text_with_our_names(daemon):
    names = {name for name, _ in metrics(daemon)}
    assert names
    # process_…: what each exporter tells of itself
    assert all(name.startswith(("stackprobe_", "process_")) for name in names)


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool (package prometheus)")
def test_metrics_pass_promtools_check(profiler, start):
    profiler.profile("^spin$")
    start("spin", 0.5).finish()
    profiler.folded()
    text = profiler.get("/metrics").text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=False,
                             capture_output=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.quick
def test_metrics_count_samples_and_losses(profiler, start):
    profiler.profile("^spin$", frequency=1000)
    start("spin", 0.5).finish()
    total = profiler.folded().total()
    values = metrics(profiler)
    assert sum(v for (name, _), v in values.items() if re.search("samples_total$", name)) >= total
    assert any("lost" in name and name.endswith("_total") for name, _ in values)
    assert any("truncated" in name and name.endswith("_total") for name, _ in values)

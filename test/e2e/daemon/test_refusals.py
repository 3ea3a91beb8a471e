"""What is refused, in which words; and that a refused PUT has changed nothing."""
import json
import shutil
from pathlib import Path

import pytest

from beside import own_folder
from helpers import Daemon, stopped

NAME = "Error occurs when parsing snooper proc_name"
ID = "Error occurs when parsing snooper proc_id"


@pytest.fixture(scope="module")
def shared():
    """A daemon for all that is refused whatever was said before."""
    work = own_folder()
    started = Daemon(work)
    try:
        yield started.start()
    finally:
        started.done()
        shutil.rmtree(work)


def with_params(**params):
    return {"params": params}


# A body that is refused with 400, sent to a feature that has a configuration, and the message.
REFUSED = [
    (b"", None),
    (b"json=", "invalid json format"),
    (b"json={", "invalid json format"),
    (b"{'cmd': 1}", "invalid json format"),
    (b"json=%7B", "invalid json format"),
    ({}, "Bad request"),
    ({"nothing": 1}, "Bad request"),
    ({"cmd": {"probe": []}}, "invalid probe ranges: at least one must be set"),
    ({"cmd": {"probe": "oncpu"}}, "invalid probe ranges: at least one must be set"),
    ({"cmd": {"probe": ["bogus"]}}, "unsupported probe range: bogus."),
    ({"cmd": {"probe": ["oncpu", 'a"b\n']}}, 'unsupported probe range: a"b\n.'),
    ({"cmd": {"probe": [1]}}, "Invalid probe range: must be string."),
    ({"cmd": {}}, "Bad request"),
    ({"state": "paused"}, "invalid state paused: must be running or stopped"),
    ({"state": 1}, "invalid state: must be string"),
    ({"snoopers": {}}, "the snooper for flamegraph cannot be empty"),
    ({"snoopers": {"proc_name": []}}, "the snooper for flamegraph cannot be empty"),
    ({"snoopers": {"proc_id": ["1"]}}, ID),
    ({"snoopers": {"proc_name": [{}]}}, NAME),
    ({"snoopers": {"proc_name": ["x"]}}, NAME),
    ({"snoopers": {"proc_name": [{"comm": 1}]}}, NAME),
    ({"snoopers": {"proc_name": [{"comm": "("}]}}, None),
    ({"snoopers": {"proc_name": [{"comm": "x" * 256}]}}, None),
    ({"blacklist": {"proc_id": [1]}}, None),
    (with_params(svg_period=29), "params.svg_period invalid value 29, must be in [30, 600]"),
    (with_params(svg_period=601), "params.svg_period invalid value 601, must be in [30, 600]"),
    (with_params(svg_period=-1), "params.svg_period invalid value -1, must be in [30, 600]"),
    (with_params(svg_period="60"), "params.svg_period invalid data type"),
    (with_params(svg_period=None), "params.svg_period invalid data type"),
    (
        with_params(perf_sample_period=9),
        "params.perf_sample_period invalid value 9, must be in [10, 1000]",
    ),
    (with_params(frequency=0), "params.frequency invalid value 0, must be in [1, 1000]"),
    (with_params(frequency=1001), "params.frequency invalid value 1001, must be in [1, 1000]"),
    (with_params(frequency=100, perf_sample_period=10), None),
    (with_params(multi_instance=2), "params.multi_instance invalid value 2, must be in [0, 1]"),
    (with_params(native_stack=2), "params.native_stack invalid value 2, must be in [0, 1]"),
    (with_params(thread_frame=2), "params.thread_frame invalid value 2, must be in [0, 1]"),
    (with_params(icicle=2), "params.icicle invalid value 2, must be in [0, 1]"),
    (
        with_params(minblock=2**32 - 1),
        "params.minblock invalid value 4294967295, must be in [0, 4294967294]",
    ),
    (
        with_params(maxblock=0),
        "params.maxblock invalid value 0, must be in [1, 9223372036854775807]",
    ),
    (
        with_params(offcpu_state="s"),
        "params.offcpu_state invalid value s, must be one of sd, d, all",
    ),
    (with_params(frame_detail="file"), "params.frame_detail invalid value file, must be one of line, name, signature"),
    (with_params(frame_detail=0), "params.frame_detail invalid data type"),
    (with_params(offcpu_state=0), "params.offcpu_state invalid data type"),
    (with_params(offcpu_depth=1001), "params.offcpu_depth invalid value 1001, must be in [16, 1000]"),
    (
        with_params(mem_fault_bytes=-1),
        "params.mem_fault_bytes invalid value -1, must be in [0, 4294967296]",
    ),
    (
        with_params(mem_sample_bytes=2**32 + 1),
        "params.mem_sample_bytes invalid value 4294967297, must be in [0, 4294967296]",
    ),
    (with_params(mem_sample_bytes="512K"), "params.mem_sample_bytes invalid data type"),
    (with_params(offcpu_split=-1), "params.offcpu_split invalid value -1, must be in [0, 1]"),
    (
        with_params(aggregate_by_cpu=2),
        "params.aggregate_by_cpu invalid value 2, must be in [0, 1]",
    ),
    (with_params(pyroscope_server=4040), "params.pyroscope_server invalid data type"),
    (with_params(svg_dir=1), "params.svg_dir invalid data type"),
]


@pytest.mark.parametrize("body, message", REFUSED, ids=lambda value: str(value)[:60])
def test_a_refused_put_says_why_and_changes_nothing(shared, body, message):
    shared.put_ok(stopped("^kept$", svg_period=60))
    before = shared.settings()
    answer = shared.put(body if isinstance(body, bytes) else b"json=" + json.dumps(body).encode())
    assert answer.status == 400, answer.text
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.message == message if message else answer.message
    assert shared.settings() == before


@pytest.mark.parametrize(
    "bad",
    [
        {"cmd": {"probe": ["bogus"]}},
        {"params": {"svg_period": 1}},
        {"params": {"svg_dir": "relative"}},
        {"state": "paused"},
        {"snoopers": {"proc_id": [1], "proc_name": [{"comm": 5}]}},
    ],
    ids=str,
)
def test_one_bad_part_takes_the_good_parts_back(shared, bad):
    shared.put_ok(stopped("^kept$", svg_period=60))
    before = shared.settings()
    good = {
        "cmd": {"probe": ["oncpu", "offcpu"]},
        "snoopers": {"proc_id": [1]},
        "params": {"multi_instance": 1},
        "state": "stopped",
    }
    assert shared.put({**good, **bad}).status == 400
    assert shared.settings() == before


def test_nothing_is_kept_of_a_first_put_that_is_refused(daemon):
    assert daemon.put({**stopped(), "state": "paused"}).status == 400
    assert daemon.get("/flamegraph").json() == {}


def test_running_needs_somebody_to_profile(daemon):
    answer = daemon.put({"cmd": {"probe": ["oncpu"]}, "state": "running"})
    assert answer.status == 400
    assert answer.message == "the snooper for flamegraph cannot be empty"


def test_running_needs_a_probe(daemon):
    answer = daemon.put({"snoopers": {"proc_id": [1]}, "state": "running"})
    assert answer.status == 400
    assert answer.message == "invalid probe ranges: at least one must be set"


def test_a_blacklist_is_refused_with_a_hint(daemon):
    answer = daemon.put({**stopped(), "blacklist": {"proc_name": [{"comm": "x"}]}})
    assert answer.status == 400
    assert "use snoopers" in answer.message


def test_a_long_message_is_whole_and_is_json(daemon):
    daemon.put_ok(stopped())
    name = 'quote " backslash \\ é ' + "x" * 2000
    answer = daemon.put({"cmd": {"probe": [name]}})
    assert answer.status == 400
    assert "unsupported probe range" in answer.message


FOLDERS = ["", "relative/x", "/etc/stackprobe", "/", "/tmpx/a", "/tmp/../etc/x", "/var/log/../lib/x"]
REFUSED = [(key, folder) for key in ("svg_dir", "output_dir", "flame_dir") for folder in FOLDERS]
REFUSED.remove(("output_dir", ""))  # is as good as none (test_gala_gopher.py)


@pytest.mark.parametrize(("key", "folder"), REFUSED)
def test_a_folder_outside_the_roots_is_refused(daemon, key, folder):
    answer = daemon.put(stopped(**{key: folder}))
    assert answer.status == 400, folder
    assert daemon.get("/flamegraph").json() == {}


JFR = "params.java_source jfr needs multi_instance 1 and native_stack 0"


def test_jfr_is_refused_without_its_condition(daemon):
    """As the params would be after the PUT, whichever of them it has."""
    answer = daemon.put(stopped(java_source="jfr"))
    if "built without a JDK" in answer.message:
        pytest.skip(answer.message)
    assert (answer.status, answer.message) == (400, JFR)
    assert daemon.get("/flamegraph").json() == {}
    assert daemon.put(stopped(java_source="jfr", multi_instance=1, native_stack=1)).message == JFR
    daemon.put_ok(stopped(java_source="jfr", multi_instance=1))
    for params in ({"multi_instance": 0}, {"native_stack": 1}):
        answer = daemon.put({"params": params})
        assert (answer.status, answer.message) == (400, JFR)
    params = daemon.settings()["params"]
    assert (params["java_source"], params["multi_instance"], params["native_stack"]) == ("jfr", 1, 0)
    daemon.put_ok({"params": {"multi_instance": 0, "java_source": "auto"}})


@pytest.mark.parametrize(
    "snooper, value",
    [
        ("pod_id", "not-a-uid"),
        ("container_id", "0123456789a"),
        ("container_name", "a/../b"),
        ("container_name", "/(/"),
        ("cgroup", "relative"),
        ("cgroup", "/a/../b"),
        ("image", ""),
        ("pod", "web"),
    ],
)
def test_a_container_snooper_that_can_match_nothing_is_refused(shared, snooper, value):
    doc = stopped()
    doc["snoopers"][snooper] = []
    shared.put_ok(doc)
    doc["snoopers"][snooper] = [value]
    answer = shared.put(doc)
    assert answer.status == 400
    assert f"Error occurs when parsing snooper {snooper}: must be" in answer.message


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/flamegraphs",
        "/flamegraph/oncpu",
        "/flamegraph/oncpu.png",
        "/flamegraph/oncpu.pb",
        "/flamegraph/bogus.svg",
        "/flamegraph/../healthz",
        "/" + "a" * 2000,
        "/%00",
    ],
)
def test_an_unknown_path_is_404(shared, path):
    answer = shared.get(path)
    assert answer.status == 404
    assert answer.message == "url not found"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "OPTIONS", "FROBNICATE"])
def test_another_method_is_405_and_the_allowed_ones_are_named(shared, method):
    answer = shared.request(method, "/flamegraph", b"{}")
    assert answer.status == 405
    assert {m.strip() for m in answer.headers["Allow"].split(",")} >= {"GET", "PUT"}


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/flamegraph/oncpu.folded"])
def test_what_can_only_be_read_is_405_for_put(shared, path):
    answer = shared.request("PUT", path, b"{}")
    assert answer.status == 405
    assert "PUT" not in answer.headers["Allow"] and "GET" in answer.headers["Allow"]

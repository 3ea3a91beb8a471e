"""What is ignored is said: warnings beside a success, the detail of a refusal, a header where there is no JSON."""
import json
import os

import pytest


def put(daemon, path, body):
    answer = daemon.request("PUT", path, json.dumps(body).encode())
    return answer.status, json.loads(answer.text)


def body(daemon, **more):
    return {**daemon.wanting("^nobody-is-called-so$", state="stopped"), **more}


def test_a_body_without_mistakes_has_no_warning(daemon):
    assert put(daemon, "/flamegraph", body(daemon)) == (
        200, {"result": "success", "message": "New config takes effect"})
    shown = json.loads(daemon.get("/flamegraph").text)  # and so has what GET shows
    assert "warnings" not in put(daemon, "/flamegraph", shown)[1]


def gone_pid():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


@pytest.mark.quick
@pytest.mark.parametrize("change, says", [
    ({"param": {}}, "the body has no param, it is ignored: is it params?"),
    ({"xyzzy": 1}, "the body has no xyzzy, it is ignored; there are cmd, snoopers, params, state"),
    ({"params": {"freqency": 99}}, "params has no freqency, it is ignored: is it frequency?"),
    ({"cmd": {"probe": ["oncpu"], "probes": ["mem"]}}, "cmd has no probes, it is ignored: is it probe?"),
    ({"snoopers": {"proc_name": [{"comm": "x", "cmd_line": "y"}]}},
     "snoopers.proc_name has no cmd_line, it is ignored: is it cmdline?"),
    ({"snoopers": {"proc_id": [1], "proc_nam": []}}, "snoopers has no proc_nam, it is ignored: is it proc_name?"),
    ({"snoopers": {"cgroup": ["/sys/fs/cgroup/does/not/exist"]}},
     "snoopers.cgroup: there is no /sys/fs/cgroup/does/not/exist now"),
], ids=str)  # fmt: skip
def test_what_is_ignored_is_said(daemon, change, says):
    if "cgroup" in says and not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        pytest.skip("no hierarchy of version 2 at /sys/fs/cgroup")
    status, answer = put(daemon, "/flamegraph", body(daemon, **change))
    assert (status, answer["message"]) == (200, "New config takes effect")
    assert answer["warnings"] == [says]
    assert f"warn PUT /flamegraph: {says}\n" in daemon.log


def test_a_pid_that_nobody_has_is_said(daemon):
    pid = gone_pid()
    _, answer = put(daemon, "/flamegraph", body(daemon, snoopers={"proc_id": [pid, os.getpid()]}))
    assert answer["warnings"] == [f"snoopers.proc_id: there is no process {pid} now"]


def test_keys_of_gala_gopher_are_no_mistake(daemon):
    change = {"cmd": {"bin": "/x", "check_cmd": "", "probe": ["oncpu"]},
              "params": {"report_period": 60, "res_lower_thr": 1, "report_event": 0},
              "snoopers": {"proc_id": [], "proc_name": [{"comm": "x", "cmdline": "", "debugging_dir": ""}],
                           "pod_id": "", "container_id": [], "gaussdb": []}}  # fmt: skip
    assert "warnings" not in put(daemon, "/flamegraph", body(daemon, **change))[1]


def test_many_mistakes_are_said_up_to_a_number(daemon):
    _, answer = put(daemon, "/flamegraph", body(daemon, params={f"key{i}": i for i in range(40)}))
    assert len(answer["warnings"]) == 17 and answer["warnings"][-1] == "and more"


@pytest.mark.parametrize("path, change, message, detail", [
    ("/flamegraph", {"cmd": {"probes": ["oncpu"]}}, "Bad request", "cmd.probe is an array with at least one"),
    ("/flamegraph", {"cmd": {"probe": "oncpu"}}, "invalid probe ranges: at least one must be set", "oncpu, offcpu, mem"),
    ("/flamegraph", {"cmd": {"probe": ["oncpuu"]}}, "unsupported probe range: oncpuu.", "Is it oncpu?"),
    ("/flamegraph", {"cmd": {"probe": ["runqlat"]}}, "unsupported probe range: runqlat.", "/sched has a probe of that name"),
    ("/sched", {"cmd": {"probe": ["mem"]}}, "unsupported probe range: mem.", "/flamegraph has a probe of that name"),
    ("/flamegraph", {"params": {"svg_period": 29}}, "params.svg_period invalid value 29, must be in [30, 600]",
     "params.svg_period is a number from 30 to 600 s: the time that one file covers"),
    ("/flamegraph", {"params": {"frame_detail": 3}}, "params.frame_detail invalid data type", "one of line, name, signature"),
    ("/flamegraph", {"snoopers": {"proc_name": ["python3"]}}, "Error occurs when parsing snooper proc_name",
     'an array of objects with comm'),
    ("/flamegraph", {"snoopers": {"pod": ["a/b"]}}, None, "snoopers.pod is an array"),
    ("/flamegraph", {"snoopers": {}}, "the snooper for flamegraph cannot be empty", "proc_id, proc_name"),
    ("/flamegraph", {"snoopers": 1}, "Bad request", "snoopers is an object"),
    ("/flamegraph", {"params": 1}, "Bad request", "params is an object"),
], ids=str)  # fmt: skip
def test_a_refusal_has_its_detail(daemon, path, change, message, detail):
    status, answer = put(daemon, path, body(daemon, **change) if "params" in change else change)
    assert status == 400 and answer["result"] == "failed"
    assert message in (None, answer["message"])
    assert detail in answer["detail"], answer


def test_wrong_json_is_shown_where_it_is_wrong(daemon):
    answer = daemon.request("PUT", "/flamegraph", b'{"state": running}')
    assert "running}" in json.loads(answer.text)["detail"]


def test_a_command_line_alone_chooses(daemon):
    status, answer = put(daemon, "/flamegraph", body(daemon, snoopers={"proc_name": [{"cmdline": "no-such-line"}]}))
    assert status == 200, answer
    assert daemon.config()["snoopers"]["proc_name"][0]["cmdline"] == "no-such-line"


@pytest.mark.parametrize("path", ["/flamegraph/oncpu.svg?second=2", "/flamegraph?second=2", "/metrics?second=2"])
def test_an_unknown_key_of_a_query_is_in_a_header_and_in_the_log(daemon, path):
    said = daemon.get(path).headers["Stackprobe-Warning"]
    assert said == "the query has no second, it is ignored: is it seconds?"
    assert f"warn GET: {said}\n" in daemon.log


def test_keys_that_are_known_have_no_warning(daemon):
    for path in ("/flamegraph/oncpu.folded?header=1&pid=1", "/debug/pprof/heap?debug=0&gc=1"):
        assert "Stackprobe-Warning" not in daemon.get(path).headers


def test_what_a_header_may_not_have_is_replaced(daemon):
    assert daemon.get("/metrics?%0d%0aSet-Cookie:x=%ff").headers["Stackprobe-Warning"].startswith("the query has no ??Set-Cookie:x")

"""Who comes over a network, with a token and without; what the conf file says of who may ask."""
import grp
import json

import pytest

from askers import RESOURCES, TOKENS, WAYS, address_elsewhere, bearer, elsewhere, to, tokens  # noqa: F401
from asking import burning
from helpers import stopped, wait_for, why_not
from somebody import pids_in


# From elsewhere: tokens


def test_whoever_comes_over_a_network_is_nobody_without_a_token(elsewhere, tokens):
    """Root as well: what its process is there, the kernel can't tell."""
    _, root, there = elsewhere(**tokens)
    assert root.get("/healthz", to=there).status == 200
    metrics = root.get("/metrics", to=there)
    assert metrics.status == 200 and 'pid="' not in metrics.text
    for path in RESOURCES:
        answer = root.get(path, to=there)
        assert answer.status == 401, path
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "_token_file" in answer.message
    assert root.put(stopped(), to=there).status == 401


ROWS = [  # what is asked for, and who may: the least role
    ("GET", "/healthz", "metrics"),
    ("GET", "/metrics", "metrics"),
    ("GET", "/", "metrics"),
    ("GET", "/ui/host.json", "metrics"),
    ("GET", "/flamegraph", "read"),
    ("GET", "/sched", "read"),
    ("GET", "/proc", "read"),
    ("GET", "/debug/pprof/", "read"),
    ("GET", "/flamegraph/oncpu.folded", "read"),
    ("GET", "/flamegraph/oncpu.folded?from=-60", "read"),
    ("GET", "/processes", "read"),
    ("GET", "/windows?probe=oncpu", "read"),
    ("GET", "/changes?probe=oncpu", "read"),
    ("GET", "/anomalies?probe=oncpu", "read"),
    ("GET", "/events", "read"),
    ("GET", "/flamegraph/oncpu.folded?pid={pid}&seconds=1", "profile"),
    ("GET", "/debug/pprof/profile?pid={pid}&seconds=1", "profile"),
    ("GET", "/sched/runqlat.json?seconds=1", "profile"),
    ("GET", "/proc/proc_cpu.json?seconds=1", "profile"),
    ("PUT", "/flamegraph", "admin"),
    ("PUT", "/sched", "admin"),
    ("PUT", "/proc", "admin"),
]


@pytest.mark.quick
@pytest.mark.parametrize("role", TOKENS)
def test_a_tokens_role_is_what_it_opens_and_no_more(needs_bpf, elsewhere, tokens, start, role):
    daemon, root, there = elsewhere(**tokens)
    target = burning(start)
    ranks = list(TOKENS)
    daemon.put_ok(stopped())
    for method, path, needed in ROWS:
        how = {"method": method, "to": there, "headers": bearer(TOKENS[role])}
        if method == "PUT":
            how["body"] = "json=" + json.dumps(stopped())
        answer = root.get(path.format(pid=target.pid), **how)
        if ranks.index(role) < ranks.index(needed):
            assert answer.status == 403, (method, path)
            assert "WWW-Authenticate" not in answer.headers
            assert f"the role {needed}" in answer.message and f"the role {role}" in answer.message
        else:  # a profile there isn't is 404, a measurement that isn't configured 400
            assert answer.status in (200, 400, 404), (method, path, answer.text)
    wants_pids = ranks.index(role) >= ranks.index("read")
    daemon.put_ok(daemon.wanting("^spin$", probes=("oncpu", "offcpu")))
    daemon.wait_running()
    wait_for(lambda: pids_in(daemon.get("/metrics").text), why="series of a process")
    metrics = root.get("/metrics", to=there, headers=bearer(TOKENS[role])).text
    assert bool(pids_in(metrics)) == wants_pids


@pytest.mark.parametrize("header", [
    "Bearer wrong-0123456789abcdef", "Bearer " + TOKENS["admin"][:-1], "Bearer " + TOKENS["admin"] + "x", "Bearer ",
    "Bearer", "Basic " + TOKENS["admin"], TOKENS["admin"], "Bearer " + "x" * 4000, "Bearer " + TOKENS["admin"].upper(),
    "Bearer " + TOKENS["admin"] + " " + TOKENS["admin"],
], ids=range(10))  # fmt: skip
def test_what_is_no_token_opens_nothing(elsewhere, tokens, header):
    daemon, root, there = elsewhere(**tokens)
    for path in ("/flamegraph", "/metrics"):
        answer = root.get(path, to=there, headers={"Authorization": header})
        assert answer.status == 401, path
        assert "_token_file" in answer.message
        assert TOKENS["admin"] not in answer.text
    assert TOKENS["admin"] not in daemon.log


def test_a_token_opens_the_same_over_loopback_and_takes_nothing_away(serve, somebody, tokens):
    nobody = somebody(serve(**tokens))
    for way in WAYS:
        assert nobody.get("/flamegraph", to=to(nobody, way), headers=bearer(TOKENS["read"])).status == 200
        assert nobody.put(stopped(), to=to(nobody, way), headers=bearer(TOKENS["read"])).status == 403
        assert nobody.put(stopped(), to=to(nobody, way), headers=bearer(TOKENS["admin"])).status == 200


def test_tokens_are_read_again_at_sighup(serve, somebody, tokens):
    daemon = serve(**tokens)
    nobody = somebody(daemon)
    tokens["read_token_file"].write_text("another-0123456789abcdef\n")
    daemon.popen.send_signal(1)
    wait_for(lambda: nobody.get("/flamegraph", headers=bearer("another-0123456789abcdef")).status == 200, why="the new")
    assert nobody.get("/flamegraph", headers=bearer(TOKENS["read"])).status == 401
    tokens["read_token_file"].write_text("short\n")
    daemon.popen.send_signal(1)
    wait_for(lambda: "a token is one line" in daemon.log, why="a line of what is wrong")
    assert nobody.get("/flamegraph", headers=bearer("another-0123456789abcdef")).status == 200


def test_no_token_is_ever_told(serve, tokens):
    daemon = serve(**tokens)
    daemon.put_ok(stopped())
    told = daemon.get("/flamegraph").text + daemon.get("/metrics").text + daemon.log
    assert not [token for token in TOKENS.values() if token in told]


# The conf file's ways


def test_without_the_rule_of_loopback_nobody_is_known_there(serve, somebody):
    """A port-forward comes as root."""
    daemon = serve(loopback_uid=False)
    root = somebody(daemon, uid=0)
    assert root.get("/flamegraph").status == 401
    assert root.put(stopped()).status == 401
    assert root.get("/healthz").status == 200
    assert root.put(stopped(), to=root.socket).status == 200
    assert somebody(daemon).put(stopped(), to=root.socket).status == 403


def test_an_open_daemon_is_open_and_says_so(serve, somebody):
    daemon = serve(open=True)
    nobody = somebody(daemon)
    assert "rest_api_server.open" in daemon.log
    for way in WAYS:
        assert nobody.put(stopped(), to=to(nobody, way)).status == 200
        assert nobody.get("/flamegraph", to=to(nobody, way)).status == 200
    daemon.stop()
    before = len(daemon.log)
    daemon.start()
    assert "rest_api_server.open" in daemon.log[before:]


def test_members_of_the_admins_group_may_put_on_the_unix_socket_alone(serve, somebody):
    group = grp.getgrgid(1)
    daemon = serve(admin_group=group.gr_name)
    member, first, other = somebody(daemon, groups=[group.gr_gid]), somebody(daemon, gid=group.gr_gid), somebody(daemon)
    assert member.put(stopped(), to=member.socket).status == 200
    assert first.put(stopped(), to=first.socket).status == 200
    assert other.put(stopped(), to=other.socket).status == 403
    assert member.put(stopped()).status == 403, "over TCP the kernel doesn't tell the group"


def test_a_group_that_is_not_there_stops_the_start(work):
    assert "there is no group" in why_not(work, admin_group="no-such-group-here")


def test_the_second_address_has_metrics_alone(elsewhere, tokens):
    address = address_elsewhere()
    daemon, root, _ = elsewhere(metrics_addr=f"{address}:0", **tokens)
    (port,) = [int(line.rsplit(":", 1)[1].split()[0]) for line in daemon.log.split("\n") if "metrics for every" in line]
    there = [address, port]
    assert root.get("/healthz", to=there).status == 200
    metrics = root.get("/metrics", to=there)
    assert metrics.status == 200 and 'pid="' not in metrics.text
    for headers in ({}, bearer(TOKENS["admin"])):
        for path in (*RESOURCES, "/", "/proc", "/nothing"):
            assert root.get(path, to=there, headers=headers).status in (401, 403), (path, headers)
        assert root.put(stopped(), to=there, headers=headers).status in (401, 403)
    assert daemon.get("/flamegraph").json() == {}


def test_the_second_address_is_an_option_as_well(serve, somebody):
    daemon = serve(options=["--metrics-listen", "127.0.0.1:0"])
    (port,) = [int(line.rsplit(":", 1)[1].split()[0]) for line in daemon.log.split("\n") if "metrics for every" in line]
    root = somebody(daemon, uid=0)
    assert root.get("/metrics", to=["127.0.0.1", port]).status == 200
    assert root.get("/flamegraph", to=["127.0.0.1", port]).status == 403


def test_a_socket_in_a_folder_where_others_may_write_stops_the_start(work):
    folder = work / "anybodys"
    folder.mkdir()
    folder.chmod(0o777)
    assert "others may write there" in why_not(work, socket=folder / "api.sock")

"""Where it is uploaded to: the server that a PUT names, another one, none; and the conf file at SIGHUP."""
import re
import signal
import time

import pytest

from asking import burning
from helpers import stopped, wait_for
from pyroscope_asking import pyroscope
from uploads import (assert_same, assert_whole, of_probe, pid_of, pushed_stacks, wait_windows)  # fmt: skip


def server_of(name):
    return stopped(pyroscope_server=name)


def reload(daemon, said="", **options):
    """Another section `upload`; until the log says that of it."""
    offset = len(daemon.log)
    daemon.set_upload(**options)
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: re.search(f"SIGHUP(?s:.*)({said})", daemon.log[offset:]), why=lambda: daemon.log[offset:])


def services(server):
    return server.label_values("service_name")


def test_without_a_server_nothing_is_sent_or_kept(uploader, start):
    daemon = uploader()
    target = burning(start)
    daemon.send("", pids=[target.pid])
    before = daemon.descriptors()
    wait_for(lambda: daemon.probe()["samples"] > 50)
    assert (daemon.upload("state"), daemon.upload("server")) == ("off", "")
    assert daemon.upload("reason")
    daemon.put_ok({"state": "stopped"})
    assert not daemon.spool.exists()
    wait_for(lambda: daemon.descriptors() <= before, why=lambda: f"{before}, {daemon.descriptors()}")
    assert daemon.probe()["samples"] > 0


def test_another_server_and_then_none(uploader, start):
    """What follows goes there; no moment is lost, and none is at both."""
    daemon = uploader()
    target = burning(start)
    daemon.send("", pids=[target.pid])
    before = daemon.descriptors()
    with pyroscope() as one, pyroscope() as other:
        daemon.put_ok({"params": {"pyroscope_server": f"127.0.0.1:{one.port}"}})
        wait_windows(one, 1)
        assert daemon.upload("server") == one.url
        daemon.put_ok({"params": {"pyroscope_server": other.url + "/"}})
        wait_windows(other, 1)
        assert daemon.upload("server").rstrip("/") == other.url
        (spool,) = [daemon.spool]
        assert spool.stat().st_mode & 0o777 == 0o700
        asked = len(one.asked)
        at = time.time_ns()
        daemon.put_ok({"params": {"pyroscope_server": ""}})
        assert daemon.upload("state") == "off"
        samples = daemon.probe()["samples"]
        wait_for(lambda: daemon.probe()["samples"] > samples, why="sampling goes on")
        wait_for(lambda: daemon.descriptors() <= before, why=lambda: f"{before}, {daemon.descriptors()}")
        assert len(one.asked) == asked
        assert_whole(one), assert_whole(other)
        windows = sorted({(w.from_ns, w.until_ns) for server in (one, other) for w in server.stored})
        assert all(end == begin for (_, end), (begin, _) in zip(windows, windows[1:])), windows
        assert windows[-1][1] <= at + 10**9 or daemon.waiting()


def test_what_waits_goes_to_the_server_that_comes_next(uploader, start):
    daemon = uploader()
    target = burning(start)
    with pyroscope() as server:
        server.stop()
        daemon.send(server, pids=[target.pid])
        names = wait_for(daemon.waiting, why="a window in the spool")
        assert {(daemon.spool / name).stat().st_mode & 0o777 for name in names} == {0o600}
        wait_for(lambda: daemon.upload("state") == "failing", why=daemon.upload)
        assert daemon.upload("last_failure") and daemon.upload("waiting") >= 1 and daemon.upload("waiting_bytes") > 0
        with pyroscope() as other:
            daemon.put_ok({"params": {"pyroscope_server": other.url}})
            daemon.end(other)
            assert set(names.values()) <= {one.until_ns for one in other.stored}
            assert_whole(other)
            files = daemon.wait_stacks("oncpu", {target.pid})
            assert_same(pushed_stacks(other.stored, "oncpu"), files)
        server.start()
    assert daemon.upload("maybe_twice") == 0 and daemon.lost() == {}


def test_a_window_that_nobody_saw_the_end_of_is_the_files_whole(uploader, start):
    """Started and stopped within one: it is shorter."""
    daemon = uploader()
    target = burning(start)
    with pyroscope() as server:
        for _ in range(2):
            daemon.send(server, pids=[target.pid])
            before = daemon.probe()["samples"]
            wait_for(lambda before=before: daemon.probe()["samples"] > before + 20)
            daemon.end(server)
        assert server.refused == []
        files = wait_for(lambda: len(daemon.files(daemon.flame_dir, "folded")) == 2 and daemon.stacks("oncpu"))
        assert {pid_of(frames) for frames in files} == {target.pid}
        assert_same(pushed_stacks(server.stored, "oncpu"), files)


@pytest.mark.parametrize("allow", [["pyroscope.example:4040", "https://other.example/base/"]])
def test_a_server_that_is_not_allowed_is_refused_by_its_name(uploader, allow):
    daemon = uploader(allow=allow)
    answer = daemon.put(server_of("127.0.0.1:4040"))
    assert answer.status == 400
    assert answer.message == "params.pyroscope_server 127.0.0.1:4040 is not in upload.allow of the conf file"
    assert daemon.put(server_of("http://other.example/base")).status == 400, "another scheme"
    assert daemon.config() == {}, "nothing has changed"
    for name in ("http://PYROSCOPE.example:4040", "pyroscope.example:4040", "https://other.example:443/base", ""):
        daemon.put_ok(server_of(name))
    reload(daemon, allow=[])
    daemon.put_ok(server_of("127.0.0.1:4040"))


@pytest.mark.parametrize("name", ["host:port", "ftp://host/", "http://", "http://user:secret@host", "host:1?a=b",
                                  "http://host:99999", "http://ho st", "://", "host:1#a"])  # fmt: skip
def test_what_is_no_server_is_said_and_the_rest_goes_on(daemon, name):
    daemon.put_ok(server_of(name))
    upload = daemon.config()["status"]["upload"]
    assert upload["state"] == "off" and upload["reason"], upload
    assert "secret" not in upload["reason"] + upload["server"]
    assert daemon.settings()["params"]["pyroscope_server"] == name.replace("user:secret", "***")
    daemon.put_ok({"params": daemon.settings()["params"]})
    assert daemon.config()["status"]["upload"]["reason"] == upload["reason"]
    state = daemon.work / "state/state.json"
    told = daemon.get("/flamegraph").text + daemon.log + (state.read_text() if state.exists() else "")
    assert "secret" not in told


def test_sighup_reads_the_section_again(uploader, start):
    daemon = uploader(service_name="first")
    target = burning(start)
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        wait_windows(server, 1)
        reload(daemon, service_name="second")
        wait_for(lambda: services(server) == ["first", "second"], 30, why="another service_name")
        for broken in ({"service_name": ""}, {"period": 7}, {"ca_file": "/nowhere/ca.pem"},
                       {"user": "one"}):  # fmt: skip
            reload(daemon, "upload|ca.pem|service_name|period|password", **broken)
        reload(daemon, service_name="second")
        daemon.end(server)
        assert server.refused == [] and services(server) == ["first", "second"]
        files = daemon.wait_stacks("oncpu", {target.pid})
        assert_same(pushed_stacks(server.stored, "oncpu"), files)
        ends = sorted({(one.from_ns, one.until_ns) for one in of_probe(server.stored, "oncpu")})
        assert all(end == begin for (_, end), (begin, _) in zip(ends, ends[1:])), "no moment is missing"

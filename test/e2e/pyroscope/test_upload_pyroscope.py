"""Uploads to a real Pyroscope, and what it gives back. PYROSCOPE_BIN names it."""
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from helpers import wait_for
from pyroscope_real import RealPyroscope, binary, page_of, wait_shown
from uploads import CPU_NS, PERIOD, PROBES, TYPES, busy, pid_of

SELECTOR = '{service_name="stackprobe"}'
ALL_TYPES = {*(type for type, _ in TYPES.values()), "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
             "off_cpu:waits:count::", "memory:alloc_objects:count:space:bytes"}  # fmt: skip


@pytest.fixture
def server(work):
    binary()
    folder = work / "pyroscope"
    folder.mkdir()
    real = RealPyroscope(folder)
    try:
        yield real.start()
    finally:
        real.done()


def of_probe(probe, **labels):
    pairs = {"service_name": "stackprobe", "probe": probe, **labels}
    return "{" + ",".join(f'{name}="{value}"' for name, value in pairs.items()) + "}"


def finish(daemon):
    daemon.put_ok({"state": "stopped"})
    wait_for(lambda: daemon.probe()["state"] == "stopped")
    wait_for(lambda: daemon.upload("stored") > 0, 60, why=daemon.upload)
    time.sleep(1)  # the last windows are rendered
    daemon.wait_sent(120)


def assert_totals(server, daemon, probe, pids):
    files = daemon.wait_stacks(probe, pids)
    type, unit = TYPES[probe]
    wait_for(lambda: server.total(type, of_probe(probe)) >= files.total() * unit, 30,
             why=lambda: f"{server.total(type, of_probe(probe))} of {files.total() * unit}")  # fmt: skip
    assert server.total(type, of_probe(probe)) == files.total() * unit
    return files


@pytest.mark.parametrize("multi_instance", [0, 1])
def test_what_was_pushed_is_read_back(uploader, start, server, multi_instance):
    daemon = uploader()
    targets = [busy(start), start("spin", 600)]
    pids = {target.pid for target in targets}
    daemon.send(server, pids=list(pids), probes=PROBES, multi_instance=multi_instance)
    time.sleep(PERIOD + 2)
    finish(daemon)
    assert daemon.lost() == {} and daemon.upload("maybe_twice") == 0
    for probe in PROBES:
        files = assert_totals(server, daemon, probe, pids if probe == "oncpu" else {targets[0].pid})
        if multi_instance:
            for pid in {pid_of(frames) for frames in files}:
                own = sum(value for frames, value in files.items() if pid_of(frames) == pid)
                assert server.total(TYPES[probe][0], of_probe(probe, pid=pid)) == own * TYPES[probe][1]
    cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    assert server.total(cpu, SELECTOR) == server.total(TYPES["oncpu"][0], SELECTOR) * CPU_NS
    assert server.types() >= ALL_TYPES
    assert server.label_values("probe") == set(PROBES)
    assert server.label_values("pid") == ({str(pid) for pid in pids} if multi_instance else set())
    assert {"inner_spin", "burn"} <= server.names(cpu, SELECTOR)


def test_the_servers_page_shows_it(uploader, start, server, chromium):
    """The service and its functions, in the server's own page. It runs only where PYROSCOPE_BIN names a Pyroscope
    with its page built in, and Chromium is there; elsewhere nothing of it has been seen to work but the reading
    of a page (test_a_page_is_read_as_it_fills)."""
    daemon = uploader()
    target = start("spin", 600)
    daemon.send(server, pids=[target.pid])
    wait_for(lambda: daemon.upload("stored") >= 2, 60, why=daemon.upload)
    finish(daemon)
    cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    assert "inner_spin" in server.names(cpu, SELECTOR)
    with chromium.page(page_of(server.url, cpu, SELECTOR), width=1600, height=1200) as page:
        wait_shown(page, ["stackprobe", "inner_spin"])


PAGE = """<title>a page</title><input id=service><canvas></canvas><table id=table></table><script>
setTimeout(() => {
  service.value = new URLSearchParams(location.search).get("query").match(/service_name="(.*)"/)[1];
  table.innerHTML = "<tr><td>inner_spin</td></tr>";
}, 700)</script>"""


def test_a_page_is_read_as_it_fills(chromium):
    """No Pyroscope's: what it takes to read one. A name that isn't there is missed."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{site.server_port}"
        with chromium.page(page_of(address, TYPES["oncpu"][0], SELECTOR)) as page:
            wait_shown(page, ["stackprobe", "inner_spin"], 20)
            with pytest.raises(AssertionError, match="outer_spin"):
                wait_shown(page, ["inner_spin", "outer_spin"], 1)
        site.shutdown()


def test_it_dies_and_starts_again(uploader, start, server):
    """kill -9 while pushes come; nothing but what is counted may be there twice."""
    daemon = uploader()
    target = start("spin", 600)
    daemon.send(server, pids=[target.pid])
    wait_for(lambda: daemon.upload("stored") > 0, 60, why=daemon.upload)
    server.stop(signal.SIGKILL)
    wait_for(lambda: daemon.upload("waiting") >= 2, 60, why=daemon.upload)
    server.start()
    finish(daemon)
    files, type = daemon.wait_stacks("oncpu", {target.pid}), TYPES["oncpu"][0]
    assert daemon.lost() == {}
    wait_for(lambda: server.total(type, of_probe("oncpu")) >= files.total(), 30)
    if daemon.upload("maybe_twice") == 0:
        assert server.total(type, of_probe("oncpu")) == files.total()


def test_ingest_is_read_back(uploader, start, server):
    daemon = uploader()
    target = busy(start)
    daemon.send(server, pids=[target.pid], probes=("oncpu", "mem"), pyroscope_api="ingest")
    wait_for(lambda: daemon.probe()["samples"] > 300, 30)
    finish(daemon)
    assert daemon.lost() == {}
    for type, probe, unit in (("process_cpu:cpu:nanoseconds:cpu:nanoseconds", "oncpu", CPU_NS),
                              ("memory:alloc_space:bytes::", "mem", 1)):  # fmt: skip
        total = daemon.wait_stacks(probe, {target.pid}).total() * unit
        wait_for(lambda type=type, probe=probe, total=total: server.total(type, f'{{probe="{probe}"}}') == total, 30,
                 why=f"{type} {total}")  # fmt: skip

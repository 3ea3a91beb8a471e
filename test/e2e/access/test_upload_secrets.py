"""Who may PUT has no password, token or certificate sent to a server of their own, and reads no other's answers."""
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from asking import burning
from helpers import stopped, wait_for
from test_upload_auth import BASIC, PASSWORD, TOKEN, assert_silent
from test_upload_server import reload
from uploads import PERIOD

PAGE = "internal page: db=10.0.0.5 build=42"
OFF = "name these in upload.allow"


class Listener(ThreadingHTTPServer):
    """Any server: whoever asks it is written down and reads an internal page."""

    daemon_threads = True

    def __init__(self, status=400, address="127.0.0.1", headers=()):
        super().__init__((address, 0), Handler)
        self.status, self.headers, self.asked, self.connections = status, headers, [], 0
        self.port = self.server_address[1]
        self.url = f"http://{address}:{self.port}"

    def get_request(self):
        self.connections += 1
        return super().get_request()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def told(self):
        return [value for headers in self.asked for value in headers.values()]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(dict(self.headers))
        self.send_response(self.server.status)
        for name, value in self.server.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def secret(work):
    def write(text, name="secret"):
        path = work / name
        path.write_text(text)
        os.chmod(path, 0o600)
        return path

    return write


def credentials(kind, secret):
    return {
        "password": {"user": "prod", "password_file": secret(PASSWORD)},
        "token": {"token_file": secret(TOKEN)},
        "certificate": {"cert_file": secret("pem", "cert"), "key_file": secret("pem", "key")},
    }[kind]


def wait_window(daemon, why):
    """Until a window has ended, which has gone nowhere."""
    samples, end = daemon.probe()["samples"], time.monotonic() + PERIOD + 1
    wait_for(lambda: time.monotonic() > end and daemon.probe()["samples"] > samples + 100, 60, why=why)


@pytest.mark.parametrize("kind", ["password", "token", "certificate"])
def test_credentials_without_a_list_of_servers_are_sent_to_nobody(uploader, start, secret, kind):
    daemon = uploader(**credentials(kind, secret))
    assert len(re.findall(f"upload is off: .*{OFF}", daemon.log)) == 1, daemon.log
    target = burning(start)
    with Listener() as server:
        daemon.send(f"127.0.0.1:{server.port}/any/path", pids=[target.pid])
        upload = daemon.upload()
        assert upload["state"] == "off" and OFF in upload["reason"] and upload["server"] == "", upload
        assert len(re.findall(f"profiles aren't uploaded: .*{OFF}", daemon.log)) == 1, daemon.log
        wait_window(daemon, "a window has ended")
        assert (server.connections, server.asked) == (0, [])
        assert daemon.waiting() == {}
        assert_silent(daemon, PASSWORD, TOKEN, BASIC.split()[1])


def test_a_list_that_comes_or_goes_at_sighup_counts_at_once(uploader, start, secret):
    target = burning(start)
    with Listener(503) as listed:
        options = credentials("token", secret)
        daemon = uploader(**options, allow=[listed.url])
        daemon.send(listed.url, pids=[target.pid])
        wait_for(lambda: listed.asked, 30, why="the server that is listed is asked")
        assert f"Bearer {TOKEN}" in listed.told()
        reload(daemon, "aren.t uploaded: .*upload.allow", **options)
        upload = daemon.upload()
        assert upload["state"] == "off" and OFF in upload["reason"], upload
        asked = len(listed.asked)
        wait_window(daemon, "a window has ended")
        assert len(listed.asked) == asked
        reload(daemon, f"profiles go to {listed.url}", **options, allow=[listed.url])
        wait_for(lambda: len(listed.asked) > asked, 90, why="and is asked again")


def test_no_server_but_a_listed_one_gets_credentials(uploader, start, secret):
    """Not by a PUT, not by a redirect of the one that is listed, not by one that was named before the list was."""
    target = burning(start)
    with Listener() as other, Listener(307, headers=[("Location", f"{other.url}/stolen")]) as listed:
        daemon = uploader()
        daemon.put_ok(stopped(pyroscope_server=other.url))
        reload(daemon, **credentials("token", secret), allow=[listed.url])
        daemon.profile(pids=[target.pid], frequency=997, max_overhead=0)
        upload = daemon.upload()
        assert upload["state"] == "off" and "upload.allow" in upload["reason"], upload
        answer = daemon.put({"params": {"pyroscope_server": f"{other.url}/x"}})
        assert answer.status == 400 and "is not in upload.allow" in answer.message
        daemon.put_ok({"params": {"pyroscope_server": listed.url}})
        wait_for(lambda: listed.asked, 30, why="the listed one is asked")
        wait_for(lambda: "307" in daemon.upload("last_failure"), 30, why=daemon.upload)
        assert (other.connections, other.asked) == (0, [])


def test_credentials_do_not_leave_the_host_by_plain_http_unless_the_conf_file_says_so(uploader, start, secret):
    """A proxy is no way round for what is meant for this host."""
    daemon = uploader(**credentials("token", secret), allow=["http://192.0.2.77:4040"])
    target = burning(start)
    daemon.send("192.0.2.77:4040", pids=[target.pid])
    upload = daemon.upload()
    assert upload["state"] == "off" and "upload.insecure_credentials" in upload["reason"], upload
    daemon.set_upload(**credentials("token", secret), allow=["http://192.0.2.77:4040"])
    daemon.conf.write_text(daemon.conf.read_text().replace("upload = {", "upload = { insecure_credentials = true;"))
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: daemon.upload("state") != "off", why=daemon.upload)


def test_what_is_meant_for_this_host_goes_through_no_proxy(uploader, start, secret, monkeypatch):
    with Listener() as proxy, Listener(200) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        for name in ("no_proxy", "NO_PROXY"):  # or libcurl would need no help of ours
            monkeypatch.delenv(name, raising=False)
        daemon = uploader(**credentials("token", secret), allow=[server.url])
        daemon.send(server.url, pids=[burning(start).pid])
        wait_for(lambda: server.asked or proxy.asked, 30, why="somebody is asked")
        assert proxy.asked == [] and f"Bearer {TOKEN}" in server.told()


@pytest.mark.parametrize("status", [400, 401, 503])
def test_a_servers_answer_is_read_by_nobody_who_may_get(uploader, start, status):
    """Only the log has it, and only at debug."""
    daemon = uploader()
    with Listener(status) as server:
        daemon.send(server.url, pids=[burning(start).pid])
        wait_for(lambda: str(status) in daemon.upload("last_failure"), 30, why=daemon.upload)
        assert_silent(daemon, PAGE, "10.0.0.5", "internal page")


@pytest.mark.parametrize("server", ["169.254.77.77:80", "http://[::ffff:169.254.77.77]/latest", "[fe80::77]:80"])
def test_link_local_addresses_are_refused_and_named_as_the_cause(uploader, start, server):
    daemon = uploader()
    daemon.send(server, pids=[burning(start).pid])
    wait_for(lambda: daemon.upload("last_failure"), 30, why=daemon.upload)
    assert "Link-local addresses (169.254.0.0/16, fe80::/10) are refused" in daemon.upload("last_failure")
    assert daemon.upload("state") == "failing" and "Link-local addresses" in daemon.log
    assert daemon.upload("maybe_twice") == 0

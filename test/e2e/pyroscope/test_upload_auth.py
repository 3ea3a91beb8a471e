"""Who it is that uploads: passwords, tokens, tenants, certificates; and that nobody is told of the secrets."""
import base64
import os
import signal
import subprocess

import pytest

from asking import burning
from certificates import certificates
from helpers import BIN, wait_for
from pyroscope_asking import pyroscope
from uploads import Uploader, wait_windows  # fmt: skip

PASSWORD, TOKEN = "pass-wörd: 7%", "token.of.nobody-else"
BASIC = "Basic " + base64.b64encode(f"someone:{PASSWORD}".encode()).decode()


@pytest.fixture
def secret(work):
    """secret("word"): a file that has it."""

    def write(text, name="secret", mode=0o600):
        path = work / name
        path.write_text(text)
        os.chmod(path, mode)
        return path

    return write


def assert_silent(daemon, *secrets):
    """Neither of them is told, nor what they are sent as."""
    told = daemon.log + daemon.get("/flamegraph").text + daemon.get("/metrics").text
    state = daemon.work / "state/state.json"
    told += state.read_text() if state.exists() else ""
    for one in secrets:
        assert one not in told, told


def headers(server, name):
    return {one.headers[name] for one in server.asked}


def test_a_password_and_a_tenant(uploader, start, secret):
    target = burning(start)
    with pyroscope(authorization=BASIC, tenant="team-1") as server:
        daemon = uploader(user="someone", password_file=secret(PASSWORD + "\n"), tenant="team-1", allow=[server.url])
        daemon.send(server, pids=[target.pid])
        daemon.end(server)
        assert server.refused == [] and server.stored
        assert_silent(daemon, PASSWORD, BASIC.split()[1])


def test_a_token_that_is_read_again_at_sighup(uploader, start, secret):
    """The wrong one: what it is refused with has the server's words, which may have it."""
    wrong = "wrong." + TOKEN
    target = burning(start)
    with pyroscope(authorization=f"Bearer {TOKEN}") as server:
        daemon = uploader(token_file=secret(wrong), allow=[server.url])
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: daemon.lost() == {"refused": 1}, 20, why=daemon.upload)
        assert "401" in daemon.upload("last_failure") and "401" in daemon.log
        secret(TOKEN + "\n")
        daemon.popen.send_signal(signal.SIGHUP)
        wait_windows(server, 1)
        daemon.end(server)
        assert headers(server, "Authorization") == {f"Bearer {wrong}", f"Bearer {TOKEN}"}
        assert_silent(daemon, TOKEN, wrong)


def test_without_any_of_them_no_header_has_one(uploader, start):
    daemon = uploader()
    target = burning(start)
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        daemon.end(server)
        for name in ("Authorization", "X-Scope-OrgID", "Cookie", "Expect", "Proxy-Authorization"):
            assert headers(server, name) == {None}, name
        assert all(agent.startswith("stackprobe/") for agent in headers(server, "User-Agent"))


def test_a_server_and_a_client_that_have_certificates(uploader, start, work, secret):
    made = certificates(work / "certificates")
    files = {"ca_file": made.ca, "cert_file": made.folder / "client.pem", "key_file": made.folder / "client.key"}
    target = burning(start)
    with pyroscope(tls=made.server(client=True), authorization=f"Bearer {TOKEN}") as server:
        daemon = uploader(**files, token_file=secret(TOKEN), allow=[server.url])
        daemon.send(server, pids=[target.pid])
        wait_windows(server, 1)
        daemon.end(server)
        assert (server.refused, server.gaps(), server.repeated) == ([], [], [])
        assert daemon.upload("maybe_twice") == 0
        assert_silent(daemon, TOKEN, (made.folder / "client.key").read_text().split("\n")[1])


@pytest.mark.parametrize("why", ["another ca", "the system's", "no client", "another host"])
def test_who_is_not_trusted_is_sent_nothing(uploader, start, work, why):
    made = certificates(work / "certificates")
    ca = {"another ca": made.folder / "other.pem", "the system's": None}.get(why, made.ca)
    daemon = uploader(**({"ca_file": ca} if ca else {}))
    target = burning(start)
    with pyroscope(tls=made.server(client=why == "no client")) as server:
        name = f"https://localhost:{server.port}" if why == "another host" else server.url
        daemon.send(name, pids=[target.pid])
        daemon.put_ok({"state": "stopped"})
        wait_for(lambda: daemon.upload("state") == "failing", 20, why=daemon.upload)
        assert daemon.upload("last_failure")
        assert (server.asked, daemon.upload("stored"), daemon.lost()) == ([], 0, {})
        assert daemon.upload("waiting") >= 1
        # A certificate that is asked for and missing is told by the server, behind the handshake of TLS 1.3.
        assert daemon.upload("maybe_twice") == 0 or why == "no client"


NOT_TO_BE_HAD = {
    "both": {"user": "one", "password_file": "{there}", "token_file": "{there}"},
    "a user alone": {"user": "one"},
    "a password alone": {"password_file": "{there}"},
    "a certificate alone": {"cert_file": "{there}"},
    "a key alone": {"key_file": "{there}"},
    "no such file": {"token_file": "{there}.not"},
    "a folder": {"token_file": "/tmp"},
    "too long a token": {"token_file": "{long}"},
    "two lines": {"token_file": "{lines}"},
}


@pytest.mark.parametrize("options", NOT_TO_BE_HAD.values(), ids=NOT_TO_BE_HAD.keys())
def test_what_cant_be_read_stops_the_start(work, secret, options):
    files = {"there": secret(TOKEN, "there"), "long": secret("x" * 5000, "long"), "lines": secret("a\nb\n", "lines")}
    daemon = Uploader(work, **{key: value.format(**files) for key, value in options.items()})
    ended = subprocess.run([BIN, "--config", daemon.conf, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                           timeout=20, check=False)  # fmt: skip
    assert ended.returncode == 1 and ended.stderr.strip(), ended
    assert TOKEN not in ended.stderr and any(key in ended.stderr for key in options), ended.stderr


def test_a_secret_that_others_can_read_is_said(uploader, secret):
    daemon = uploader(token_file=secret(TOKEN, mode=0o644))
    wait_for(lambda: "secret" in daemon.log, why="a warning")
    assert_silent(daemon, TOKEN)

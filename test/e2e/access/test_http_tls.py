"""TLS on the daemon's own addresses: gala-gopher's keys, clients' certificates, renewed ones, and clients that
do it badly."""
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import warnings
from functools import partial

import pytest

from asking import Asked, burning, sessions
from certificates import certificates, expired, signed
from helpers import Daemon, stopped, wait_for, why_not
from test_limits import padded, read_all

ROLES = ["metrics", "read", "profile", "admin"]


class TlsDaemon(Daemon):
    """Asked by https."""

    context = None

    def connect(self, timeout=10, context=None):
        sock = super().connect(timeout)
        return (context or self.context).wrap_socket(sock, server_hostname="127.0.0.1")

    def http(self, timeout, context=None, port=0):
        return http.client.HTTPSConnection(
            "127.0.0.1", port or self.port, timeout=timeout, context=context or self.context
        )

    def request(self, *request, timeout=30, context=None, port=0, **kwargs):
        return super().request(*request, conn=self.http(timeout, context, port), **kwargs)


@pytest.fixture
def made(work):
    """Certificates: server's, clients', and bad ones."""
    all_of_them = certificates(work / "pki")
    folder = all_of_them.folder
    expired(folder, "late")
    signed(folder, "foreign", ca="other")
    signed(folder, "serving", "extendedKeyUsage=serverAuth")
    signed(folder, "asking", "extendedKeyUsage=clientAuth")
    return all_of_them


@pytest.fixture
def tls(serve, made):
    """tls(ca_file=…): the daemon with its own certificate."""

    def begin(**keys):
        TlsDaemon.context = client(made)
        own = {"private_key": made.folder / "server.key", "cert_file": made.folder / "server.pem"}
        return serve(kind=TlsDaemon, **{"ssl_auth": "on", **own, **keys})

    return begin


def client(made, name=None, **versions):
    """A client's context: who trusts that CA, with a certificate of that name or without."""
    context = ssl.create_default_context(cafile=made.ca)
    if name:
        context.load_cert_chain(made.folder / f"{name}.pem", made.folder / f"{name}.key")
    for key, value in versions.items():
        setattr(context, key, value)
    return context


def curl(daemon, made, path, *options, method="GET"):
    """[status, body]"""
    if not shutil.which("curl"):
        pytest.skip("no curl")
    argv = ["curl", "--silent", "--show-error", "--noproxy", "*", "--write-out", "\n%{http_code}", "--request", method,
            *options, f"https://127.0.0.1:{daemon.port}{path}"]  # fmt: skip
    done = subprocess.run([str(arg) for arg in argv], capture_output=True, text=True, timeout=30, check=False)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body or done.stderr


def renew(made, name="server"):
    """Another certificate of the same name, with a key of its own."""
    signed(made.folder, name, "subjectAltName=IP:127.0.0.1")


def shown(daemon):
    """The certificate that it shows."""
    with daemon.connect() as sock:
        return sock.getpeercert(binary_form=True)


# gala-gopher's keys and curl's options


def test_curl_with_the_authority_is_served_as_without_tls(tls, made):
    daemon = tls()
    ca = ("--cacert", made.ca)
    assert curl(daemon, made, "/healthz", *ca) == (200, "ok\n")
    body = ("--data", "json=" + json.dumps(stopped()))
    assert curl(daemon, made, "/flamegraph", *ca, *body, method="PUT")[0] == 200
    status, text = curl(daemon, made, "/flamegraph", *ca)
    assert status == 200 and json.loads(text)["state"] == "stopped"
    assert curl(daemon, made, "/flamegraph")[0] == 0, "a curl without it trusts nobody"


@pytest.mark.parametrize("role", ROLES)
def test_a_clients_certificate_has_the_role_of_the_conf_file(tls, made, role):
    daemon = tls(ca_file=made.ca, certificate_role=role, loopback_uid=False)
    own = ("--cacert", made.ca, "--cert", made.folder / "client.pem", "--key", made.folder / "client.key")
    body = ("--data", "json=" + json.dumps(stopped()))
    rank = ROLES.index(role)
    assert curl(daemon, made, "/metrics", *own)[0] == 200
    assert (curl(daemon, made, "/flamegraph", *own)[0] == 200) == (rank >= 1)
    profile = curl(daemon, made, "/flamegraph/oncpu.svg?pid=4194304&seconds=1", *own)[0]
    assert (profile == 404) == (rank >= 2), profile
    assert (curl(daemon, made, "/flamegraph", *own, *body, method="PUT")[0] == 200) == (rank >= 3)


def test_without_a_certificate_a_client_is_nobody_in_particular(tls, made):
    daemon = tls(ca_file=made.ca, loopback_uid=False)
    assert daemon.get("/healthz").status == 200
    for path in ("/flamegraph", "/sched"):
        assert daemon.get(path).status == 401
    assert daemon.put(stopped()).status == 401
    assert daemon.request("GET", "/flamegraph", context=client(made, "asking")).status == 200


def test_root_on_loopback_needs_no_certificate(tls, made):
    daemon = tls(ca_file=made.ca)
    daemon.put_ok(stopped())
    assert daemon.config()["state"] == "stopped"


def test_tokens_go_over_tls_too(tls, work):
    (work / "token").write_text("a-token-of-the-reader\n")
    daemon = tls(read_token_file=work / "token", loopback_uid=False)
    assert daemon.request("GET", "/flamegraph", headers={"Authorization": "Bearer a-token-of-the-reader"}).status == 200
    assert daemon.get("/flamegraph").status == 401


@pytest.mark.parametrize("name, reason", [("late", "expired"), ("foreign", ""), ("serving", "")])
def test_a_certificate_that_is_not_good_is_refused_and_logged(tls, made, name, reason):
    """Even where its sender would have been let in without it."""
    daemon = tls(ca_file=made.ca)
    for path in ("/flamegraph", "/healthz"):
        answer = daemon.request("GET", path, context=client(made, name))
        assert answer.status == 403
        assert "certificate isn't accepted" in answer.message and reason in answer.message
    answer = daemon.request("PUT", "/flamegraph", b"json=" + json.dumps(stopped()).encode(), context=client(made, name))
    assert answer.status == 403
    lines = [line for line in daemon.log.split("\n") if "certificate of a client" in line]
    assert lines and f"CN={name}" in lines[0] and reason in lines[0]
    assert len(lines) <= 12
    assert daemon.get("/flamegraph").json() == {}


def test_a_flood_of_bad_certificates_does_not_flood_the_log(tls, made):
    daemon = tls(ca_file=made.ca)
    context = client(made, "late")
    for _ in range(60):
        assert daemon.request("GET", "/healthz", context=context).status == 403
    assert len([line for line in daemon.log.split("\n") if "certificate of a client" in line]) < 40


def test_without_an_authority_a_clients_certificate_is_not_asked_for(tls, made):
    daemon = tls(loopback_uid=False)
    for name in ("client", "foreign"):
        assert daemon.request("GET", "/flamegraph", context=client(made, name)).status == 401


def test_the_unix_socket_stays_plain(tls):
    daemon = tls()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(daemon.socket))
        sock.sendall(b"GET /flamegraph HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_all(sock).startswith(b"HTTP/1.1 200")


# What is no TLS, or too old


def test_plain_http_gets_nothing(tls):
    daemon = tls()
    with socket.create_connection(("127.0.0.1", daemon.port), 10) as sock:
        sock.sendall(b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        assert b"HTTP" not in read_all(sock)
    assert daemon.get("/flamegraph").json() == {}


@pytest.mark.parametrize("version", ["TLSv1_1", "TLSv1"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_of_tls_are_refused_by_the_daemon(tls, made, version):
    daemon = tls()
    old = getattr(ssl.TLSVersion, version)
    context = client(made, minimum_version=old, maximum_version=old)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with old_server(made) as port:
        with socket.create_connection(("127.0.0.1", port), 10) as sock:
            with context.wrap_socket(sock, server_hostname="127.0.0.1") as talk:
                assert talk.version() == version.replace("_", "."), "the client can't"
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        daemon.request("GET", "/healthz", context=context)
    assert daemon.alive()


@contextlib.contextmanager
def old_server(made):
    """One that speaks all versions, once."""
    context = made.server()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.minimum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_one():
            with contextlib.suppress(OSError), listening.accept()[0] as sock:
                context.wrap_socket(sock, server_side=True).close()

        thread = threading.Thread(target=serve_one)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_both_present_versions_are_spoken(tls, made, version):
    only = getattr(ssl.TLSVersion, version)
    context = client(made, "client", minimum_version=only, maximum_version=only)
    daemon = tls(ca_file=made.ca, loopback_uid=False)
    assert daemon.request("GET", "/flamegraph", context=context).status == 200


def test_rubbish_in_place_of_a_handshake_harms_nobody(tls):
    daemon = tls()
    rng = random.Random(20)
    for number in range(100):
        with daemon_plain(daemon) as sock, contextlib.suppress(OSError):
            sock.sendall((b"\x16\x03\x01" if number % 2 else b"") + rng.randbytes(rng.randrange(1, 2000)))
    assert daemon.alive()


def daemon_plain(daemon):
    return socket.create_connection(("127.0.0.1", daemon.port), 10)


# Files


def test_keys_that_cannot_be_used_stop_the_start(work, made):
    key, certificate = made.folder / "server.key", made.folder / "server.pem"
    empty = work / "empty"
    empty.write_text("")
    on = partial(why_not, work, ssl_auth="on")
    assert "private_key and cert_file have to be named" in on()
    assert "have to be named" in on(private_key=key)
    assert "can't be used" in on(private_key=made.folder / "client.key", cert_file=certificate)
    assert "can't be used" in on(private_key=certificate, cert_file=certificate)
    assert "can't be used" in on(private_key=key, cert_file=certificate, ca_file=empty)
    assert "No such file" in on(private_key=key, cert_file=work / "nothing")
    assert "no regular file" in on(private_key="/dev/null", cert_file=certificate)


def test_a_certificate_that_has_expired_is_served_with_a_warning(tls, made):
    daemon = tls(private_key=made.folder / "late.key", cert_file=made.folder / "late.pem")
    assert "late.pem has expired" in daemon.log
    with pytest.raises(ssl.SSLError, match="expired"):
        daemon.request("GET", "/healthz", context=client(made, check_hostname=False))
    daemon.context = client(made, check_hostname=False, verify_mode=ssl.CERT_NONE)
    assert daemon.alive()


def test_no_key_is_ever_told(tls, made):
    daemon = tls()
    daemon.put_ok(stopped())
    lines = (made.folder / "server.key").read_text().split("\n")[1:-2]
    told = daemon.log + daemon.get("/flamegraph").text + daemon.get("/metrics").text
    assert lines and not [line for line in lines if line in told]


# SIGHUP


def hup(daemon):
    daemon.popen.send_signal(signal.SIGHUP)


def test_a_renewed_certificate_is_taken_and_who_is_being_answered_is_answered(tls, made, profiler_here, start):
    daemon = tls()
    first = shown(daemon)
    target = burning(start)
    session = Asked(daemon, seconds=2, pid=target.pid)
    wait_for(lambda: sessions(daemon) == 1, why="a session")
    open_before = http.client.HTTPSConnection("127.0.0.1", daemon.port, timeout=30, context=daemon.context)
    open_before.connect()
    for _ in range(3):
        renew(made)
        before = shown(daemon)
        hup(daemon)
        wait_for(lambda was=before: shown(daemon) != was, why="the new certificate")
    assert shown(daemon) != first
    answer = session.result()
    assert answer.status == 200 and f"[{target.pid}]spin" in answer.text
    assert daemon.alive()
    open_before.close()


@pytest.fixture
def profiler_here(needs_bpf):
    """Where BPF programs may be loaded."""


@pytest.mark.parametrize("harm", ["rubbish", "another key", "gone", "empty", "pipe"])
def test_what_cannot_be_used_leaves_the_old_and_is_logged(tls, made, harm):
    daemon = tls()
    before, offset = shown(daemon), len(daemon.log)
    path = made.folder / "server.pem"
    path.unlink()
    if harm == "rubbish":
        path.write_text("-----BEGIN CERTIFICATE-----\nrubbish\n")
    elif harm == "another key":
        shutil.copy(made.folder / "client.pem", path)
    elif harm == "empty":
        path.write_text("")
    elif harm == "pipe":
        os.mkfifo(path)
    hup(daemon)
    wait_for(lambda: "server.pem" in daemon.log[offset:], why="a line")
    assert shown(daemon) == before
    assert daemon.alive()
    path.unlink(missing_ok=True)
    renew(made)
    hup(daemon)
    wait_for(lambda: shown(daemon) != before, why="a good one, later")


def test_an_authority_can_be_changed(tls, made, work):
    ca = work / "clients.pem"
    shutil.copy(made.ca, ca)
    daemon = tls(ca_file=ca, loopback_uid=False)
    ask = lambda name: daemon.request("GET", "/flamegraph", context=client(made, name)).status
    assert (ask("client"), ask("foreign")) == (200, 403)
    shutil.copy(made.folder / "other.pem", ca)
    hup(daemon)
    wait_for(lambda: ask("foreign") == 200, why="the new authority")
    assert ask("client") == 403


def test_a_reload_does_not_leak(tls, made):
    """Listeners that nobody uses any more go, with their descriptors."""
    daemon = tls(metrics_addr="127.0.0.1:0")

    def reload():
        renew(made)
        before = shown(daemon)
        hup(daemon)
        wait_for(lambda: shown(daemon) != before, why="the new certificate")

    def descriptors():
        return len(os.listdir(f"/proc/{daemon.pid}/fd"))

    reload()
    before = wait_for(descriptors)
    for _ in range(5):
        reload()
    wait_for(lambda: descriptors() <= before + 1, 30, why=lambda: f"{before} -> {descriptors()}")


# Clients that go, and clients that wait


@pytest.mark.parametrize("how", ["politely", "rudely", "reset"])
def test_a_session_whose_client_has_gone_makes_room(tls, made, profiler_here, start, how):
    daemon = tls()
    target = burning(start)
    sock = daemon.connect()
    first = f"GET /flamegraph/oncpu.folded?seconds=600&pid={target.pid} HTTP/1.1"
    sock.sendall(first.encode() + b"\r\nHost: localhost\r\n\r\n")
    wait_for(lambda: sessions(daemon) == 1, why="it runs")
    if how == "politely":
        with contextlib.suppress(OSError):
            sock.settimeout(0.5)
            sock.unwrap()
    elif how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    sock.close()
    wait_for(lambda: sessions(daemon) == 0, 30, why="it has ended")


def test_a_stream_whose_client_has_gone_ends(tls, profiler_here):
    daemon = tls()
    body = {"cmd": {"probe": ["runqslower"]}, "snoopers": {"proc_name": [{"comm": "^nothing$"}]}, "state": "running"}
    answer = daemon.request("PUT", "/sched", b"json=" + json.dumps(body).encode())
    assert answer.status == 200, answer.text
    files = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    sock = daemon.connect()
    sock.sendall(b"GET /sched/runqslower.txt?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert sock.recv(100).startswith(b"HTTP/1.1 200")
    sock.close()
    wait_for(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) <= files, 20, why="its descriptors are closed")
    assert daemon.alive()


def test_handshakes_that_are_never_finished_hold_nobody_up(tls, made, somebody):
    daemon = tls()
    nobody = somebody(daemon)
    hello = ssl_hello(made)
    for text in ("", "\x16", hello):
        nobody.do("hold", to=nobody.tcp, times=64, text=text)
        mine = [daemon_plain(daemon) for _ in range(16)]
        before = time.monotonic()
        assert daemon.get("/flamegraph").status == 200
        assert time.monotonic() - before < 5
        for sock in mine:
            sock.close()


def ssl_hello(made):
    """The beginning of one, that latin-1 can hold."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    talk = client(made).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with contextlib.suppress(ssl.SSLWantReadError):
        talk.do_handshake()
    return "".join(chr(byte) for byte in outgoing.read()[:40] if byte < 128)


def test_a_slow_client_is_cut_after_ten_seconds(tls):
    daemon = tls()
    with daemon_plain(daemon) as sock:
        sock.settimeout(40)
        began = time.monotonic()
        assert b"HTTP" not in read_all(sock)
        assert time.monotonic() - began < 25
    assert daemon.alive()


# Bodies and answers of any size


def test_a_body_of_one_mebibyte_is_read(tls):
    assert tls().put(padded(1 << 20)).status == 200


def test_a_large_answer_is_whole(tls):
    daemon = tls()
    doc = stopped()
    doc["snoopers"]["proc_name"] = [{"comm": f"^x{number}$", "cmdline": "y" * 4000} for number in range(100)]
    assert daemon.put(doc).status == 200
    for _ in range(5):
        names = daemon.get("/flamegraph").json()["snoopers"]["proc_name"]
        assert [one["comm"] for one in names] == [f"^x{number}$" for number in range(100)]


@pytest.mark.quick
def test_several_requests_go_over_one_connection(tls):
    daemon = tls()
    conn = http.client.HTTPSConnection("127.0.0.1", daemon.port, timeout=30, context=daemon.context)
    for number in range(50):
        conn.request("GET", "/healthz" if number % 2 else "/flamegraph")
        answer = conn.getresponse()
        assert answer.status == 200 and answer.read()
    conn.close()


def test_requests_that_come_together_are_each_answered(tls):
    daemon = tls()
    with daemon.connect() as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 9
                     + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")  # fmt: skip
        assert read_all(sock).count(b"HTTP/1.1 200") == 10


# The second address


def test_the_second_address_has_tls_as_well(tls, made):
    daemon = tls(metrics_addr="127.0.0.1:0", ca_file=made.ca)
    (line,) = [line for line in daemon.log.split("\n") if "metrics for every" in line]
    port = int(line.rsplit(":", 1)[1].split()[0])
    assert daemon.request("GET", "/metrics", port=port).status == 200
    assert daemon.request("GET", "/flamegraph", port=port, context=client(made, "client")).status == 403
    assert daemon.request("GET", "/metrics", port=port, context=client(made, "late")).status == 403
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP" not in read_all(sock)


def test_the_own_origin_is_one_of_https(tls):
    daemon = tls()
    own = {"Origin": f"https://127.0.0.1:{daemon.port}", "Sec-Fetch-Site": "same-origin"}
    assert daemon.put(stopped(), headers=own).status == 200
    plain = {"Origin": f"http://127.0.0.1:{daemon.port}"}
    assert daemon.put(stopped(), headers=plain).status == 403

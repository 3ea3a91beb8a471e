"""A web page in a browser of root's: what a browser would send, word by word, and Chromium itself, whose own
check of local networks is switched off."""
import contextlib
import http.server
import json
import re
import socket
import threading

import pytest

from asking import burning, sessions
from chromium import Chromium, missing
from helpers import stopped, wait_for
from screen import open_picture

POLICY = "Content-Security-Policy"
EVIL = "attacker.example"


def own_name():
    return socket.gethostname()


# Host: whose name it is


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "127.0.0.1", "localhost:{port}", "LOCALHOST", "[::1]:{port}",
                                  "192.0.2.77:1", "{name}:{port}", "{short}"])  # fmt: skip
def test_the_hosts_own_names_and_addresses_are_taken(daemon, host):
    name = own_name()
    host = host.format(port=daemon.port, name=name, short=name.split(".")[0])
    assert daemon.request("GET", "/flamegraph", headers={"Host": host}).status == 200


FOREIGN = [
    EVIL, EVIL + ":{port}", "127.0.0.1.evil.example", "localhost.evil.example", "localhost.", "evil.localhost", "x",
    "127.0.0.1@evil.example", "localhost:{port}@evil.example", "localhost:x", "[localhost]", "[::1", "::1", "",
    "127.0.0.1 evil.example", "0x7f000001", "2130706433", "127.1", "127.0.0.1,evil.example", "[::1].evil.example",
    "0.0.0.0", "0.0.0.0:{port}", "[::]:{port}", "[::ffff:0.0.0.0]:{port}",
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN)
def test_another_name_is_421_whatever_is_asked(daemon, host):
    headers = {"Host": host.format(port=daemon.port)}
    for method, path in (("GET", "/flamegraph"), ("GET", "/metrics"), ("GET", "/healthz"), ("PUT", "/flamegraph"),
                         ("GET", "/flamegraph/oncpu.svg?pid=1&seconds=600"), ("GET", "/nothing")):  # fmt: skip
        body = b"json=" + json.dumps(stopped()).encode() if method == "PUT" else None
        answer = daemon.request(method, path, body, headers=headers)
        assert answer.status == 421, (method, path, answer.text)
        assert "rest_api_server.hosts" in answer.message
    assert daemon.get("/flamegraph").json() == {}
    assert sessions(daemon) == 0


def test_names_of_the_conf_file_are_taken_too(serve):
    daemon = serve(hosts=["profiles.example", "Other.Example"])
    for host in ("profiles.example", f"PROFILES.example:{daemon.port}", "other.example"):
        assert daemon.request("GET", "/flamegraph", headers={"Host": host}).status == 200
    for host in ("x.profiles.example", "profiles.example.evil", "profiles"):
        assert daemon.request("GET", "/flamegraph", headers={"Host": host}).status == 421
    origin = {"Host": "profiles.example:80", "Origin": "http://profiles.example:80", "Sec-Fetch-Site": "same-origin"}
    assert daemon.put(stopped(), headers=origin).status == 200


def raw(daemon, text):
    """The answer's first line."""
    with daemon.connect() as sock:
        sock.sendall(text.encode())
        return sock.recv(4096).split(b"\r\n")[0].decode()


def test_a_request_without_a_host_is_one_of_http_1_0(daemon):
    assert " 200 " in raw(daemon, "GET /flamegraph HTTP/1.0\r\n\r\n")
    assert " 400 " in (line := raw(daemon, "GET /flamegraph HTTP/1.1\r\n\r\n")) or " 421 " in line
    assert " 421 " in raw(daemon, f"GET /flamegraph HTTP/1.0\r\nHost: {EVIL}\r\n\r\n")


def test_a_whole_url_in_the_first_line_is_no_way_around_it(daemon):
    assert " 200 " not in raw(daemon, f"GET http://{EVIL}/flamegraph HTTP/1.1\r\nHost: {EVIL}\r\n\r\n")


# Origin and Sec-Fetch-…: whose page it is


def origins(daemon):
    return [f"http://{EVIL}", f"http://{EVIL}:{daemon.port}", f"https://127.0.0.1:{daemon.port}", "null", "",
            "http://127.0.0.1", f"http://127.0.0.1:{daemon.port + 1}", f"http://localhost:{daemon.port}",
            f"http://127.0.0.1:{daemon.port}.{EVIL}", f"http://127.0.0.1:{daemon.port}/", "file://"]  # fmt: skip


def test_a_page_of_another_origin_may_nothing(daemon):
    for origin in origins(daemon):
        for method, path in (("PUT", "/flamegraph"), ("GET", "/flamegraph"), ("GET", "/metrics"), ("POST", "/sched")):
            body = b"json=" + json.dumps(stopped()).encode() if method == "PUT" else None
            answer = daemon.request(method, path, body, headers={"Origin": origin})
            assert answer.status == 403, (origin, method, path)
    assert daemon.get("/flamegraph").json() == {}


def test_a_page_of_its_own_origin_may_what_its_user_may(daemon):
    headers = {"Origin": f"http://127.0.0.1:{daemon.port}", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert daemon.put(stopped(), headers=headers).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense", ""])
@pytest.mark.parametrize("dest", ["image", "script", "iframe", "object", "embed", "empty", "document"])
def test_what_a_page_elsewhere_loads_is_403(daemon, site, dest):
    mode = "navigate" if dest in ("iframe", "object", "embed") else "no-cors"
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    for path in ("/flamegraph", "/flamegraph/oncpu.svg?pid=1&seconds=600", "/metrics"):
        assert daemon.request("GET", path, headers=headers).status == 403, path
    assert sessions(daemon) == 0


def test_without_a_word_on_whose_page_it_is_a_foreign_referer_begins_nothing(daemon):
    """Where neither TLS nor loopback's address is a browser sends no Sec-Fetch-…."""
    headers = {"Host": f"{own_name()}:{daemon.port}", "Referer": f"http://{EVIL}/"}
    path = "/flamegraph/oncpu.svg?pid=1&seconds=600"
    assert daemon.request("GET", path, headers=headers).status == 403
    assert daemon.put(stopped(), headers=headers).status == 403
    assert daemon.request("GET", "/flamegraph", headers=headers).status == 200
    headers["Referer"] = f"http://{own_name()}:{daemon.port}/flamegraph"
    assert daemon.put(stopped(), headers=headers).status == 200
    assert sessions(daemon) == 0


def test_a_link_leads_to_what_is_there_and_begins_nothing(daemon):
    daemon.put_ok(stopped())
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path in ("/flamegraph", "/metrics", "/healthz", "/debug/pprof/"):
        assert daemon.request("GET", path, headers=headers).status == 200, path
    for path in ("/flamegraph/oncpu.svg?pid=1&seconds=600", "/flamegraph/mem_glibc.svg?pid=1&seconds=1",
                 "/debug/pprof/profile?pid=1", "/debug/pprof/heap", "/sched/runqlat.json?seconds=1",
                 "/sched/runqslower.jsonl?follow=1"):  # fmt: skip
        assert daemon.request("GET", path, headers=headers).status == 403, path
    assert daemon.put(stopped(), headers=headers).status == 403
    assert sessions(daemon) == 0


def test_what_a_user_types_is_answered(daemon):
    headers = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert daemon.request("GET", "/flamegraph", headers=headers).status == 200


def test_a_token_does_not_make_up_for_a_foreign_page(serve, work):
    (work / "token").write_text("a-token-of-the-admin\n")
    daemon = serve(admin_token_file=work / "token")
    token = {"Authorization": "Bearer a-token-of-the-admin"}
    for headers in ({"Host": EVIL}, {"Origin": f"http://{EVIL}"}, {"Sec-Fetch-Site": "cross-site"}):
        assert daemon.put(stopped(), headers={**headers, **token}).status in (403, 421)
    assert daemon.get("/flamegraph").json() == {}


def test_an_open_daemon_is_not_open_to_pages(serve):
    daemon = serve(open=True)
    for headers in ({"Host": EVIL}, {"Origin": f"http://{EVIL}"}, {"Sec-Fetch-Site": "cross-site"}):
        assert daemon.put(stopped(), headers=headers).status in (403, 421)
    assert daemon.get("/flamegraph").json() == {}


# What each answer says to a browser


def test_each_answer_keeps_others_out(profiler, start):
    daemon = profiler
    target = burning(start)
    daemon.profile("^spin$")
    asked = [
        ("GET", "/flamegraph", {}, 200), ("GET", "/metrics", {}, 200), ("GET", "/healthz", {}, 200),
        ("GET", f"/flamegraph/oncpu.svg?pid={target.pid}&seconds=1", {}, 200),
        ("GET", "/flamegraph/oncpu.folded", {}, 200), ("GET", "/flamegraph/oncpu.pb.gz", {}, 200),
        ("GET", "/debug/pprof/", {}, 200), ("HEAD", "/flamegraph", {}, 200), ("GET", "/sched", {}, 200),
        ("GET", "/nothing", {}, 404), ("POST", "/flamegraph", {}, 405), ("OPTIONS", "/flamegraph", {}, 405),
        ("PUT", "/flamegraph", {}, 400), ("GET", "/flamegraph/oncpu.svg?seconds=0", {}, 400),
        ("GET", "/flamegraph", {"Host": EVIL}, 421), ("GET", "/flamegraph", {"Origin": "null"}, 403),
        ("GET", "/flamegraph", {"Authorization": "Bearer x"}, 401), ("GET", "/proc", {}, 200), ("GET", "/", {}, 200), ("GET", "/ui/main.js", {}, 200),
    ]  # fmt: skip
    for method, path, headers, status in asked:
        answer = daemon.request(method, path, headers=headers)
        assert answer.status == status, (method, path, answer.text)
        policy = [part.strip() for part in answer.headers[POLICY].split(";")]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert ("form-action 'self'" if path.startswith("/ui/") else "form-action 'none'") in policy and "base-uri 'none'" in policy
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert len(answer.headers.get_all(POLICY)) == 1


# Chromium

UNGUARDED = [  # its own checks, which not every browser has
    "--no-proxy-server", f"--host-resolver-rules=MAP {EVIL} 127.0.0.1",
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebRTC,BlockInsecurePrivateNetworkRequests,"
    "PrivateNetworkAccessSendPreflights,PrivateNetworkAccessRespectPreflightResults,"
    "PrivateNetworkAccessForNavigations,HttpsUpgrades,HttpsFirstBalancedMode",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    reason = missing()
    if reason:
        pytest.skip(reason)
    one = Chromium(*UNGUARDED)
    yield one
    one.close()


class Seen(http.server.BaseHTTPRequestHandler):
    """Answers all, and keeps what was asked for."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path))
        body = b"<!doctype html><title>a page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_OPTIONS = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pages():
    """A server of pages. seen: what it was asked for."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Seen)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def attacker():
    with pages() as server:
        yield server


@pytest.fixture
def unguarded():
    """A daemon as it would be without a check of its own."""
    with pages() as server:
        yield server


# Each ends within 5 s, whatever becomes of it: {how: what was got}.
ATTEMPTS = """
(async (at, body) => {
	const late = new Promise((done) => setTimeout(() => done('late'), 5000));
	const fetched = (path, how) => Promise.race([late, fetch(at + path, how).then(
		async (answer) => `${answer.type} ${answer.status} ${await answer.text()}`, () => 'failed')]);
	const loaded = (tag, path) => Promise.race([late, new Promise((done) => {
		const one = document.createElement(tag);
		one.onload = () => done('loaded');
		one.onerror = () => done('failed');
		one.src = at + path;
		document.body.append(one);
	})]);
	const sent = (enctype) => Promise.race([late, new Promise((done) => {
		const frame = document.createElement('iframe'), form = document.createElement('form');
		frame.name = 'answer' + enctype;
		document.body.append(frame);
		frame.onload = () => done('loaded');
		Object.assign(form, {method: 'POST', enctype, target: frame.name, action: at + '/flamegraph'});
		const field = document.createElement('input');
		field.name = 'json';
		field.value = body;
		form.append(field);
		document.body.append(form);
		form.submit();
	})]);
	return {
		'get': await fetched('/flamegraph', {}),
		'get unseen': await fetched('/flamegraph', {mode: 'no-cors'}),
		'get with cookies': await fetched('/flamegraph', {mode: 'no-cors', credentials: 'include'}),
		'put': await fetched('/flamegraph', {method: 'PUT', body: 'json=' + body}),
		'post': await fetched('/flamegraph', {method: 'POST', mode: 'no-cors', body: 'json=' + body}),
		'token': await fetched('/flamegraph', {headers: {Authorization: 'Bearer x'}}),
		'img': await loaded('img', '/flamegraph/oncpu.svg?pid=1&seconds=600'),
		'script': await loaded('script', '/flamegraph/oncpu.json?pid=1&seconds=600'),
		'iframe': await loaded('iframe', '/flamegraph/oncpu.svg?pid=1&seconds=600'),
		'embed': await loaded('embed', '/flamegraph/oncpu.svg?pid=1&seconds=600'),
		'form': await sent('text/plain'),
		'form with fields': await sent('application/x-www-form-urlencoded'),
	};
})"""


def attempts(page, at):
    return page.run(f"{ATTEMPTS}({json.dumps(at)}, {json.dumps(json.dumps(stopped('^theirs$')))})")


def assert_untouched(daemon, before):
    assert sessions(daemon) == 0
    assert daemon.settings() == before
    assert "theirs" not in daemon.get("/flamegraph").text


@pytest.fixture
def secret(profiler):
    """The daemon, with a configuration that nobody else may read or change."""
    profiler.put_ok(stopped("^secret-of-roots$"))
    return profiler


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", EVIL])
def test_a_page_from_another_port_gets_nothing_and_changes_nothing(browser, secret, attacker, unguarded, name):
    before = secret.settings()
    with browser.page(f"http://{name}:{attacker.server_port}/") as page:
        control = attempts(page, f"http://127.0.0.1:{unguarded.server_port}")
        assert control["get unseen"].startswith("opaque") and control["iframe"] == "loaded", control
        assert {("GET", "/flamegraph"), ("POST", "/flamegraph")} <= set(unguarded.seen), "the browser guards it"
        for host in ("127.0.0.1", "localhost", EVIL):
            got = attempts(page, f"http://{host}:{secret.port}")
            assert "secret" not in json.dumps(got)
            for how in ("get", "get unseen", "get with cookies", "put", "post", "token", "img", "script"):
                assert got[how] == "failed", (host, how, got)
            assert_untouched(secret, before)


def test_a_page_whose_name_is_rebound_gets_nothing_and_changes_nothing(browser, secret):
    """Its page came from the same port of the attacker's machine; now its name is 127.0.0.1."""
    before = secret.settings()
    at = f"http://{EVIL}:{secret.port}"
    with browser.page(f"{at}/flamegraph") as page:
        assert page.run("location.origin") == at
        assert "secret" not in page.run("document.documentElement.textContent")
        page.call("Page.setBypassCSP", enabled=True)  # the attacker's page had no policy
        page.open(f"{at}/flamegraph")
        got = attempts(page, at)
        for how in ("get", "get with cookies", "put", "post", "token"):
            assert re.match(r"basic 421 ", got[how]), (how, got)
        assert "secret" not in json.dumps(got)
        assert got["img"] == "failed"
        frames = "[...document.querySelectorAll('iframe')].map((one) => one.contentDocument?.body?.textContent)"
        assert "secret" not in json.dumps(page.run(frames))
    assert_untouched(secret, before)


def test_a_link_on_such_a_page_begins_no_session(browser, secret, attacker):
    before = secret.settings()
    for path, text in (("/flamegraph/oncpu.svg?pid=1&seconds=600", "another origin"), ("/flamegraph", "secret-of")):
        with browser.page(f"http://localhost:{attacker.server_port}/") as page:
            page.run(f"location = 'http://127.0.0.1:{secret.port}{path}', 1")

            def shown():
                assert sessions(secret) == 0
                found = page.run("location.port + document.documentElement.textContent")
                return found.startswith(str(secret.port)) and found

            assert text in wait_for(shown, 20, why="the daemon's answer")
        assert_untouched(secret, before)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_picture_works_under_its_own_policy(browser, profiler, start, name):
    burning(start, "pictured")
    profiler.profile("^pictured$", frequency=500)
    wait_for(lambda: profiler.folded().total("inner_spin") > 100, why="samples")
    with open_picture(browser, f"http://{name}:{profiler.port}/flamegraph/oncpu.svg") as picture:
        assert picture.page.run("document.contentType") == "image/svg+xml"
        whole = picture.frame("middle").width
        picture.click("middle")
        assert picture.frame("middle").width >= whole
        assert picture.text("unzoom") == "Reset Zoom"
        picture.page.key("Escape")
        assert not picture.text("unzoom")
        picture.search("inner_spin")
        assert picture.text("matched")
        assert len({frame.colour for frame in picture.frames}) > 1, "its style is there"

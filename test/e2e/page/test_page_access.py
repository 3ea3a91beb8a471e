"""Who sees what of the page; what it may load and run; names that are hostile; what is there without scripts."""
import http.client
import re
import shutil
from pathlib import Path

import pytest

from askers import TOKENS, bearer, tokens  # noqa: F401
from asking import burning
from browsing import opened, row_of  # noqa: F401
from helpers import program as built
from helpers import stopped, wait_for

HOSTILE = ["<b>x</b>", "'\"><i>", "\u202eabc", "a\x1b[31mb", "&lt;", "a;b c"]


def headers(daemon, path="/", **more):
    answer = daemon.request("GET", path, headers={"Accept": "text/html", **more})
    return answer.status, answer.headers, answer.body


@pytest.mark.quick
def test_the_pages_policy_has_nothing_unsafe(daemon):
    status, sent, body = headers(daemon)
    assert status == 200 and b"<title>stackprobe</title>" in body
    policy = sent["Content-Security-Policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy
    assert sent["X-Content-Type-Options"] == "nosniff" and sent["Cross-Origin-Resource-Policy"] == "same-origin"
    assert b"style=" not in body and b"onclick" not in body


def test_files_are_packed_and_asked_for_once(daemon):
    for name in ("main.js", "page.css", "icon.svg"):
        _, plain, text = headers(daemon, f"/ui/{name}")
        status, packed, body = headers(daemon, f"/ui/{name}", **{"Accept-Encoding": "gzip"})
        assert status == 200 and packed["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain
        assert len(body) < len(text) or name == "icon.svg"
        status, again, nothing = headers(daemon, f"/ui/{name}", **{"If-None-Match": packed["ETag"]})
        assert (status, nothing) == (304, b"") and again["ETag"] == packed["ETag"]
    assert headers(daemon, "/ui/../conf")[0] == headers(daemon, "/ui/")[0] == headers(daemon, "/ui/x.js")[0] == 404


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def test_the_page_tells_ahead_which_modules_it_needs(daemon):
    _, sent, _ = headers(daemon)
    told = dict(re.findall(r"<(/ui/[^>]+)>; rel=(\w+)", sent["Link"]))
    needed = ["main.js"]
    for name in needed:
        text = headers(daemon, f"/ui/{name}")[2].decode()
        needed += [more for more in re.findall(r"from '\./([\w.]+)'", text) if more not in needed]
    assert told == {**{f"/ui/{name}": "modulepreload" for name in needed}, "/ui/page.css": "preload"}
    assert "Link" not in headers(daemon, "/ui/main.js")[1]


def test_the_page_is_small(daemon):
    """Comments aren't counted, nor the shades of frames, which are the pictures' own."""
    names, code, packed = ["", "ui/main.js", "ui/page.css", "ui/icon.svg", "ui/search.js"], 0, 0
    for name in names:
        text = headers(daemon, f"/{name}")[2].decode()
        names += [f"ui/{more}" for more in re.findall(r"from '\./([\w.]+)'", text) if f"ui/{more}" not in names]
        code += len(without_comments(text))
        packed += len(headers(daemon, f"/{name}", **{"Accept-Encoding": "gzip"})[2])
    shades = len(without_comments(Path("probe/output/svg/palette.css").read_text()))
    assert len(names) >= len(list(Path("probe/page").glob("*.js"))) + 3
    assert code - shades <= 100_000 and packed <= 49_500


def test_text_for_curl(daemon):
    text = daemon.get("/").text
    assert "your role here: admin" in text and "curl -f" in text and f"127.0.0.1:{daemon.port}" in text
    assert daemon.request("PUT", "/").status == 405


def test_nothing_can_become_markup_or_code(daemon, opened):
    with opened(daemon, complains=True) as page:
        page.wait("#role")
        assert page.tab.run("(() => { try { document.body.innerHTML = '<i>'; } catch { return 1; } })()") == 1
        assert page.tab.run("document.querySelectorAll('i').length") == 0


def test_hostile_names_of_processes(profiler, start, opened, work):
    targets = {}
    for name in HOSTILE:
        program = work / name.replace("/", "")
        shutil.copy(built("spin"), program)
        targets[start(program, 60).pid] = program.name.encode()[:15].decode(errors="ignore")
    with opened(profiler) as page:
        for pid, name in targets.items():
            page.wait(f"{row_of(pid)} bdi")
            shown = page.text(f"{row_of(pid)} bdi")
            assert shown.replace("␛", "\x1b") == name
        assert page.tab.run("document.querySelectorAll('b, i').length") == 0


@pytest.mark.parametrize("role", ["metrics", "read", "profile", "admin"])
def test_a_token_says_what_may_be_done(needs_bpf, serve, tokens, start, opened, role):
    daemon = serve(loopback_uid=False, **tokens)
    target = burning(start)
    body = {**daemon.wanting("^spin$")}
    assert daemon.put(body, headers=bearer(TOKENS["admin"])).status == 200
    with opened(daemon, complains=True) as page:
        page.wait("#role", "metrics")
        assert not page.shows("#processes") and not page.shows("#probes")
        page.do("main=token")
        page.write("#token input", TOKENS[role])
        page.key("Enter")
        page.wait("#role", f"role {role}")
        assert TOKENS[role] not in page.tab.run("document.documentElement.outerHTML + location.href")
        assert page.shows("#probes") == (role not in ("metrics",))
        if role != "metrics":
            page.wait(row_of(target.pid), "spin")
        if role == "profile":  # the list and two sessions: it may have two requests at a time
            page.tab.run("{const select = document.querySelector('[name=probe]'); select.value = 'oncpu+offcpu'}")
            page.focus(row_of(target.pid))
            page.key("Enter")
            page.wait("#profile h2", "on and off CPUs of", seconds=40)
        if role != "metrics":
            page.wait("#probes tbody", "oncpu")
            disabled = page.tab.run("document.querySelector('#probes input[data-probe=oncpu]').disabled")
            assert disabled == (role != "admin")
        assert bool(page.text("#needs")) == (role != "admin")


class Scriptless:
    """The page without scripts: what a mouse and a keyboard reach."""

    def __init__(self, page):
        self.page = page
        self.address = page.tab.run("location.href")

    def push(self, selector):
        x, y = self.page.tab.run(f"""(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        self.page.tab.click(x, y)

    def lead(self, selector, there):
        """Follows a link or pushes a button; returns the address to which that leads, where `there` is said."""
        self.push(selector)
        wait_for(lambda: self.page.tab.run("location.href") != self.address, why=f"{selector} leads on")
        wait_for(lambda: there in self.text(), why=lambda: f"{there} is said: {self.text()}")
        return self.page.tab.run("location.pathname + location.search")

    def text(self):
        return self.page.tab.run("document.documentElement?.textContent") or ""

    def back(self):
        self.page.tab.open(self.address)


def test_without_scripts_there_are_links_and_a_form(profiler, start, opened):
    target = burning(start)
    profiler.profile("^spin$")
    wait_for(lambda: profiler.folded(pid=target.pid).total() > 0, why="samples")
    with opened(profiler, scripts=False) as page:
        text = page.tab.run("document.body.innerText")
        assert "Without scripts: what runs now" in text and page.text("#host") == ""  # no script has filled that in
        plain = Scriptless(page)

        def in_the_table():  # of those that used most in its second: on a busy machine not in each
            assert plain.lead("noscript a[href*='all.txt']", "what processes cost").startswith("/proc/all.txt")
            text = plain.text()
            plain.back()
            return f" {target.pid} spin" in text

        wait_for(in_the_table, why="the process is in the table")
        assert plain.lead("noscript a[href$='oncpu.svg']", "inner_spin") == "/flamegraph/oncpu.svg"
        assert page.tab.run("document.documentElement.tagName") == "svg"
        plain.back()
        plain.push("noscript [name=pid]")
        page.tab.type(str(target.pid))
        plain.push("noscript [name=seconds]")
        page.key("End", "Backspace")  # of 10 s the next one
        assert plain.lead("noscript button", "inner_spin") == f"/flamegraph/oncpu.html?pid={target.pid}&seconds=1"
        assert page.tab.run("document.querySelectorAll('svg').length") == 1


def test_another_origin_reads_nothing_of_it(daemon):
    for path in ("/", "/ui/main.js", "/ui/host.json"):
        for sent in ({"Origin": "http://attacker.example"}, {"Host": "attacker.example"}):
            assert daemon.request("GET", path, headers=sent).status in (403, 421)
    sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert daemon.request("GET", "/ui/host.json", headers=sent).status == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert daemon.request("GET", "/", headers=link).status == 200  # a link may lead to it


def test_the_address_for_scrapers_has_no_page(serve):
    daemon = serve(options=["--metrics-listen", "127.0.0.1:0"])
    (port,) = [int(line.rsplit(":", 1)[1].split()[0]) for line in daemon.log.split("\n") if "metrics for every" in line]
    for path, status in (("/", 403), ("/ui/main.js", 403), ("/healthz", 200)):
        conn = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        conn.request("GET", path)
        assert conn.getresponse().status == status, path
        conn.close()


def test_what_a_put_says_is_told(daemon, opened):
    daemon.put_ok(stopped())
    with opened(daemon) as page:
        page.wait("#probes tbody", "oncpu")
        assert "nothing-like-this" in page.text("#probes .chosen")

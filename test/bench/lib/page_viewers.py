"""The page and other viewers of flame graphs, each with the same made-up tree, and what is measured of them."""
import gzip
import http.server
import os
import threading
import time
from pathlib import Path

PATIENCE_S = 120
WIDTH, HEIGHT = 1600, 1000
# Waits in the page until something is there, and then until it is painted. Tasks of less than 50 ms aren't told by browsers.
WATCH = """
window.benchTasks = [];
new PerformanceObserver((list) => benchTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({type: 'longtask'});
window.benchPainted = new Promise((done) => {
    const look = () => {
        let there = false;
        try { there = (%s); } catch {}
        if (there)
            requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
        else
            setTimeout(look, 4);
    };
    look();
});"""
# What is done may set `begin` anew, once it has aimed.
AFTER = """(async () => {
    let begin = performance.now();
    %s;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - begin;
})()"""
# (The browser tells of tasks when it has nothing else to do.)
TASKS = """new Promise((done) => setTimeout(() => done(Math.max(0, ...benchTasks.splice(0))), 300))"""
FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
WHEEL_TURNS = 30
CENTRE = """(() => {
    const element = document.querySelector('%s');
    element.scrollIntoView({block: 'center'});
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
FRAMES = """{
    let last = 0;
    window.benchFrames = [];
    const note = (now) => {
        if (!benchFrames)
            return;
        if (last)
            benchFrames.push(now - last);
        last = now;
        requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
}"""
SLOWEST_FRAMES = """(() => {
    const sorted = benchFrames.sort((a, b) => a - b);
    benchFrames = null;
    return sorted[Math.floor(0.95 * (sorted.length - 1))];
})()"""


class Files(http.server.BaseHTTPRequestHandler):
    """The viewers' files, and the tree in their form."""

    protocol_version = "HTTP/1.1"  # a connection is used again, as the daemon's are
    disable_nagle_algorithm = True
    made = {}
    links = {}  # {path: the header Link that the daemon sends with it}
    folders = {}
    streams = {}  # {path: a function that gets the handler, whose head is sent}
    asked = {}  # {path: bytes of the answer}

    def do_GET(self):
        path = self.path.split("?")[0]
        if path in self.streams and "every=" in self.path:
            self.close_connection = True
            self.head(200, "application/x-ndjson", {"Connection": "close"})
            self.streams[path](self)
            return
        content = self.made.get(path)
        for begin, folder in self.folders.items():
            if content is None and path.startswith(begin) and (folder / path.removeprefix(begin)).is_file():
                content = (folder / path.removeprefix(begin)).read_bytes()
        kinds = {"svg": "image/svg+xml", "js": "text/javascript", "css": "text/css", "json": "application/json"}
        self.asked[path] = content or b""
        more = {"Content-Length": len(self.asked[path]), **({"Link": self.links[path]} if path in self.links else {})}
        self.head(200 if content is not None else 404, kinds.get(path.rsplit(".", 1)[-1], "text/html"), more)
        self.wfile.write(self.asked[path])

    def head(self, status, kind, more):
        self.send_response(status)
        for name, value in {"Content-Type": kind, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        pass

    @classmethod
    def serve(cls):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), cls)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @classmethod
    def bytes_asked(cls, profile):
        """What was asked for: all but the profile as gzip packs it, the profile as it is and packed."""
        page = sum(len(gzip.compress(content)) for path, content in cls.asked.items() if path != profile)
        content = cls.asked.get(profile, b"")
        return page, len(content), len(gzip.compress(content))


def page_files(daemon):
    """The page as the daemon has it, and what it would answer to others' questions."""
    page = daemon.request("GET", "/", headers={"Accept": "text/html"})
    Files.links = {"/": page.headers["Link"]} if "Link" in page.headers else {}
    files = {"/": page.body}
    for path in Path("probe/page").glob("*.[jcs]*"):
        if path.suffix in (".js", ".css", ".svg"):
            files[f"/ui/{path.name}"] = daemon.get(f"/ui/{path.name}").body
    return {**files, "/ui/host.json": daemon.get("/ui/host.json").body, "/flamegraph": b"{}"}


def renderer_bytes(browser):
    """Private memory of the largest renderer."""
    most = 0
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or os.getpgid(int(entry.name)) != browser.popen.pid:
                continue
            if b"--type=renderer" in (entry / "cmdline").read_bytes():
                lines = (entry / "smaps_rollup").read_text().split("\n")
                private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
                most = max(most, private * 1024)
        except (OSError, ProcessLookupError):
            pass
    return most


class Viewer:
    """How one is opened, when its picture is there, what zooms and searches, the picture's selector, the path of its profile."""

    def __init__(self, name, url, there, canvas, profile, zoom=None, search=None):
        self.name, self.url, self.there, self.canvas, self.profile = name, url, there, canvas, profile
        self.actions = {"zoom": zoom, "search": search}

    def measure(self, browser):
        """{what: figure}, or None: it wasn't painted."""
        Files.asked.clear()
        with browser.page("about:blank", width=WIDTH, height=HEIGHT) as page:
            idle = renderer_bytes(browser)
            page.call("Network.disable")  # else the page's thread decodes each answer once more, to show it
            page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH % self.there)
            page.call("Page.navigate", url=self.url)
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end and not page.run(f"Boolean({self.there})"):
                time.sleep(0.05)
            if time.monotonic() >= end:
                return None
            found = {"first": page.run(FIRST), "painted": page.run("benchPainted"), "task": page.run(TASKS)}
            for name, action in self.actions.items():
                if action:
                    found[name] = page.run(AFTER % action)
                    found[f"{name} task"] = page.run(TASKS)
            found["memory"] = renderer_bytes(browser) - idle
            found["frame"] = self.wheel(page)
            found["page"], found["profile"], found["packed"] = Files.bytes_asked(self.profile)
            return found

    def wheel(self, page):
        """The 95th percentile of the time between two frames while the wheel turns above the picture, ms."""
        x, y = page.run(CENTRE % self.canvas)
        page.run(FRAMES)
        for turn in range(WHEEL_TURNS):
            page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0,
                      deltaY=-100 if turn < WHEEL_TURNS // 2 else 100)  # fmt: skip
        return page.run(SLOWEST_FRAMES)

#!/usr/bin/env python3
"""The page's flame graph beside other viewers', in one run: the same tree in each, 1600 x 1000 px.

For each number of frames: until it is painted, since the navigation began; from a click on a frame until the zoom is
painted; from the last letter of a search until that is painted; private memory of the browser's largest renderer,
beyond that of an empty page. Medians. The daemon's answers are made up here, as are the peers'.

PAGE_PEERS names a folder with the npm packages d3, d3-flame-graph and speedscope, each unpacked (`npm pack`);
without them they are skipped. Prints lines and judges nothing. Usage: page.py [ROUNDS [FRAMES…]]
"""
import http.server
import json
import os
import random
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from beside import own_folder  # noqa: E402
from chromium import Chromium, missing  # noqa: E402
from helpers import Daemon  # noqa: E402

SIZES = [10_000, 100_000, 1_000_000]
DEPTH = 60
PATIENCE_S = 120
# Waits in the page until something is there, and then until it is painted.
WATCH = """
window.painted = new Promise((done) => {
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
AFTER = """(async () => {
    const begin = performance.now();
    %s;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - begin;
})()"""


class Tree:
    """A made-up profile: nodes in preorder."""

    def __init__(self, frames):
        rng = random.Random(frames)
        self.names = [f"function_{i:05}_of_some_module_with_words"[:40] for i in range(min(frames // 4, 20_000))]
        self.nodes = [(0, 0, 0)]  # depth, name, own weight
        depth = 0
        while len(self.nodes) <= frames:
            depth = rng.randint(1, max(depth, 1))
            for d in range(depth, DEPTH + 1):
                self.nodes.append((d, rng.randrange(len(self.nodes) % len(self.names) + 1), 0))
                if len(self.nodes) > frames:
                    break
            d, name, _ = self.nodes[-1]
            self.nodes[-1] = (d, name, rng.randint(1, 20))
            depth = d

    def columns(self):
        """As `.frames`."""

        def number(value):
            out = bytearray()
            while value >= 128:
                out.append(value & 127 | 128)
                value >>= 7
            out.append(value)
            return bytes(out)

        def column(values):
            return b"".join(map(number, values))

        names = len(self.names)
        parts = {
            "names": "\n".join(self.names).encode(), "kinds": bytes([6]) * names, "file": bytes(names),
            "line": bytes(names), "module": bytes(names), "files": b"", "modules": b"",
            "frame": column(name + 1 for _, name, _ in self.nodes), "depth": column(d for d, _, _ in self.nodes),
            "self": column(own for _, _, own in self.nodes), "events": bytes(len(self.nodes)),
        }  # fmt: skip
        header = json.dumps({
            "title": "On-CPU Time Flame Graph", "unit": "samples", "from": 1, "until": 11, "period_ns": 10**7, "lost": 0,
            "frames": names, "nodes": len(self.nodes), "columns": [[name, len(part)] for name, part in parts.items()],
        }).encode()  # fmt: skip
        return b"SPF2" + len(header).to_bytes(4, "little") + header + b"".join(parts.values())

    def nested(self):
        """As d3-flame-graph reads it."""
        top = {"name": "all", "value": 0, "children": []}
        path = [top]
        for depth, name, own in self.nodes[1:]:
            node = {"name": self.names[name], "value": own, "children": []}
            del path[depth:]
            path[-1]["children"].append(node)
            path.append(node)
        todo = [(top, False)]
        while todo:
            node, is_done = todo.pop()
            if is_done:
                node["value"] += sum(child["value"] for child in node["children"])
                continue
            todo.append((node, True))
            todo += [(child, False) for child in node["children"]]
        return json.dumps(top).encode()

    def speedscope(self):
        path, samples, weights = [], [], []
        for depth, name, own in self.nodes[1:]:
            del path[depth - 1 :]
            path.append(name)
            if own:
                samples.append(list(path))
                weights.append(own)
        return json.dumps({
            "$schema": "https://www.speedscope.app/file-format-schema.json", "name": "bench",
            "shared": {"frames": [{"name": name} for name in self.names]},
            "profiles": [{"type": "sampled", "name": "bench", "unit": "none", "startValue": 0, "endValue": sum(weights),
                          "samples": samples, "weights": weights}],
        }).encode()  # fmt: skip


D3_PAGE = b"""<!DOCTYPE html><body><div id="chart"></div><script src="/d3.js"></script><script src="/fg.js"></script>
<script>fetch('/tree.json').then((a) => a.json()).then((tree) => {
    window.chart = flamegraph.default().width(1600).minFrameSize(1).transitionDuration(0);
    d3.select('#chart').datum(tree).call(chart); });</script>"""


class Files(http.server.BaseHTTPRequestHandler):
    """The peers' files, and the tree in their form."""

    made = {}
    folders = {}

    def do_GET(self):
        path = self.path.split("?")[0]
        content = self.made.get(path)
        for begin, folder in self.folders.items():
            if content is None and path.startswith(begin):
                content = (folder / path.removeprefix(begin)).read_bytes()
        self.send_response(200 if content is not None else 404)
        kind = {"svg": "image/svg+xml", "js": "text/javascript", "css": "text/css", "json": "application/json"}.get(path.rsplit(".", 1)[-1], "text/html")
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


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
    """How one is opened, when its picture is there, and what zooms and searches."""

    def __init__(self, name, url, there, zoom=None, search=None):
        self.name, self.url, self.there, self.zoom, self.search = name, url, there, zoom, search

    def measure(self, browser):
        with browser.page("about:blank", width=1600, height=1000) as page:
            idle = renderer_bytes(browser)
            page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH % self.there)
            page.call("Page.navigate", url=self.url)
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end and not page.run(f"Boolean({self.there})"):
                time.sleep(0.05)
            if time.monotonic() >= end:
                return None
            painted = page.run("window.painted")
            zoomed = page.run(AFTER % self.zoom) if self.zoom else None
            found = page.run(AFTER % self.search) if self.search else None
            return painted, zoomed, found, renderer_bytes(browser) - idle


OURS_ZOOM = """{
    const top = document.querySelectorAll('#graph canvas')[1], box = top.getBoundingClientRect();
    top.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: box.x + box.width / 2, clientY: box.bottom - 200}));
}"""
OURS_SEARCH = """{
    const field = document.querySelector('[name=search]');
    field.value = '_0001'; field.dispatchEvent(new Event('input'));
    while (!document.querySelector('.matched').textContent)
        await new Promise((done) => setTimeout(done, 1));
}"""
D3_ZOOM = "document.querySelectorAll('.frame')[40].dispatchEvent(new MouseEvent('click', {bubbles: true}))"


def page_files(daemon):
    """The page as the daemon has it, and what it would answer to others' questions."""
    files = {"/": daemon.request("GET", "/", headers={"Accept": "text/html"}).body}
    for path in Path("probe/page").glob("*.[jcs]*"):
        if path.suffix in (".js", ".css", ".svg"):
            files[f"/ui/{path.name}"] = daemon.get(f"/ui/{path.name}").body
    return {**files, "/ui/host.json": daemon.get("/ui/host.json").body, "/flamegraph": b"{}"}


def viewers(daemon, tree, port):
    Files.made = {**page_files(daemon), "/flamegraph/oncpu.frames": tree.columns()}
    yield Viewer("stackprobe", f"http://127.0.0.1:{port}/#source=open&probe=oncpu", "document.querySelector('.facts')?.textContent",
                 OURS_ZOOM, OURS_SEARCH)  # fmt: skip
    if not Files.folders:
        return
    Files.made |= {"/tree.json": tree.nested(), "/speedscope.json": tree.speedscope(), "/d3.html": D3_PAGE}
    Files.made["/d3.js"] = (Files.folders["/d3/"] / "dist/d3.min.js").read_bytes()
    Files.made["/fg.js"] = (Files.folders["/d3-flame-graph/"] / "dist/d3-flamegraph.umd.min.js").read_bytes()
    yield Viewer("d3-flame-graph", f"http://127.0.0.1:{port}/d3.html", "document.querySelectorAll('.frame').length > 1",
                 D3_ZOOM, "chart.search('_0001')")  # fmt: skip
    yield Viewer("speedscope", f"http://127.0.0.1:{port}/speedscope/dist/release/index.html"
                 f"#profileURL=http%3A%2F%2F127.0.0.1%3A{port}%2Fspeedscope.json",
                 "document.title.includes('bench')")  # fmt: skip


def tell(viewer, frames, rounds):
    kept = [row for row in rounds if row]
    if not kept:
        print(f"page, {frames:,} frames, {viewer.name}: not painted in {PATIENCE_S} s")
        return
    columns = [[value for value in column if value is not None] for column in zip(*kept, strict=True)]
    painted, zoomed, found, memory = [statistics.median(column) if column else None for column in columns]
    words = [f"painted in {painted:.0f} ms"]
    if zoomed is not None:
        words.append(f"zoom {zoomed:.0f} ms")
    if found is not None:
        words.append(f"search {found:.0f} ms")
    print(f"page, {frames:,} frames, {viewer.name}: {', '.join(words)}, memory {memory / 1e6:.0f} MB")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    sizes = [int(text) for text in sys.argv[2:]] or SIZES
    reason = missing()
    if reason:
        print(f"page: not measured, {reason}")
        return
    peers = os.environ.get("PAGE_PEERS")
    if peers:
        Files.folders = {f"/{name}/": Path(peers) / name for name in ("d3", "d3-flame-graph", "speedscope")}
    else:
        print("page: PAGE_PEERS is not set, so no other viewer is measured")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemon = Daemon(own_folder()).start()
    try:
        for frames in sizes:
            tree = Tree(frames)
            for viewer in viewers(daemon, tree, server.server_port):
                rows = []
                for _ in range(rounds):
                    browser = Chromium()  # memory of one is not the next one's
                    try:
                        with browser.page("data:text/html,<canvas>", width=1600, height=1000):
                            pass  # what the browser itself loads at first
                        rows.append(viewer.measure(browser))
                    finally:
                        browser.close()
                    if rows[-1] is None:
                        break
                tell(viewer, frames, rows)
    finally:
        daemon.done()
        server.shutdown()


if __name__ == "__main__":
    main()

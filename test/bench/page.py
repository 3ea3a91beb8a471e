#!/usr/bin/env python3
"""The page's flame graph beside other viewers', in one run: the same tree in each, 1600 x 1000 px.

For each number of frames, medians of: the first paint of anything, and until the flame graph is painted, both since the
navigation began; from a click on a frame until the zoom is painted; from the last letter of a search until that is
painted; the longest task of the main thread until the graph is painted, and afterwards (browsers tell those from 50 ms on);
the 95th percentile of the time between two frames while the mouse's wheel turns; private memory of the browser's largest
renderer beyond that of an empty page; bytes of the page, packed by gzip, and of its profile as the viewer gets it (packed).
The daemon's answers are made up here, as are the peers'.

The peers are d3-flame-graph, speedscope, and @grafana/flamegraph, the component by which Pyroscope's page and Grafana show
profiles. That is less than Pyroscope's page: without its server, its panels, and without the 8,192 nodes to which it cuts a
profile; a click opens a menu, and the time counts from the click in that. PAGE_PEERS names a folder made so, with node and npm:

    cp -r test/bench/page_peers FOLDER
    cd FOLDER && npm install --ignore-scripts --legacy-peer-deps && npm run bundle

Without it the peers are skipped. Prints lines and judges nothing.

Usage: page.py [ROUNDS [FRAMES…]]
       page.py live [HOURS [FRAMES]]: whether memory grows while the page is open, see lib/page_live.py
"""
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

import rooms  # noqa: E402, F401
from beside import own_folder  # noqa: E402
from chromium import Chromium, missing  # noqa: E402
from helpers import Daemon  # noqa: E402
from page_live import live  # noqa: E402
from page_tree import Tree  # noqa: E402
from page_viewers import HEIGHT, PATIENCE_S, WIDTH, Files, Viewer, page_files  # noqa: E402

SIZES = [10_000, 100_000, 1_000_000]
D3_PAGE = b"""<!DOCTYPE html><body><div id="chart"></div><script src="/d3.js"></script><script src="/fg.js"></script>
<script>fetch('/tree.json').then((a) => a.json()).then((tree) => {
    window.chart = flamegraph.default().width(1600).minFrameSize(1).transitionDuration(0);
    d3.select('#chart').datum(tree).call(chart); });</script>"""
GRAFANA_PAGE = b"""<!DOCTYPE html><link rel="stylesheet" href="/pyroscope/pyroscope.css"><body><main></main>
<script type="module" src="/pyroscope/pyroscope.js"></script>"""
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


GRAFANA = "[data-testid=flameGraph]"
# Rows are put together where a frame has one callee alone, so there may be fewer of them than in the tree.
GRAFANA_ZOOM = """
    const canvas = document.querySelector('[data-testid=flameGraph]'), box = canvas.getBoundingClientRect();
    const focus = () => [...document.querySelectorAll('button')].find((one) => one.textContent.includes('Focus block'));
    for (let row = 11; row > 0 && !focus(); row--) {
        canvas.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + 22 * row + 11}));
        await new Promise((done) => setTimeout(done, 200));
    }
    begin = performance.now();
    focus().click();
"""
GRAFANA_SEARCH = """
    const field = document.querySelector('input'), context = document.querySelector('[data-testid=flameGraph]').getContext('2d');
    let drawn = false;
    context.clearRect = (...box) => {
        drawn = true;
        CanvasRenderingContext2D.prototype.clearRect.apply(context, box);
    };
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, '_0001');
    field.dispatchEvent(new Event('input', {bubbles: true}));
    while (!drawn)
        await new Promise((done) => setTimeout(done, 1));
"""


def viewers(daemon, tree, port):
    origin = f"http://127.0.0.1:{port}"
    Files.made = {**page_files(daemon), "/flamegraph/oncpu.frames": tree.columns()}
    yield Viewer("stackprobe", f"{origin}/#source=open&probe=oncpu", "document.querySelector('.facts')?.textContent.trim()", "#graph",
                 "/flamegraph/oncpu.frames", OURS_ZOOM, OURS_SEARCH)  # fmt: skip
    if not Files.folders:
        return
    Files.made |= {"/tree.json": tree.nested(), "/speedscope.json": tree.speedscope(), "/columns.json": tree.levels(),
                   "/d3.html": D3_PAGE, "/grafana.html": GRAFANA_PAGE}  # fmt: skip
    Files.made["/d3.js"] = (Files.folders["/d3/"] / "dist/d3.min.js").read_bytes()
    Files.made["/fg.js"] = (Files.folders["/d3-flame-graph/"] / "dist/d3-flamegraph.umd.min.js").read_bytes()
    yield Viewer("@grafana/flamegraph", f"{origin}/grafana.html", f"document.querySelector('{GRAFANA}')?.width > 300", GRAFANA,
                 "/columns.json", GRAFANA_ZOOM, GRAFANA_SEARCH)  # fmt: skip
    yield Viewer("d3-flame-graph", f"{origin}/d3.html", "document.querySelectorAll('.frame').length > 1", "#chart",
                 "/tree.json", D3_ZOOM, "chart.search('_0001')")  # fmt: skip
    yield Viewer("speedscope", f"{origin}/speedscope/dist/release/index.html"
                 f"#profileURL=http%3A%2F%2F127.0.0.1%3A{port}%2Fspeedscope.json",
                 "document.title.includes('bench')", "canvas", "/speedscope.json")  # fmt: skip


def tell(viewer, frames, rounds):
    kept = [row for row in rounds if row]
    if not kept:
        print(f"page, {frames:,} frames, {viewer.name}: not painted in {PATIENCE_S} s", flush=True)
        return
    found = {what: statistics.median(values) for what in kept[0] if None not in (values := [row[what] for row in kept])}

    def ms(what):
        return f"{found[what]:.0f} ms" if what in found else "not measured"

    def task(*whats):
        longest = max(found.get(f"{what} task".strip(), 0) for what in whats)
        return f"{longest:.0f} ms" if longest else "below 50 ms"

    print(f"page, {frames:,} frames, {viewer.name}: first paint {ms('first')}, painted in {ms('painted')}, zoom {ms('zoom')}, "
          f"search {ms('search')}, longest task {task('')}, then {task('zoom', 'search')}, wheel {ms('frame')} a frame, "
          f"memory {found['memory'] / 1e6:.0f} MB, page {found['page'] / 1e3:.1f} kB, "
          f"profile {found['profile'] / 1e3:,.0f} kB ({found['packed'] / 1e3:,.0f})", flush=True)  # fmt: skip


def beside_peers(daemon, port, rounds, sizes):
    peers = os.environ.get("PAGE_PEERS")
    if peers:
        packages = Path(peers) / "node_modules"
        Files.folders = {f"/{name}/": packages / name for name in ("d3", "d3-flame-graph", "speedscope")}
        Files.folders["/pyroscope/"] = Path(peers) / "pyroscope"
    else:
        print("page: PAGE_PEERS is not set, so no other viewer is measured")
    for frames in sizes:
        for viewer in viewers(daemon, Tree(frames), port):
            rows = []
            for _ in range(rounds):
                browser = Chromium()  # memory of one is not the next one's
                try:
                    with browser.page("data:text/html,<canvas>", width=WIDTH, height=HEIGHT):
                        pass  # what the browser itself loads at first
                    rows.append(viewer.measure(browser))
                finally:
                    browser.close()
                if rows[-1] is None:
                    break
            tell(viewer, frames, rows)


def main():
    arguments = sys.argv[1:]
    reason = missing()
    if reason:
        print(f"page: not measured, {reason}")
        return
    server = Files.serve()
    daemon = Daemon(own_folder()).start()
    try:
        if arguments[:1] == ["live"]:
            live(daemon, server.server_port, *(float(text) for text in arguments[1:]))
        else:
            rounds, *sizes = [int(text) for text in arguments] or [5]
            beside_peers(daemon, server.server_port, rounds, sizes or SIZES)
    finally:
        daemon.done()
        server.shutdown()


if __name__ == "__main__":
    main()

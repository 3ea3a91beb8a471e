"""Whether the page's memory grows while it is open and live: as many updates as come in hours, one after the other. It is
not hours: what grows with time alone isn't seen.

Of a profile of so many frames an answer made up of 100 intervals, again and again, comes as fast as the page takes it, 20 at once, each
interval with a hundredth of the stacks. As often come 200 rows of processes, of which 20 are new each time; the states of
probes come as much faster as the page's own timers run. Told is what lives in the page's heap after its garbage is collected:
objects, the browser's own for them (nodes of the document), and buffers.
"""
import json
import threading
import time

from chromium import Chromium
from page_tree import Tree
from page_viewers import HEIGHT, WIDTH, Files, page_files

EVERY_S = 2
MINUTES_10, AN_HOUR = 600 // EVERY_S, 3600 // EVERY_S
STEP = 20  # updates that come at once: the page is asked between them
BLOCKS = 100
FASTER = 20  # the page's timers
PATIENCE_S = 120
TIMERS = """for (const name of ['setTimeout', 'setInterval']) {
    const real = window[name];
    window[name] = (run, ms = 0, ...more) => real.call(window, run, ms / %d, ...more);
}""" % FASTER
BEGUN = 1_700_000_000_000  # ms


class Stream:
    """Sends updates while there are any that may be sent."""

    def __init__(self, line):
        self.line = line  # of its number
        self.may = threading.Semaphore(0)
        self.sent = self.allowed = 0

    def __call__(self, handler):
        while True:
            self.may.acquire()
            try:
                handler.wfile.write(self.line(self.sent))
            except OSError:
                return
            self.sent += 1

    def let(self, until):
        self.may.release(until - self.allowed)
        self.allowed = until


def profile_stream(blocks):
    def line(number):
        begin = BEGUN + 1000 * EVERY_S * number
        times = {"from": begin, "until": begin + 1000 * EVERY_S, "lost": 0, "truncated": 0, "left_out": 0, "period_ns": 10**7}
        return json.dumps(times).encode() + b"\n" + blocks[number % len(blocks)][1] + b"\n"

    return Stream(line)


def process_stream(answer):
    rows = [dict(row) for row in answer["rows"]]
    while rows and len(rows) < 200:
        rows.append({**rows[0], "pid": 1_000_000 + len(rows)})

    def line(number):
        for i, row in enumerate(rows[-20:]):
            row["pid"] = 2_000_000 + 20 * number + i
        return json.dumps({**answer, "rows": rows}).encode() + b"\n"

    return Stream(line)


def heap_of(page):
    for _ in range(2):
        page.call("HeapProfiler.collectGarbage")
    usage = page.call("Runtime.getHeapUsage")
    return sum(usage.get(key, 0) for key in ("usedSize", "embedderHeapUsedSize", "backingStorageSize"))


def wait_weight(page, weight):
    """Until the page shows that many samples."""
    end = time.monotonic() + PATIENCE_S
    while page.run("document.querySelector('.facts').textContent.split(' ')[0]") != f"{weight:,}":
        assert time.monotonic() < end, page.run("document.querySelector('.facts').textContent + document.querySelector('#status').textContent")
        time.sleep(0.05)


def live(daemon, port, hours=4.0, frames=100_000.0):
    blocks = Tree(int(frames)).blocks(BLOCKS)
    updates = int(hours * AN_HOUR)
    profiles = profile_stream(blocks)
    processes = process_stream(daemon.get("/proc/all.json?seconds=1&top=200&by=run_ns&group_by=pid").json())
    Files.made = {**page_files(daemon), "/flamegraph": daemon.get("/flamegraph").body}
    Files.streams = {"/flamegraph/oncpu.json": profiles, "/proc/all.json": processes}
    browser = Chromium()
    try:
        with browser.page("about:blank", width=WIDTH, height=HEIGHT) as page:
            page.call("Network.disable")  # the browser would keep what came
            page.call("Page.addScriptToEvaluateOnNewDocument", source=TIMERS)
            page.open(f"http://127.0.0.1:{port}/#source=live&probe=oncpu&pids=1&of=bench")
            while not page.run("document.querySelector('#offer').getClientRects().length"):
                time.sleep(0.1)
            page.run("document.querySelector('#offer [data-main=begin]').click()")
            first, weight = None, 0
            for done in range(STEP, updates + 1, STEP):
                profiles.let(done)
                processes.let(done)
                weight += sum(blocks[number % BLOCKS][0] for number in range(done - STEP, done))
                wait_weight(page, weight)
                while processes.sent < done:
                    time.sleep(0.05)
                if done not in (MINUTES_10, updates) and done % AN_HOUR:
                    continue
                heap = heap_of(page)
                first = first or heap
                print(f"page live, {int(frames):,} frames, updates of {done * EVERY_S / 3600:.2f} h: heap {heap / 1e6:.1f} MB, "
                      f"{100 * (heap / first - 1):+.1f} %", flush=True)  # fmt: skip
    finally:
        browser.close()
        Files.streams = {}

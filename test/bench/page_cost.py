#!/usr/bin/env python3
"""What the open page costs the daemon, with PROCESSES processes that sleep and one busy one: CPU time of the daemon and of
its BPF programs, % of a CPU, without a page, with the list of processes, with a live profile beside it, with the tab
hidden, and after the tab was closed.

Prints lines and judges nothing. Usage: page_cost.py [PROCESSES=n] [SECONDS=n]
"""
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from chromium import Chromium, missing  # noqa: E402
from helpers import cpu_ns, missing_privilege, program, wait_for  # noqa: E402
from sample_cost import STATS  # noqa: E402
from scale import Bench  # noqa: E402

SETTLES_S = 5
HIDE = """Object.defineProperty(document, 'hidden', {value: true});
    document.dispatchEvent(new Event('visibilitychange'))"""


def cost(daemon, what, length):
    """Prints % of a CPU, of the daemon and of its BPF programs."""

    def spent():
        ran_s = re.search(r"^stackprobe_bpf_runtime_seconds_total (\S+)$", daemon.get("/metrics").text, re.MULTILINE)[1]
        return cpu_ns(daemon.pid), float(ran_s) * 1e9

    time.sleep(SETTLES_S)
    before, began = spent(), time.monotonic()
    time.sleep(length)
    after, took_ns = spent(), (time.monotonic() - began) * 1e9
    own, bpf = ((now - then) / took_ns * 100 for now, then in zip(after, before, strict=True))
    print(f"page, {what}: daemon {own:.2f} % of a CPU, its BPF programs {bpf:.2f} %")


def main():
    options = dict(arg.split("=") for arg in sys.argv[1:])
    processes, length = int(options.get("PROCESSES", 500)), float(options.get("SECONDS", 20))
    reason = missing_privilege() or missing()
    if reason:
        print(f"page: not measured, {reason}")
        return
    browser, before = Chromium(), STATS.read_text()
    STATS.write_text("1")
    busy = subprocess.Popen([program("spin"), "600"], stdout=subprocess.DEVNULL)
    try:
        with Bench() as bench:
            bench.crowd(processes)
            daemon = bench.daemon
            cost(daemon, f"{processes} processes, no page", length)
            address = f"http://127.0.0.1:{daemon.port}/"
            with browser.page(address, width=1200, height=900) as page:
                wait_for(lambda: page.run("document.querySelectorAll('#processes tbody tr').length"), why="the list")
                cost(daemon, "the list of processes", length)
            with browser.page("about:blank", width=1200, height=900) as page:
                page.open(f"{address}#source=live&pids={busy.pid}&probe=oncpu")
                wait_for(lambda: page.run("Boolean(document.querySelector('#offer button')?.getClientRects().length)"))
                page.run("document.querySelector('#offer button').click()")
                wait_for(lambda: page.run("document.querySelector('.facts')?.textContent.trim()"), why="a profile")
                cost(daemon, "the list and a live profile", length)
                page.run(HIDE)
                cost(daemon, "a hidden tab", length)
            cost(daemon, "a closed tab", length)
    finally:
        busy.kill()
        busy.wait()
        STATS.write_text(before)
        browser.close()


if __name__ == "__main__":
    main()

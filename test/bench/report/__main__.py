#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""doc/performance.md, made from runs on this machine (`make report`; doc/testing.md).

Each subject is measured on its own and kept as JSON; the page and its pictures are drawn from what is kept, so they can
be drawn again without a run (--page).
"""
import argparse
import json
import sys
import time
import traceback
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parents[1]
sys.path += [str(BENCH), str(BENCH.parent / "e2e")]

import page  # noqa: E402

ORDER = ("sample", "minutes", "hosts", "switch", "malloc", "start", "tables", "python", "java", "render")


def arguments():
    parser = argparse.ArgumentParser(prog="make report", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"measure these only: {', '.join(ORDER)}")
    parser.add_argument("--page", action="store_true", help="measure nothing, draw the page from what is kept")
    parser.add_argument("--seconds", type=float, default=0, help="of a window; longer ones are as much longer")
    parser.add_argument("--turns", type=int, default=0, help="of each subject")
    parser.add_argument("--kept", type=Path, default=ROOT / "build/report", help="folder of the figures")
    parser.add_argument("--out", type=Path, default=ROOT / "doc/performance.md", help="the page; pictures: beside it")
    options = parser.parse_args()
    for one in options.subjects:
        if one not in ORDER:
            parser.error(f"no subject {one}: {', '.join(ORDER)}")
    return options


def makers():
    import hosts
    import pictures
    import runtimes
    import samples
    import waits

    return {"sample": samples.sample, "minutes": samples.minutes, "hosts": hosts.hosts, "switch": waits.switch,
            "malloc": waits.malloc, "start": hosts.start, "tables": hosts.tables, "python": runtimes.python,
            "java": runtimes.java, "render": pictures.pictures}  # fmt: skip


def run(options):
    """Measures and keeps. True if no subject failed."""
    import rooms  # noqa: F401
    from helpers import BIN, missing_privilege
    from sample_cost import BPFTOOL, STATS

    import machine

    reason = missing_privilege() or (None if BPFTOOL else "no bpftool")
    if reason:
        sys.exit(f"report: {reason}")
    options.kept.mkdir(parents=True, exist_ok=True)
    failed, before, found = [], STATS.read_text(), makers()
    told = machine.told(ROOT, BIN)
    (options.kept / "machine.json").write_text(json.dumps({**told, "subjects": ORDER}, indent=1) + "\n")
    try:
        STATS.write_text("1")
        for key in options.subjects or ORDER:
            began = time.monotonic()
            try:
                found[key](options).write(options.kept, told["revision"])
                print(f"report: {key}: {time.monotonic() - began:.0f} s", flush=True)
            except Exception:  # the others are measured all the same
                failed.append(key)
                traceback.print_exc()
                print(f"report: {key} failed", flush=True)
    finally:
        STATS.write_text(before)
    return not failed


def main():
    options = arguments()
    good = options.page or run(options)
    if not (options.kept / "machine.json").exists():
        sys.exit(f"report: nothing is kept in {options.kept}")
    page.write(options.kept, options.out)
    print(f"report: {options.out}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

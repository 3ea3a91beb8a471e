# SPDX-License-Identifier: GPL-2.0-or-later
"""Folded text to a picture."""
import subprocess
import sys
import tempfile
from pathlib import Path

import render
from peers import NOT_INSTALLED, shown
from rows import OURS, PEER, Subject

COMMANDS = {"stackprobe": "stackprobe", "inferno": "inferno-flamegraph", "flamegraph.pl": "flamegraph.pl"}


def pictures(options):
    subject = Subject("render", "Renderer",
                      "Folded text to a flame graph: 20,000 distinct stacks of 12 to 48 frames, lines in random order; the same five "
                      "times with other counts; 200,000 distinct stacks. All at the cut of FlameGraph's script (0.1 px), the "
                      "input in the page cache, output to /dev/null. The script runs on the first input only.")  # fmt: skip
    subject.quantity("speed", "Input read a second", "MB/s", better="more")
    subject.quantity("memory", "Most memory", "MB", plot=False)
    commands = render.tools()
    for who in COMMANDS:
        if who in commands:
            subject.way(who, OURS if who == "stackprobe" else PEER, shown([*commands[who], "FILE"]))
        else:
            subject.lacks(who, NOT_INSTALLED)
    with tempfile.TemporaryDirectory(prefix="stackprobe-bench-") as folder:
        path = Path(folder) / "in.folded"
        for title, (stacks, repeats) in render.INPUTS.items():
            subprocess.run([sys.executable, render.GENERATOR, path, str(stacks), str(repeats)], check=True)
            size = path.stat().st_size / 1e6
            for who, runs in render.measure(path, commands, options.turns or 3).items():
                subject.add("speed", who, f"{title}, {size:.0f} MB", *(size / seconds for seconds, _ in runs))
                subject.add("memory", who, f"{title}, {size:.0f} MB", *(memory / 1e6 for _, memory in runs))
            commands = {who: command for who, command in commands.items() if who != "flamegraph.pl"}
    return subject

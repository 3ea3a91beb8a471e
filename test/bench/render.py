#!/usr/bin/env python3
"""Folded text to a flame graph: stackprobe render beside inferno and FlameGraph's script.

Three inputs, lines in random order: 20,000 distinct stacks; the same five times with other counts;
200,000 distinct stacks. All tools at the script's cut of 0.1 px, their runs interleaved; standard
output to /dev/null, the input in the page cache. Prints medians and judges nothing.
Usage: render.py [ROUNDS]. inferno-flamegraph and flamegraph.pl are taken from PATH, the script also
from $FLAMEGRAPH_PL or Debian's libdevel-nytprof-perl; it runs on the first input only, once a round.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GENERATOR = Path(__file__).resolve().parent / "lib/folded_input.py"
INPUTS = {
    "20,000 distinct": (20000, 1),
    "the same five times": (20000, 5),
    "200,000 distinct": (200000, 1),
}
SCRIPTS = (
    os.environ.get("FLAMEGRAPH_PL"),
    shutil.which("flamegraph.pl"),
    "/usr/share/perl5/Devel/NYTProf/flamegraph.pl",
)


def tools():
    """{name: command without its file}, of what is installed."""
    found = {"stackprobe": [os.environ.get("STACKPROBE_BIN", "build/stackprobe"), "render"]}
    cargo = Path.home() / ".cargo/bin/inferno-flamegraph"
    inferno = shutil.which("inferno-flamegraph") or (str(cargo) if cargo.exists() else None)
    if inferno:
        found["inferno"] = [inferno, "--minwidth", "0.008475"]
    script = next((path for path in SCRIPTS if path and Path(path).is_file()), None)
    if script and shutil.which("perl"):
        found["flamegraph.pl"] = ["perl", script]
    return found


def run(command, path):
    """Seconds, and the most memory it had, in bytes."""
    before = time.perf_counter()
    with subprocess.Popen([*command, path], stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"render: {command[0]} ended with status {child.returncode}")
    return time.perf_counter() - before, usage.ru_maxrss * 1024


def measure(path, commands, rounds):
    """{tool: [(seconds, most memory)]}"""
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command, path))
    return runs


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    commands = tools()
    for name in ("inferno", "flamegraph.pl"):
        if name not in commands:
            print(f"render: {name} is not installed")
    with tempfile.TemporaryDirectory(prefix="stackprobe-bench-") as folder:
        path = Path(folder) / "in.folded"
        for title, (stacks, repeats) in INPUTS.items():
            # In a process of its own: what this one ever had counts for those that it starts.
            argv = [sys.executable, GENERATOR, path, str(stacks), str(repeats)]
            subprocess.run(argv, check=True)
            size = path.stat().st_size
            results = {name: (statistics.median(r[0] for r in several), max(r[1] for r in several))
                       for name, several in measure(path, commands, rounds).items()}  # fmt: skip
            commands = {name: c for name, c in commands.items() if name != "flamegraph.pl"}
            ours = results["stackprobe"][0]
            for name, (seconds, memory) in results.items():
                print(
                    f"render: {title}, {size / 1e6:.0f} MB: {name} {size / 1e6 / seconds:.1f} MB/s"
                    f" ({seconds / ours:.2f} times our time), "
                    f"at most {(memory - size) / 1e6:+.1f} MB beside the input"
                )


if __name__ == "__main__":
    main()

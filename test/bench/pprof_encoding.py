#!/usr/bin/env python3
"""100,000 distinct stacks as pprof beside zlib alone, which packs the same bytes at the same level in the
same process: medians of the CPU time, runs one after the other. And the most memory that it took,
beside the bytes of the profile. Prints one line and judges nothing.
Usage: pprof_encoding.py [ROUNDS]
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

GENERATOR = Path(__file__).resolve().parent / "lib/folded_input.py"
STACKS = 100_000


def main():
    rounds = sys.argv[1] if len(sys.argv) > 1 else "7"
    encoder = Path(os.environ.get("STACKPROBE_BIN", "build/stackprobe")).parent / "test/bench/pprof_encode"
    with tempfile.TemporaryDirectory(prefix="stackprobe-bench-") as folder:
        path = Path(folder) / "in.folded"
        subprocess.run([sys.executable, GENERATOR, path, str(STACKS), "1"], check=True)
        told = subprocess.run([encoder, path, rounds], check=True, capture_output=True, text=True).stdout
    found = json.loads(told)
    size, seconds, alone = found["bytes"], found["seconds"], found["gzip_seconds"]
    print(
        f"pprof: {found['stacks']:,} distinct stacks, {size / 1e6:.1f} MB, packed {found['packed'] / 1e6:.1f} MB:"
        f" {seconds * 1e3:.0f} ms, {seconds / alone:.2f} times zlib's {alone * 1e3:.0f} ms;"
        f" at most {found['peak'] / 1e6:.1f} MB beside the tree, {found['peak'] / size:.2f} times the profile"
    )


if __name__ == "__main__":
    main()

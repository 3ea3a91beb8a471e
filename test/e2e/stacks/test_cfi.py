"""Unwind tables against readelf: a fixed set of files, a row for a row (all files: make check-cfi)."""
import os
import subprocess
from pathlib import Path

import pytest

from helpers import BIN

ROOT = Path(__file__).parents[3]
FILES = {
    "libc.so.6": "signal frames, PLT, the end of the stack, jumps that set the stack pointer",
    "ld-linux-x86-64.so.2": "CFA in rbx",
    "libcrypto.so.3": "assembly: CFA by expression and in rax, r11",
    "libstdc++.so.6": "exceptions",
    "libm.so.6": "realigned stacks",
}
NARROW = ["libc.so.6", "ld-linux.so.2", "libm.so.6"]  # of 32-bit programs
PROGRAMS = ["bash", "redis-server", "perl"]


def found():
    for name in FILES:
        for folder in ("/usr/lib/x86_64-linux-gnu", "/lib64"):
            path = os.path.realpath(os.path.join(folder, name))
            if os.path.isfile(path):
                yield path
                break
    yield from (path for name in NARROW if os.path.isfile(path := os.path.realpath(os.path.join("/usr/lib32", name))))
    for name in PROGRAMS:
        path = os.path.realpath(os.path.join("/usr/bin", name))
        if os.path.isfile(path):
            yield path


def test_tables_of_a_fixed_set_of_files_are_what_readelf_says():
    dump = Path(BIN).parent / "test/cfi/dump"
    files = list(found())
    if not files:
        pytest.skip("no x86-64 library of the set is installed")
    run = subprocess.run([ROOT / "test/cfi/check", dump, *files], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert run.returncode == 0, run.stdout
    assert f" {len(files)} files (0 without CFI)" in run.stdout

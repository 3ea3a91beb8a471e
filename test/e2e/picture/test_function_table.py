"""`stackprobe report` and `record --top`: the heaviest functions as text."""
import collections
import re
import subprocess

import pytest

from helpers import BIN, program
from recorder import SPUN, out, run
from test_render import drawn, stacks_of

ROW = re.compile(r" *([\d,]+) +([\d.]+)% +([\d,]+) +([\d.]+)%  (.*)")


def report(*args, text=""):
    argv = [str(BIN), "report", *map(str, args)]
    return subprocess.run(argv, input=text, capture_output=True, text=True, timeout=100, check=False)


def rows_of(shown):
    found = [ROW.fullmatch(line) for line in shown.splitlines()]
    return [(row[5], int(row[1].replace(",", "")), int(row[3].replace(",", ""))) for row in found if row]


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(3))
def test_the_weights_are_those_of_all_stacks(seed):
    text = drawn(seed)
    own, total = collections.Counter(), collections.Counter()
    for stack, value in stacks_of(text).items():
        own[stack[-1]] += value
        for name in set(stack):
            total[name] += value
    ended = report("--top", 10000, text=text)
    assert ended.returncode == 0, ended.stderr
    rows = rows_of(ended.stdout)
    assert {name: (self, all_) for name, self, all_ in rows} == {name: (own[name], total[name]) for name in own}
    assert [self for _, self, _ in rows] == sorted((self for _, self, _ in rows), reverse=True)


def test_the_unit_is_that_of_the_header():
    text = "# stackprobe unit=us counts=0 host=x\na;b 5\n"
    assert report(text=text).stdout.splitlines()[0].endswith("100.0% us")
    assert report(text="a 1\n").stdout.splitlines()[0].endswith("(unit unknown)")


@pytest.mark.parametrize("args", [["--top", 0], ["--top", "x"], ["a", "b"], ["--bogus"]], ids=str)
def test_wrong_usage_is_status_two_and_names_the_help(args):
    ended = report(*args)
    assert ended.returncode == 2 and "Try 'stackprobe report --help'" in ended.stderr


def test_what_cannot_be_read_is_status_one(work):
    ended = report(work / "missing")
    assert ended.returncode == 1 and "can't read" in ended.stderr


@pytest.mark.quick
def test_a_recording_ends_with_its_heaviest_functions_and_no_file(work, out):
    ended = run("-F", 499, "--top", 3, "--", program("spin"), 1, cwd=work)
    assert ended.returncode == 0, ended.stderr
    rows = rows_of(ended.stdout)
    assert rows[0][0] == SPUN[-1] and 1 <= len(rows) <= 3
    assert '"cpu_ns"' in ended.stderr  # the command's own output
    assert not list(work.glob("*.svg"))


def test_with_a_file_both_are_made(out):
    ended = run("-F", 499, "--top", 3, "-o", out, "--", program("spin"), 0.5)
    assert ended.returncode == 0 and rows_of(ended.stdout) and out.exists()
    assert run("--top", 3, "-o", "-", "--", "true").returncode == 2

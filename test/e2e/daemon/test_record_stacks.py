"""stackprobe record --min, --max, --top-stacks, --sort: stacks chosen by their values, in each output."""
import json
import sys

import pytest

from folded import Profile
from helpers import program
from recorder import run

# A stack each, of so many bytes: more than Python reads as it starts. (The first may come before the walker of Python's
# frames is loaded, and then has no name: stacks are told by their bytes.)
BYTES = {"small": 3_000_000, "middle": 4_000_000, "large": 5_000_000}
READS = f"""
import os, time
zero = os.open("/dev/zero", os.O_RDONLY)
def small(): os.read(zero, {BYTES["small"]})
def middle(): os.read(zero, {BYTES["middle"]})
def large(): os.read(zero, {BYTES["large"]})
for each in small, middle, large: each()
time.sleep(0.5)  # (of who ends at once its functions may not be known)
"""


def record(work, *options, ending="folded"):
    out = work / f"out.{ending}"
    ended = run("-e", "io", "--set", "max_overhead=0", "--frame-detail", "name", *options, "-o", out, "--",
                sys.executable, "-S", "-c", READS)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return out.read_text(), ended


def values(text):
    return [stack.value for stack in Profile(text).stacks]


@pytest.mark.quick
def test_bounds_are_those_of_a_stacks_value(work, needs_bpf):
    assert values(record(work, "--min", 3_000_001, "--max", 4_000_000)[0]) == [BYTES["middle"]]
    every = values(record(work, "--max", 3_999_999)[0])
    assert len(every) > 1 and max(every) == BYTES["small"]


def test_the_largest_come_first_unless_names_shall(work, needs_bpf):
    largest = [BYTES["large"], BYTES["middle"]]
    assert values(record(work, "--top-stacks", 2)[0]) == largest
    for options, chosen in (("--top-stacks", 2), largest), (("--min", BYTES["small"]), list(BYTES.values())):
        text, _ = record(work, *options, "--sort", "name")
        names = [line.rpartition(" ")[0] for line in text.splitlines()]
        assert names == sorted(names) and sorted(values(text)) == sorted(chosen)
    every = values(record(work, "--sort", "value")[0])
    assert every == sorted(every, reverse=True) and len(every) > 3


def test_each_output_has_the_same_stacks(work, needs_bpf):
    total = BYTES["large"] + BYTES["middle"]
    lines = record(work, "--top-stacks", 2, ending="jsonl")[0].splitlines()
    assert [json.loads(line)["count"] for line in lines] == [BYTES["large"], BYTES["middle"]]
    assert json.loads(record(work, "--min", 3_500_000, ending="json")[0])["total"] == total
    assert f"{total:,}" in record(work, "--min", 3_500_000, ending="svg")[0]
    _, ended = record(work, "--top", 9, "--min", 3_500_000)
    assert f"{total:,}  100.0% bytes" in ended.stdout  # the table is of these stacks, too
    assert f"{total} bytes of 1 process in the chosen stacks" in ended.stderr


def test_nothing_that_is_so_large_is_an_empty_profile(work, needs_bpf):
    text, ended = record(work, "--min", 10**12)
    assert text == "" and "an empty profile, no bytes in the chosen stacks" in ended.stderr
    ended = run("-o", work / "out.folded", "--min", 10**9, "--", program("spin"), 0.1)
    assert "isn't sampled" not in ended.stderr  # it was, but is not chosen


@pytest.mark.parametrize(
    "args, says",
    [
        (["--min", "x"], "--min, --max and --top-stacks take whole numbers: x"),
        (["--min=-1"], "take whole numbers"),
        (["--min", "1.5"], "take whole numbers"),
        (["--min", "9" * 40], "take whole numbers"),
        (["--max", "0"], "max from 1 on"),
        (["--min", "5", "--max", "4"], "min must not be more than max"),
        (["--top-stacks", "0"], "--top-stacks is not a number from 1 to 1000000"),
        (["--top-stacks", "1000001"], "--top-stacks is not a number"),
        (["--sort", "size", "-o", "x.folded"], "sort must be name or value"),
        (["--sort", "value"], "sort is for folded and jsonl"),
        (["--sort", "value", "-o", "x.json"], "sort is for folded and jsonl"),
        (["--compare", "before.folded", "--min", "2"], "--compare wants all stacks"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nonsense_is_wrong_usage_before_anything_starts(work, args, says):
    ended = run(*args, "--", "touch", work / "ran", cwd=work)
    assert ended.returncode == 2 and says in ended.stderr, ended.stderr
    assert not (work / "ran").exists()

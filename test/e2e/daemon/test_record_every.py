"""stackprobe record --every: a profile of each interval, one after the other, while it records."""
import fcntl
import json
import re
import signal
import sys
from pathlib import Path

import pytest

from folded import blocks
from helpers import program, wait_burned, wait_for
from recorder import SPUN, begin, leftovers, out, run

SAID = re.compile(r"(\d+) blocks?, (\d+) (?:samples|bytes)")
# A stack is a line of some 15 kB: more than a small pipe holds.
DEEP = 60
NAME = "f" * 250
RECURSES = f"""
def {NAME}(depth):
    while depth == {DEEP}: pass
    {NAME}(depth + 1)
{NAME}(0)
"""


def said(text):
    """How many blocks and samples the last line tells."""
    return tuple(map(int, SAID.search(text).groups()))


def assert_one_after_the_other(seen):
    assert all(began < until for began, until, _ in seen)
    for before, after in zip(seen, seen[1:]):
        assert before[1] == after[0]


@pytest.mark.quick
def test_blocks_come_while_it_records_and_ctrl_c_ends_the_last_one(work, out, start):
    target = start("spin", 600)
    out.write_text("before")
    recorder = begin("--every", 1, "-o", out, "-p", target.pid)
    wait_for(lambda: out.read_text().count("# stackprobe ") >= 3, 60, why="blocks")
    wait_burned(target.pid)
    meanwhile = out.read_text()
    recorder.send_signal(signal.SIGINT)
    _, errors = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, errors
    assert out.read_text().startswith(meanwhile) and not leftovers(work)
    seen = blocks(out.read_text())
    assert_one_after_the_other(seen)
    assert len(seen) > meanwhile.count("# stackprobe ") >= 3
    assert said(errors) == (len(seen), sum(profile.total() for *_, profile in seen)), errors
    assert sum(profile.total(*SPUN, pid=target.pid) for *_, profile in seen) > 50


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_has_a_line_of_time_before_each_as_over_http(work, ending, needs_bpf):
    ended = run("--every", 1, "-o", work / f"out.{ending}", "--", program("spin"), 2.5)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in (work / f"out.{ending}").read_text().splitlines()]
    times = [line for line in lines if "from" in line]
    assert len(times) >= 2 and "from" in lines[0]
    assert all(line.keys() == {"from", "until", "period_ns", "lost", "truncated", "left_out"} for line in times)
    assert all(before["until"] == after["from"] for before, after in zip(times, times[1:]))
    if ending == "json":
        assert len(lines) == 2 * len(times) and all("children" in line for line in lines[1::2])
    total = sum(line["total" if ending == "json" else "count"] for line in lines if "from" not in line)
    assert said(ended.stderr) == (len(times), total) and total > 10


READS = """
import os, time
zero = os.open("/dev/zero", os.O_RDONLY)
def reader(): os.read(zero, 1_000_000)
until = time.monotonic() + 2.5
times = 0
while time.monotonic() < until:
    reader()
    times += 1
    time.sleep(0.01)
print(times * 1_000_000)
"""


def test_each_event_is_in_one_block_and_each_probe_has_a_file(work, needs_bpf):
    ended = run("-e", "io,oncpu", "--every", 1, "--set", "max_overhead=0", "--frame-detail", "name",
                "-o", work / "out.folded", "--", sys.executable, "-S", "-c", READS)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    seen = blocks((work / "out.io.folded").read_text())
    assert len(seen) >= 2
    parts = [profile.total("reader (<string>)_[p]") for *_, profile in seen]
    assert sum(parts) == int(ended.stdout) and max(parts) < sum(parts)
    for probe in ("io", "oncpu"):
        assert_one_after_the_other(blocks((work / f"out.{probe}.folded").read_text()))


def test_a_choice_of_stacks_is_of_each_block(out):
    ended = run("-d", 2.5, "--every", 1, "--top-stacks", 1, "-o", out, "--", program("spin"), 60)
    assert ended.returncode == 0, ended.stderr
    seen = blocks(out.read_text())
    assert len(seen) >= 2 and all(len(profile.stacks) <= 1 for *_, profile in seen)
    assert sum(profile.total(*SPUN) for *_, profile in seen) > 0


def test_a_pipe_has_the_blocks_as_they_come(start):
    target = start("spin", 600)
    recorder = begin("-q", "--every", 1, "-o", "-", "-p", target.pid)
    first = [recorder.stdout.readline()]
    while sum(line.startswith("# stackprobe") for line in first) < 3:
        first.append(recorder.stdout.readline())
        assert first[-1], recorder.communicate()
    wait_burned(target.pid)
    assert recorder.poll() is None
    recorder.send_signal(signal.SIGTERM)
    rest, errors = recorder.communicate(timeout=60)
    assert (recorder.returncode, errors) == (0, "")
    seen = blocks("".join(first) + rest)
    assert_one_after_the_other(seen)
    assert len(seen) >= 3 and sum(profile.total(*SPUN, pid=target.pid) for *_, profile in seen) > 50


@pytest.fixture
def deep(start):
    """A process whose block is larger than a small pipe."""
    return start(Path(sys.executable), "-c", RECURSES)


def small_pipe(recorder):
    fcntl.fcntl(recorder.stdout, fcntl.F_SETPIPE_SZ, 4096)
    return recorder


def test_who_reads_too_slowly_is_told_what_is_missing_and_sampling_goes_on(deep, needs_bpf):
    recorder = small_pipe(begin("--every", 1, "-o", "-", "-p", deep.pid))
    wait_burned(deep.pid, seconds=5)  # some intervals, while nobody reads
    recorder.send_signal(signal.SIGINT)
    text, errors = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, errors
    missing = sum(map(int, re.findall(r"^# (\d+) intervals are missing here: they were not read in time$", text, re.M)))
    assert missing and f"{missing} block" in errors and "missing, not read in time" in errors, errors
    seen = blocks(text)
    assert said(errors) == (len(seen), sum(profile.total() for *_, profile in seen))
    assert sum(profile.total(pid=deep.pid) for *_, profile in seen) > 0  # how many are in the blocks that weren't missed, is chance


def test_a_reader_that_goes_ends_it_but_not_the_command(work, needs_bpf):
    spin = f"{program('spin')} 600 & until [ -e {work}/end ]; do sleep 0.05; done; kill $!; touch {work}/ended"
    recorder = begin("--every", 1, "-o", "-", "--", "sh", "-c", spin)
    assert recorder.stdout.readline().startswith("# stackprobe")
    recorder.stdout.close()
    said_why = []
    while not said_why or "can't be written" not in said_why[-1]:
        said_why.append(recorder.stderr.readline())
        assert said_why[-1], said_why
    assert "standard output can't be written: Broken pipe" in said_why[-1]
    assert recorder.poll() is None
    (work / "end").touch()
    assert recorder.wait(timeout=60) == 1
    assert (work / "ended").exists()
    recorder.stderr.close()


@pytest.mark.parametrize(
    "args, says",
    [
        (["--every", "0", "-o", "-"], "--every is not a number of seconds from 1 to 86400: 0"),
        (["--every", "0.5", "-o", "-"], "--every is not a number of seconds"),
        (["--every", "-1", "-o", "-"], "--every is not a number of seconds"),
        (["--every", "1"], "--every is for .folded, .json, .jsonl and -: stackprobe.svg"),
        (["--every", "1", "-o", "x.html"], "--every is for .folded, .json, .jsonl and -"),
        (["--every", "1", "-o", "x.pb.gz"], "--every is for .folded, .json, .jsonl and -"),
        (["--every", "1", "-o", "x.folded", "--top", "3"], "not both"),
        (["--every", "1", "-o", "x.folded", "--compare", "y"], "--compare makes a picture"),
        (["--every", "1", "-o", "-", "-e", "mem_glibc", "--view", "inuse"], "--every is not for what is held"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nonsense_is_wrong_usage_before_anything_starts(work, args, says):
    ended = run(*args, "--", "touch", work / "ran", cwd=work)
    assert ended.returncode == 2 and says in ended.stderr, ended.stderr
    assert not (work / "ran").exists()

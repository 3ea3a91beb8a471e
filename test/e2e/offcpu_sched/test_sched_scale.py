"""Measurements of /sched in cells of one width, and again and again."""
import json
import re
import signal
import subprocess

import pytest

from helpers import BIN
from sched_client import Sched
from waiting import answer, let_go, ready

ROW = re.compile(r" *(\d+) -> (\d+) +: (\d+) +\|\**")


def rows(text):
    return [tuple(map(int, m.groups())) for m in map(ROW.match, text.splitlines()) if m]


def documents(text):
    """Documents of JSON, one behind the other."""
    while text.strip():
        document, end = json.JSONDecoder().raw_decode(text.lstrip())
        yield document
        text = text.lstrip()[end:]


def measure_while(target, *args):
    """Looks at a program that naps meanwhile, from before it begins until it has told. Returns what was printed,
    and what the program told."""
    argv = [BIN, "sched", "offcpudist", "-i", "1", "-p", str(target.pid), *map(str, args)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as look:
        first = look.stdout.readline()  # so it measures
        let_go(target)
        truth = answer(target)
        look.send_signal(signal.SIGINT)
        text = first + look.communicate(timeout=60)[0]
    assert look.returncode == 0
    return text, truth


@pytest.mark.parametrize("unit, step, nap", [("us", 50, "2ms:200"), ("ms", 5, "10ms:50")], ids=["us", "ms"])
def test_cells_have_the_width_that_was_asked_for(needs_bpf, start, unit, step, nap):
    text, truth = measure_while(ready(start, "naps", nap), "--unit", unit, "--step", step, "--json")
    naps = truth["nap_" + nap.split(":")[0]]
    begins = []
    for data in documents(text):
        assert data["unit"] == unit and data["step"] == step and data["group_by"] == "none"
        for one in data["histograms"]:
            cells = one["buckets"]
            assert all(cell["from"] % step == 0 and cell["to"] == cell["from"] + step for cell in cells)
            assert one["count"] == sum(cell["count"] for cell in cells)
            begins += [cell["from"] for cell in cells for _ in range(cell["count"])]
    # It stops and goes on itself as well.
    assert naps["switches"] <= len(begins) <= naps["switches"] + 3
    lasted = float(nap.split("ms")[0]) * (1 if unit == "ms" else 1000)
    assert sum(begin > lasted - step for begin in begins) >= naps["switches"], begins


def test_powers_of_two_of_milliseconds(needs_bpf, start):
    text, _ = measure_while(ready(start, "naps", "10ms:50"), "--unit", "ms")
    assert "     msecs               : count    distribution\n" in text
    shown = rows(text)
    assert sum(row[2] for row in shown if row[0] >= 8) >= 50, "each nap lasts 10 ms at least"
    assert all(low == 0 or low & (low - 1) == 0 for low, _, _ in shown)
    assert re.search(r"^p50 < \d+, p90 < \d+, p99 < \d+ msecs$", text, re.M)


def test_by_process(profiler, start):
    sched = Sched(profiler)
    targets = [start("spin", 20) for _ in range(2)]
    sched.put({"cmd": {"probe": ["cpudist"]}, "snoopers": {"proc_id": [t.pid for t in targets]},
               "params": {"group_by": "pid"}, "state": "stopped"})  # fmt: skip
    others = [start("spin", 20) for _ in range(2)]  # so that they have to share
    data = sched.json("cpudist", "?seconds=2&unit=us&step=1000")
    assert {one["group"] for one in data["histograms"]} == {t.pid for t in targets}
    assert {one["comm"] for one in data["histograms"]} == {"spin"} and len(others) == 2
    assert sched.probe("cpudist")["state"] == "stopped"


def test_intervals_follow_each_other(profiler):
    sched = Sched(profiler)
    answered = sched.get("runqlat.txt", "?every=1&count=3")
    assert answered.status == 200
    heads = re.findall(r"^# runqlat, (\S+ \S+) to (\S+ \S+) \(", answered.text, re.M)
    assert len(heads) == 3
    assert [a[1] for a in heads[:-1]] == [b[0] for b in heads[1:]]
    assert all(count > 0 for count in [sum(r[2] for r in rows(part)) for part in answered.text.split("# runqlat")[1:]])
    first, second = documents(sched.get("runqlat.json", "?every=1&count=2&unit=us&step=10").text)
    assert first["until"] == second["from"] and first["step"] == second["step"] == 10
    assert sched.get("runqlat.txt").status == 404, "no PUT asked for it"


def test_a_client_that_leaves_ends_its_intervals(profiler):
    sched = Sched(profiler)
    # Eight measure at once, so ten times one after the other only if each ends.
    for _ in range(10):
        with subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{profiler.port}/sched/cpudist.txt?every=1"],
                              stdout=subprocess.PIPE, text=True) as client:  # fmt: skip
            assert client.stdout.readline().startswith("# cpudist")
            client.kill()
    assert sched.get("cpudist.txt", "?seconds=1").status == 200


@pytest.mark.parametrize(
    "query, message",
    [
        ("?unit=ns&seconds=1", "unit must be us or ms"),
        ("?step=0&seconds=1", "step must be a number from 1 to 1000000"),
        ("?step=5", "unit and step need seconds or every: what was counted before has powers of two of us"),
        ("?every=0", "every must be a number from 1 to 600"),
        ("?count=3", "count needs every"),
        ("?every=1&seconds=1", "every, seconds and follow exclude each other"),
    ],
)
def test_what_makes_no_sense_is_refused(profiler, query, message):
    refused = Sched(profiler).get("runqlat.txt", query)
    assert refused.status == 400 and refused.json()["message"] == message


def test_events_have_no_cells(profiler):
    refused = Sched(profiler).get("runqslower.txt", "?seconds=1&step=5")
    assert refused.status == 400 and refused.json()["message"] == "unit and step are for histograms"


# The command


def sched(*args, **options):
    return subprocess.run([BIN, "sched", *map(str, args)], capture_output=True, text=True, timeout=60, **options)


def test_one_look(needs_bpf):
    look = sched("runqlat", "-d", 1)
    assert look.returncode == 0, look.stderr
    assert look.stdout.startswith("# runqlat, ")
    assert sum(row[2] for row in rows(look.stdout)) > 0
    assert not look.stderr


def test_looks_at_one_process_by_step(needs_bpf, start):
    target = start("spin", 60, cpu=0)
    start("spin", 60, cpu=0)  # so that they take turns
    look = sched("cpudist", "-i", 1, "-n", 2, "-p", target.pid, "--by", "pid", "--step", 500, "--json")
    assert look.returncode == 0, look.stderr
    docs = list(documents(look.stdout))
    assert [doc["step"] for doc in docs] == [500, 500]
    assert {one["group"] for doc in docs for one in doc["histograms"]} == {target.pid}
    assert sum(one["count"] for doc in docs for one in doc["histograms"]) > 0


def test_ctrl_c_shows_what_there_is(needs_bpf):
    with subprocess.Popen([BIN, "sched", "runqlat", "-i", "1"], stdout=subprocess.PIPE, text=True) as look:
        assert look.stdout.readline().startswith("# runqlat")  # so it measures
        look.send_signal(2)
        text = look.communicate(timeout=60)[0]
        assert look.returncode == 0 and text.count("# runqlat") >= 1 and rows(text)


def test_events_come_as_lines(needs_bpf, start):
    target = ready(start, "naps", "10ms:100")
    with subprocess.Popen([BIN, "sched", "offcpuslower", "--min-us", "9000", "-p", str(target.pid), "-d", "60"],
                          stdout=subprocess.PIPE, text=True) as look:  # fmt: skip
        assert look.stdout.readline().startswith("TIME ")
        let_go(target)
        lines = [look.stdout.readline() for _ in range(21)]
        look.send_signal(signal.SIGINT)
        lines += look.communicate(timeout=60)[0].splitlines()
    assert look.returncode == 0
    assert len(lines) > 20 and all(" naps " in line and int(line.split()[4]) >= 9000 for line in lines)


@pytest.mark.parametrize(
    "args, word",
    [
        ([], "which probe?"),
        (["runqlta"], "is it runqlat?"),
        (["runqlat", "--step", "0"], "not a number"),
        (["runqlat", "--unit", "s"], "us or ms"),
        (["runqlat", "-n", "3"], "-n needs -i"),
        (["runqslower", "--step", "5"], "for histograms"),
        (["runqlat", "-p", "x"], "pids"),
        (["runqlat", "--by", "host"], "group_by"),
        (["runqlat", "-p", ""], "-p without a pid"),
        (["runqlat", "-p", "1,"], "not a list of pids"),
        (["runqlat", "-p", "1", "-p", "2"], "more than one -p"),
        (["runqlen", "-p", "1"], "looks at CPUs"),
        (["runqslower", "--by", "pid"], "for histograms"),
        (["runqslower", "-i", "1"], "as they happen"),
        (["runqlat", "--min-us", "5"], "--min-us is for"),
    ],
    ids=lambda a: "-".join(a) if isinstance(a, list) else "",
)
def test_wrong_usage_says_why(args, word):
    ended = sched(*args)
    assert ended.returncode == 2 and word in ended.stderr, ended.stderr
    assert "stackprobe sched --help" in ended.stderr

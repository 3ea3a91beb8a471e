"""What others read in our pprof, of programs whose functions, files and lines are known: C, C++, Go, Rust and
Python, taken in one session."""
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import pprof
from helpers import HZ, PROGRAMS, ROOT, Target, wait_for
from kept import Session, session_of
from pprof_readers import FORMAT, SPEEDSCOPE, by_node, by_speedscope, installed, listed, peek, top
from pprof_rules import check

pytestmark = pytest.mark.usefixtures("go_pprof")
SOURCES = ROOT / "test/programs"
ENOUGH = 300  # samples of each


class Known(NamedTuple):
    """A program, and where the time of its functions is spent: root first, {function: texts of these lines}."""

    argv: tuple
    source: str
    functions: dict


BASKET = "shop::Basket<unsigned long>::fill(unsigned long)"
KNOWN = {
    "spin": Known((PROGRAMS / "spin", 60), "cpu/spin.c", {
        "main": ["outer(seconds_ns(argv[1]));"], "outer": ["middle(ns);"], "middle": ["inner_spin(ns);"],
        "inner_spin": ["burn_ns(ns);"]}),
    "cxxnames": Known((PROGRAMS / "cxxnames", 120), "cpu/cxxnames.cc", {
        "main": ["basket.fill(ns);"], BASKET: ["burn_ns(ns);"]}),
    "gowork": Known((PROGRAMS / "gowork", 60), "go/gowork.go", {
        "main.main": ["sum += outer(100000)"], "main.outer": ["return middle(rounds) + 1"],
        "main.middle": ["return leaf(rounds)"], "main.leaf": ["i < rounds; i++", "x = x*6364136223846793005"]}),
    "rustlines": Known((PROGRAMS / "rustlines", 60), "rust/rustnames.rs", {
        "rustnames::main": ["7].go(500_009));"],
        "<[u8; N] as rustnames::Work>::go": ["for _ in 0..rounds", "x = opaque(x).wrapping_mul"]}),
    "python3": Known(("/usr/bin/python3", SOURCES / "python/shown.py"), "python/shown.py", {
        "main": ["sorter.run()", "by_libc()", "recursive(5)"], "by_libc": ["libc.qsort("],
        "compare": ["return work(left[0]) - work(right[0])"], "work": ["number * 31 + 7", "for _ in range(60)"]}),
}  # fmt: skip


class Mixed(Session):
    """All of them in one session: as it is while it goes on (files are open then, and have lines), and in the end."""

    def __init__(self):
        super().__init__()
        self.targets = {comm: Target(known.argv, self.work / f"{comm}.log")
                        for comm, known in KNOWN.items() if Path(known.argv[0]).exists()}  # fmt: skip

    def measure(self):
        pids = [target.pid for target in self.targets.values()]
        daemon = self.daemon
        daemon.profile(pids=pids, frequency=HZ)

        def have_samples():
            folded = daemon.folded()
            return all(folded.total(pid=pid) > ENOUGH for pid in pids)

        wait_for(have_samples, 60, every=0.5)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)  # all of the machine is there for reading
        path = self.work / "live.pb.gz"

        def has_lines():
            """Of each; reading them has a limit of time, which a busy machine may not keep."""
            path.write_bytes(daemon.get("/flamegraph/oncpu.pb.gz").body)
            files = {Path(one.file).name for one in pprof.read(path.read_bytes()).functions}
            return files >= {Path(KNOWN[comm].source).name for comm in self.targets}

        wait_for(has_lines, 30, every=0.5)
        daemon.put_ok({"state": "stopped"})
        ended = pprof.read(daemon.get("/flamegraph/oncpu.pb.gz").body)
        return path, pprof.read(path.read_bytes()), ended, daemon.folded()

    def done(self):
        for target in self.targets.values():
            target.kill()
        super().done()


session = session_of(Mixed)


@pytest.fixture(params=KNOWN)
def comm(session, request):
    if request.param not in session.targets:
        pytest.skip(f"{KNOWN[request.param].argv[0].name} was not built: no {KNOWN[request.param].source}'s compiler")
    return request.param


@pytest.fixture(scope="module")
def node():
    """A folder with pprof-format."""
    with tempfile.TemporaryDirectory(prefix="stackprobe-e2e-", dir="/tmp") as folder:
        installed(FORMAT, folder)
        yield folder


def values_of(profile, comm, type="samples"):
    """{function: (its own, with all that it calls)}"""
    column, found = profile.column(type), {}
    for sample in profile.of(comm=comm):
        stack = profile.stack(sample)
        for name in set(stack):
            flat, cum = found.get(name, (0, 0))
            found[name] = flat + (sample.values[column] if name == stack[-1] else 0), cum + sample.values[column]
    return found


def test_sums_are_those_of_the_same_session_as_folded_text(session):
    _, live, ended, folded = session.of()
    for profile in live, ended:
        check(profile)
        assert profile.total("cpu") == profile.total("samples") * (10**9 // HZ)
    assert ended.total("samples") == folded.total()
    for comm, target in session.targets.items():
        assert ended.total("samples", pid=str(target.pid)) == folded.total(pid=target.pid)
        assert ended.total("samples", comm=comm) == folded.total(pid=target.pid)


def test_go_has_the_functions_and_their_values(session, comm):
    path, profile, *_ = session.of()
    assert top(path, comm=comm) == values_of(profile, comm)


def test_go_has_callers_and_callees(session, comm):
    path, *_ = session.of()
    above, name, *below = KNOWN[comm].functions
    callers, callees = peek(path, name, comm=comm)
    assert above in callers, callers
    if comm != "python3":  # there qsort() is between
        assert set(below[:1]) <= set(callees), callees


def test_go_has_the_lines_of_the_source(session, comm):
    path, profile, *_ = session.of()
    known, values = KNOWN[comm], values_of(profile, comm)
    source = SOURCES / known.source
    lines = source.read_text().split("\n")
    found = listed(path, known.functions, source.parent, comm=comm)
    assert set(found) == set(known.functions)
    for name, texts in known.functions.items():
        file, seen = found[name]
        assert Path(file).name == source.name
        assert all(text == lines[number - 1] for number, (_, text) in seen.items())
        spent = sum(value for value, _ in seen.values())
        right = sum(value for value, text in seen.values() if any(one in text for one in texts))
        assert spent == values[name][1] and right > 0.8 * spent, (name, seen)


def test_node_has_the_same(session, node):
    path, profile, *_ = session.of()
    read = by_node(path, node)
    assert [tuple(one) for one in read["types"]] == [("samples", "count"), ("cpu", "nanoseconds")]
    assert read["period"] == ["cpu", "nanoseconds", 10**9 // HZ]
    ours = Counter((tuple(profile.frames(one)), one.values, tuple(sorted(profile.labels(one).items())))
                   for one in profile.samples)  # fmt: skip
    theirs = Counter((tuple(pprof.Frame(*frame) for frame in one["frames"]), tuple(one["values"]),
                      tuple(sorted(one["labels"].items()))) for one in read["samples"])  # fmt: skip
    assert theirs == ours
    assert {one["labels"]["comm"] for one in read["samples"]} == set(session.targets)


def test_speedscope_has_the_same(session, chromium, work):
    installed(SPEEDSCOPE, work)
    path, profile, *_ = session.of()
    column, expected = profile.column("cpu"), Counter()
    for sample in profile.samples:
        for name in {profile.frames_at[at][-1].name for at in sample.locations}:
            expected[name] += sample.values[column]
    read = by_speedscope(chromium, path, work, work)
    names = {name for comm in session.targets for name in KNOWN[comm].functions} - {"main"}  # of several files
    for name in names:
        value, rounded = read[name]
        assert abs(value - expected[name]) <= rounded * 1.01, name

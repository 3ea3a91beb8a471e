#!/usr/bin/env python3
"""What a switch costs: off-CPU time and the run queue's histogram beside bcc's offcputime and runqlat
(libbpf-tools) and beside programs that do nothing on the same hooks.

cost	BPF time a switch, by the kernel's statistics, and how long the load takes for one. Loads: perf
	bench sched pipe on one CPU; the same under SCHED_BATCH, where each switch is a wait (otherwise
	two in five are preemptions by who was woken, which off-CPU leaves out and offcputime doesn't);
	handoff, which waits in 50 stacks in turn. All in turn, ROUNDS times; medians. No guard.
minblock	handoff and naps, whose waits are nearly all shorter than minblock, with minblock 10000 beside 0:
	BPF time a switch, and how much of the time of the longer waits has its stack. No guard.
seed	the set-up in which DeepFlow's off-CPU profiler was shown: 88 processes, 7,000 waits a second of
	0.1 to 0.2 ms and 14,000 longer ones, minblock 10. CPU time of the daemon and of BPF with off-CPU
	alone and with on-CPU too, and what the daemon holds.
flood	handoff on each CPU for SECONDS, under the default max_overhead: switches a second, stacks taken,
	losses, totals beside the program's own clock, BPF time beside an empty program's.

Prints lines and judges nothing. Usage: sched_cost.py [cost|minblock|seed|flood ...] [SECONDS=n] [ROUNDS=n]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from folded import Profile  # noqa: E402
from helpers import PROGRAMS, missing_privilege, program, wait_for  # noqa: E402
from sample_cost import BPFTOOL  # noqa: E402
from scale import Bench, Meter, bpf_stats, resident_kib  # noqa: E402

CPUS = sorted(os.sched_getaffinity(0))
CPU = str(CPUS[0])
PATH = os.environ["PATH"] + ":/usr/sbin:/usr/share/bcc/tools"
OPS_A_SECOND = 150000  # of perf bench sched pipe, about
NOBODY = "^no such process$"
SWITCH = ("switch", "sched_exit")  # the hooks of a switch
LOAD_NAMES = ("^perf$", "^sched-pipe$", "^handoff$")


class Stats:
    """Runs and ns of a process's BPF programs on switches and on wake-ups since it was made."""

    def __init__(self, owner):
        self.owner = owner
        self.before = bpf_stats(owner)

    def ns(self, hook, *beside):
        """(runs, ns a run) of the programs with that word in their name; with what those of the words
        `beside` took, which run as often or less."""
        runs = spent = 0
        for name, (n, ns) in bpf_stats(self.owner).items():
            before = self.before.get(name, (0, 0))
            if hook in name:
                runs += n - before[0]
            if any(word in name for word in (hook, *beside)):
                spent += ns - before[1]
        return runs, spent / max(runs, 1)


# Loads: run for about so many seconds, return (switches, us for one).


def pipe(length, *scheduling):
    loops = int(length * OPS_A_SECOND)
    argv = ["taskset", "-c", CPU, *scheduling, "perf", "bench", "sched", "pipe", "-l", str(loops)]
    out = subprocess.check_output(argv, text=True)
    return 2 * loops, float(re.search(r"([\d.]+) usecs/op", out)[1]) / 2


def batch_pipe(length):
    return pipe(length, "chrt", "-b", "0")


def handoff(length):
    told = json.loads(subprocess.check_output([program("handoff"), str(length), CPU]))
    return told["waits"], told["wall_ns"] / 1e3 / told["waits"]


LOADS = {"pipe": pipe, "pipe, batch": batch_pipe, "50 stacks": handoff}


# Subjects: what is attached while a load runs. As context managers: the owner of the BPF programs.


class Nothing:
    pid = "self"
    missing = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Tool(Nothing):
    """A program that has BPF programs attached until it is killed."""

    def __init__(self, *argv):
        self.path = shutil.which(argv[0], path=PATH)
        self.argv = argv
        if not self.path:
            self.missing = f"{argv[0]} is not installed"

    def __enter__(self):
        self.popen = subprocess.Popen([self.path, *self.argv[1:]], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        self.pid = self.popen.pid
        if len(self.argv) > 1:
            try:
                wait_for(self.runs, why=self.argv[0])
            except AssertionError:
                self.__exit__()
                raise
        return self

    def runs(self):
        return any(runs for runs, _ in bpf_stats(self).values())

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()


class Ours(Nothing):
    """The daemon with one probe of one feature on."""

    def __init__(self, daemon, feature, probe, *entries, **params):
        self.daemon = daemon
        self.pid = daemon.pid
        self.feature = feature
        self.doc = daemon.wanting(*entries, probes=(probe,), **params)
        self.probe = probe
        if feature != "flamegraph":
            for name in ("svg_dir", "flame_dir"):
                del self.doc["params"][name]
            if not entries:
                del self.doc["snoopers"]
        answer = self.put("stopped")
        if answer.status != 200:
            self.missing = answer.text.strip()

    def put(self, state):
        body = b"json=" + json.dumps({**self.doc, "state": state}).encode()
        return self.daemon.request("PUT", f"/{self.feature}", body)

    def __enter__(self):
        answer = self.put("running")
        assert answer.status == 200, answer.text
        wait_for(lambda: any("switch" in name and runs
                             for name, (runs, _) in bpf_stats(self).items()), why=self.probe)  # fmt: skip
        return self

    def __exit__(self, *_):
        assert self.put("stopped").status == 200


def peer(*argv):
    """A program of Debian's libbpf-tools."""
    tool = Tool(*argv)
    try:
        if not tool.missing:
            with tool:
                pass
    except (AssertionError, OSError) as error:
        tool.missing = f"{argv[0]} does not run here: {error}"
    return tool


def empty(*hooks):
    return Tool(str(PROGRAMS.parent / "bpf/hooks"), *hooks)


def subjects_of(daemon):
    """Name -> (subject, name of its reference)."""
    target = Ours(daemon, "flamegraph", "offcpu", *LOAD_NAMES, minblock=0, max_overhead=0)
    others = Ours(daemon, "flamegraph", "offcpu", NOBODY, minblock=0)
    return {
        "nothing": (Nothing(), None),
        "empty sched_switch": (empty("switch"), None),
        "empty sched_switch + sched_wakeup": (empty("switch", "wakeup"), None),
        "offcputime -u": (peer("offcputime", "-u", "-m", "1"), None),
        "offcpu of the load": (target, "offcputime -u"),
        "offcpu of others": (others, "empty sched_switch"),
        "runqlat": (peer("runqlat", "3600"), "empty sched_switch + sched_wakeup"),
        "/sched runqlat, everybody": (
            Ours(daemon, "sched", "runqlat"), "empty sched_switch + sched_wakeup"),
    }  # fmt: skip


class Figures:
    """Of one subject under one load, a list of each round's."""

    def __init__(self):
        self.switch_ns, self.wakeup_ns, self.us, self.foreign = [], [], [], []

    def add(self, stats, switches, us):
        runs, switch_ns = stats.ns(*SWITCH)
        _, wakeup_ns = stats.ns("wakeup")
        self.switch_ns.append(switch_ns)
        self.wakeup_ns.append(wakeup_ns)
        self.us.append(us)
        self.foreign.append(runs / switches - 1 if runs else 0)

    @property
    def ns(self):
        return median(a + b for a, b in zip(self.switch_ns, self.wakeup_ns))


def measure(subjects, length, rounds, loads=None):
    """{(subject, load): Figures}"""
    figures = {}
    for _ in range(rounds):
        for name, (subject, _) in subjects.items():
            if subject.missing:
                continue
            with subject:
                for load_name, load in (loads or LOADS).items():
                    stats = Stats(subject)
                    switches, us = load(length)
                    figures.setdefault((name, load_name), Figures()).add(stats, switches, us)
    return figures


def print_table(subjects, figures):
    print("sched_cost: BPF ns a switch + a wake-up = both; us the load takes for a switch")
    for load in LOADS:
        for name, (subject, reference) in subjects.items():
            mine, other = figures.get((name, load)), figures.get((reference, load))
            if not mine:
                print(f"sched_cost: {load:12} {name:34} not measured: {subject.missing}")
                continue
            beside = f"  {mine.ns / other.ns:.2f} x {reference}" if other else ""
            foreign = max(mine.foreign)
            disturbed = f"  ({foreign:.0%} of other programs' switches)" if foreign > 0.05 else ""
            print(f"sched_cost: {load:12} {name:34} {median(mine.switch_ns):6.0f} + "
                  f"{median(mine.wakeup_ns):4.0f} = {mine.ns:6.0f} ns  {median(mine.us):.2f} us"
                  f"{beside}{disturbed}")  # fmt: skip


def cost(length, rounds):
    with Bench() as bench:
        subjects = subjects_of(bench.daemon)
        print_table(subjects, measure(subjects, length, rounds))


def minblock(length, rounds):
    """200 waits of 0.1 ms, then two of 10 ms, and so on; and waits as fast as they come."""
    naps = [program("naps_bare"), *("100us:200", "10ms:2") * int(length * 5)]
    with Bench() as bench, empty("switch") as nothing:
        subjects = {n: Ours(bench.daemon, "flamegraph", "offcpu", "^handoff$", "^naps_bare$",
                            minblock=n, max_overhead=0) for n in (0, 5000, 10000)}  # fmt: skip
        if subjects[0].missing:
            print(f"sched_cost: minblock: not measured: {subjects[0].missing}")
            return
        ns, bare, held = {n: [] for n in subjects}, [], []
        for _ in range(rounds):
            for least, ours in subjects.items():
                with ours:
                    mine, empty_ns = Stats(ours), Stats(nothing)
                    subprocess.check_output([program("handoff"), str(length), CPU])
                    ns[least].append(mine.ns(*SWITCH)[1])
                    bare.append(empty_ns.ns("switch")[1])
                    if least != 5000:
                        continue
                    target = subprocess.Popen(naps, stdout=subprocess.PIPE)
                    os.waitpid(target.pid, os.WUNTRACED)
                    os.kill(target.pid, signal.SIGCONT)
                    truth = json.loads(target.stdout.readline())["nap_10ms"]
                    seen = Profile(bench.daemon.get("/flamegraph/offcpu.folded").text)
                    held.append(seen.total("nap_10ms") * 1e3 / truth["sum_ns"])
                    target.kill()
                    target.wait()
    took = {n: median(each) for n, each in ns.items()}
    print(f"sched_cost: minblock: a switch {took[0]:.0f} ns with minblock 0, {took[10000]:.0f} ns with 10000: "
          f"{took[10000] / took[0]:.2f} x; an empty program {median(bare):.0f} ns; of the time of waits above "
          f"minblock among 100 times as many shorter ones {min(held):.2%} to {max(held):.2%} have their stack "
          f"(the rest is the program's own way to its clock)")  # fmt: skip


SEED_PROCESSES = 88


def seed(length, _):
    """Its figures: both probes below 5 % of a core, and 3,332 kB more with on-CPU."""
    turn = ("100us:1", "2ms:1", "10ms:1")  # 12.3 ms: 7,000 short waits a second of all
    naps = [program("naps_bare"), *turn * int(6 * length / 0.0123)]
    with Bench() as bench:
        targets = [subprocess.Popen(naps, stdout=subprocess.DEVNULL) for _ in range(SEED_PROCESSES)]
        try:
            for target in targets:
                os.waitpid(target.pid, os.WUNTRACED)
                os.kill(target.pid, signal.SIGCONT)
            for probes in (("offcpu",), ("oncpu", "offcpu")):
                bench.daemon.put_ok(bench.daemon.wanting("^naps_bare$", probes=probes, minblock=10))
                for probe in probes:
                    bench.daemon.wait_running(probe)
                bench.daemon.get("/flamegraph/offcpu.folded")  # the names of the first window
                before, meter = bench.daemon.probe("offcpu")["samples"], Meter(bench.daemon)
                time.sleep(length)
                bench.daemon.get("/flamegraph/offcpu.folded")
                meter.read()
                waits = bench.daemon.probe("offcpu")["samples"] - before
                print(f"sched_cost: seed: {' and '.join(probes)} of {SEED_PROCESSES} processes, {waits / meter.seconds:.0f} "
                      f"waits/s: the daemon {meter.cpu / meter.seconds:.2%} of a core, BPF "
                      f"{meter.bpf_seconds / meter.seconds:.2%}; {resident_kib(bench.daemon.pid)} kB resident")  # fmt: skip
        finally:
            for target in targets:
                target.kill()
                target.wait()


def loss(probe):
    return {where: count for where, count in probe["lost"].items() if count}


def flood(length, _):
    """As many waits a second as there are, in both threads of a program on each CPU."""
    with Bench() as bench, empty("switch") as nothing:
        ours = Ours(bench.daemon, "flamegraph", "offcpu", "^handoff$", minblock=0)
        if ours.missing:
            print(f"sched_cost: flood: not measured: {ours.missing}")
            return
        with ours:
            mine, bare = Stats(ours), Stats(nothing)
            argv = [program("handoff"), str(length)]
            loads = [subprocess.Popen([*argv, str(cpu)], stdout=subprocess.PIPE) for cpu in CPUS]
            time.sleep(length / 2)
            thinned = bench.daemon.probe("offcpu")["thinned"]
            told = [json.loads(load.communicate()[0]) for load in loads]
            runs, ns = mine.ns(*SWITCH)
            bare_ns = bare.ns("switch")[1]
            profile = Profile(bench.daemon.get("/flamegraph/offcpu.folded").text)
            probe = bench.daemon.probe("offcpu")
    waits, wall = sum(t["waits"] for t in told), told[0]["wall_ns"] / 1e9
    own_us = sum(t["off_ns"] for t in told) / 1e3
    # What else is in the profile: main(), which waits for the two.
    seen_us = profile.total("hand_over_and_wait")
    print(f"sched_cost: flood: {runs / wall:.0f} switches/s on {len(CPUS)} CPUs over {wall:.0f} s, "
          f"{waits / wall:.0f} waits/s; one in {thinned} taken: {probe['samples']} stacks, lost "
          f"{loss(probe)}; off-CPU {seen_us / 1e6:.2f} s, the program's own clock {own_us / 1e6:.2f} s: "
          f"{seen_us / own_us - 1:+.2%}")
    print(f"sched_cost: flood: sched_switch {ns:.0f} ns, {runs * ns / wall / 1e7:.2f} % of a CPU; an empty "
          f"program beside it {bare_ns:.0f} ns, {runs * bare_ns / wall / 1e7:.2f} %: more than that "
          f"{runs * (ns - bare_ns) / wall / 1e7:.2f} %")  # fmt: skip


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if not reason and not shutil.which("perf"):
        reason = "no perf"
    if reason:
        sys.exit(f"sched_cost: {reason}")
    parts = {"cost": (cost, 1, 5), "minblock": (minblock, 1, 3), "seed": (seed, 20, 1), "flood": (flood, 60, 1)}
    chosen = [arg for arg in sys.argv[1:] if "=" not in arg] or list(parts)
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    with empty():  # which keeps the kernel's statistics on
        time.sleep(0.2)
        for part in chosen:
            call, length, rounds = parts[part]
            call(float(options.get("SECONDS", length)), int(options.get("ROUNDS", rounds)))


if __name__ == "__main__":
    main()

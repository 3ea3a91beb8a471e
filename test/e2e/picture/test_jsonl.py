"""GET /flamegraph/oncpu.jsonl: DeepFlow's record, a line for each thread's stack."""
import json
import os
import re
import time
from pathlib import Path

import pytest

from asking import burning
from folded import Profile
from helpers import PROGRAMS, wait_for
from waiting import let_go, stands_by

ONCPU, OFFCPU = 1, 2
# (The C library's own names are in a package of their own.)
WHOLE = re.compile(r"\[l\] (__libc_start_call_main|\[libc\.so\.6\+0x[0-9a-f]+\]);main;outer;middle;inner_spin$")
FIELDS = {
    "profiler_type": int, "timestamp": int, "pid": int, "tid": int, "stime": int,
    "netns_id": int, "u_stack_id": int, "k_stack_id": int, "cpu": int, "count": int,
    "comm": str, "process_name": str, "container_id": str, "stack_data_len": int,
    "stack_data": str,
}


def records(answer, profiler=ONCPU, by_cpu=False):
    """The records of an answer, each of them checked for what holds of all."""
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    lines = answer.text.split("\n")
    assert lines.pop() == ""
    found = [json.loads(line) for line in lines]
    for record in found:
        assert {key: type(value) for key, value in record.items()} == FIELDS
        assert list(record) == list(FIELDS)
        assert record["profiler_type"] == profiler
        assert record["stack_data_len"] == len(record["stack_data"].encode())
        assert record["stack_data"].startswith(f"[p] {record['process_name']}")
        assert record["container_id"] == "null"
        assert by_cpu or record["cpu"] == 4095
        has_kernel = "[k] " in record["stack_data"]
        assert (record["k_stack_id"] != 0) == has_kernel
    keys = [(r["pid"], r["stime"], r["u_stack_id"], r["k_stack_id"], r["tid"], r["cpu"], r["comm"])
            for r in found]
    assert len(set(keys)) == len(keys), "a key is there twice"
    return found


def total(found, *frames, **wanted):
    """Sum of the counts of records that have these fields and these frames, side by side."""
    text = ";".join(frames)
    return sum(r["count"] for r in found
               if all(r[key] == value for key, value in wanted.items())
               and (not frames or f";{text};" in f";{r['stack_data']};"))


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def start_ms(pid):
    """When a process began, by /proc: start time (field 22) since boot, by the wall clock."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    boot_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot_s * 1000 + ticks * 1000 / os.sysconf("SC_CLK_TCK")


def asked(profiler, target, seconds=1, shows=""):
    """Records of that process in the next seconds; of others where it had no CPU in these, or did something else."""

    def found():
        found = records(profiler.get(f"/flamegraph/oncpu.jsonl?seconds={seconds}&pid={target.pid}"))
        return any(shows in record["stack_data"] for record in found) and found

    return wait_for(found, why=f"it has samples with {shows}")


@pytest.mark.quick
def test_a_record_tells_process_thread_start_and_network_of_its_stack(profiler, start):
    target = burning(start)
    before_ns = boot_ns()
    found = asked(profiler, target, seconds=2)
    assert {r["pid"] for r in found} == {r["tid"] for r in found} == {target.pid}
    assert {(r["comm"], r["process_name"]) for r in found} == {("spin", "spin")}
    assert {r["netns_id"] for r in found} == {os.stat(f"/proc/{target.pid}/ns/net").st_ino}
    assert len({r["stime"] for r in found}) == 1
    assert abs(found[0]["stime"] - start_ms(target.pid)) <= 20
    assert all(before_ns <= r["timestamp"] <= boot_ns() for r in found)
    own = total(found, "main", "outer", "middle", "inner_spin")
    assert own >= 0.9 * total(found) > 0


def test_counts_are_those_of_the_folded_text(profiler, start):
    profiler.profile("^(one|two)$", frequency=500)
    targets = [start("spin", 2, name) for name in ("one", "two")]
    for target in targets:
        target.finish()
    folded = profiler.folded()
    found = records(profiler.get("/flamegraph/oncpu.jsonl"))
    assert {r["pid"] for r in found} == folded.pids == {t.pid for t in targets}
    for target in targets:
        assert total(found, pid=target.pid) == folded.total(pid=target.pid) > 0
        one = records(profiler.get(f"/flamegraph/oncpu.jsonl?pid={target.pid}"))
        assert {r["pid"] for r in one} == {target.pid}
        assert total(one) == folded.total(pid=target.pid)


def test_each_thread_has_records_of_its_own(profiler, start):
    profiler.profile("^(threads|red|green|blue)$", frequency=500, thread_frame=0)
    target = start("threads", 1)
    target.finish()
    found = records(profiler.get("/flamegraph/oncpu.jsonl"))
    tids = {}
    for colour in ("red", "green", "blue"):
        counts = {r["tid"] for r in found if f";{colour}_work" in r["stack_data"]}
        assert len(counts) == 1, counts
        tids[colour] = counts.pop()
        assert total(found, f"{colour}_work", tid=tids[colour], comm=colour) >= 100  # (of 500: some came before its name was known)
    assert len(set(tids.values())) == 3
    assert target.pid not in tids.values()
    assert total(found) == profiler.folded().total()


def test_equal_stacks_have_equal_ids_as_long_as_the_daemon_runs(profiler, start, copy):
    profiler.profile("^(alpha|beta)$", frequency=500)
    ids = set()
    for name in ("alpha", "beta"):
        start(copy("spin", name), 1).finish()
        found = records(profiler.get("/flamegraph/oncpu.jsonl"))
        ids |= {r["u_stack_id"] for r in found if r["process_name"] == name
                and "[truncated]" not in r["stack_data"]
                and WHOLE.search(r["stack_data"])}
    again = records(profiler.get("/flamegraph/oncpu.jsonl"))
    assert len(ids) == 1, {r["stack_data"] for r in again if r["u_stack_id"] in ids}
    by_id = {}
    for record in again:
        user = tuple(f for f in record["stack_data"].split(";")[1:] if not f.startswith("[k] "))
        assert by_id.setdefault(record["u_stack_id"], user) == user
    assert len(set(by_id.values())) == len(by_id)
    assert ids <= set(by_id)


def test_frames_say_whether_they_are_the_programs_a_librarys_or_the_kernels(profiler, start):
    target = burning(start)
    found = asked(profiler, target)
    frames = {f for r in found for f in r["stack_data"].split(";")}
    assert "main" in frames and "[l] main" not in frames
    assert any(f.startswith("[l] __libc_start") for f in frames), frames
    busy = start("syscalls", 30)
    wait_for(lambda: busy.cpu_ns_now() > 1e8, why="it burns")
    found = asked(profiler, busy, shows=";read_block;[k] ")
    in_kernel = [r for r in found if ";read_block;[k] " in r["stack_data"]]
    for record in in_kernel:
        behind = record["stack_data"].split(";read_block;")[1].split(";")
        assert all(f.startswith("[k] ") for f in behind)


def test_a_loaded_librarys_functions_are_the_librarys(profiler, start):
    profiler.profile("^dlopener$", frequency=500)
    start("dlopener", PROGRAMS / "plugin.so", 1).finish()
    found = records(profiler.get("/flamegraph/oncpu.jsonl"))
    before, spun = total(found, "before_load"), total(found, "[l] plugin_spin")
    assert before > 100 and spun > 200  # of 500 each; a busy host takes some
    assert before + spun >= 0.95 * total(found), found
    assert "[l] before_load" not in str(found)


SLEEPERS = """
import os, signal, threading, time
def sleep_long():
    time.sleep(2)
def sleep_often():
    for _ in range(40):
        time.sleep(0.05)
os.kill(os.getpid(), signal.SIGSTOP)
threads = [threading.Thread(target=each) for each in (sleep_long, sleep_often)]
began = time.monotonic()
for thread in threads:
    thread.start()
print([thread.native_id for thread in threads], flush=True)
for thread in threads:
    thread.join()
print((time.monotonic() - began) * 1e6)
"""


def test_off_cpu_counts_microseconds_of_each_thread(profiler, start):
    target = start(Path("/usr/bin/python3"), "-c", SLEEPERS)
    wait_for(lambda: stands_by(target), why="it stands by")
    profiler.profile(pids=[target.pid], probes=("offcpu",), minblock=1000)
    let_go(target)
    tids, most = target.first_line(), target.finish()
    found = records(profiler.get(f"/flamegraph/offcpu.jsonl?pid={target.pid}"), OFFCPU)
    folded = Profile(profiler.get(f"/flamegraph/offcpu.folded?pid={target.pid}").text)
    assert total(found) == folded.total()
    for tid in tids:
        of_thread = total(found, tid=tid)
        assert 1_950_000 < of_thread < most + 1000, (tid, of_thread, most)
    assert total(found, tid=target.pid) > 1_900_000  # it waits for the others


def test_cpus_are_told_apart_where_that_is_asked_for(profiler, start):
    profiler.profile("^chosen$", aggregate_by_cpu=1, frequency=500)
    target = start("spin", 1, "chosen", cpu=1)
    target.finish()
    found = records(profiler.get("/flamegraph/oncpu.jsonl"), by_cpu=True)
    assert total(found, cpu=1) >= 0.9 * total(found) > 100
    assert {r["cpu"] for r in found} <= set(range(os.cpu_count()))
    assert total(found) == profiler.folded().total()


def test_other_outputs_do_not_show_what_is_a_library(profiler, start):
    target = burning(start)
    text = profiler.get(f"/flamegraph/oncpu.folded?seconds=1&pid={target.pid}").text
    assert ";[l] " not in text and ";[k] " not in text
    assert Profile(text).total("main", "outer", "middle", "inner_spin") > 0


def test_it_answers_as_the_other_outputs_do_when_there_is_nothing(daemon):
    assert daemon.get("/flamegraph/oncpu.jsonl").status == 404
    assert daemon.get("/flamegraph/oncpu.jsonl?seconds=0&pid=1").status == 400
    assert daemon.get("/flamegraph/mem.jsonl").status == 404

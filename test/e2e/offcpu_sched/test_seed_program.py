"""The program with which DeepFlow's off-CPU profiler was shown: nine long sleeps, ten short ones
between them; as a flame graph, and wait by wait. (The long ones last 10 s there, and
nothing begins by a signal.)"""
import json
import os
import re
import signal
import subprocess
import time

import pytest

import oracle
from helpers import wait_for
from sched_client import Follower, Sched
from waiting import Seen, profile_offcpu

LONG_MS = 700
LONG_US = LONG_MS * 1000
MAIN = r"""
#include <signal.h>
#include <stdio.h>
void sleep_long(void);
void sleep_100_microseconds(void);
static void go_on(int number) { (void)number; }
int main(void)
{
	signal(SIGUSR1, go_on);
	for (int i = 0; i < 6; i++)
		sleep_long();
	puts("Start");
	for (int i = 0; i < 2; i++)
		sleep_long();
	for (int i = 0; i < 10; i++)
		sleep_100_microseconds();
	sleep_long();
	puts("End");
	fflush(stdout);
	sleep_long(); /* until it is killed: what it waited is read meanwhile */
	return 0;
}
"""
SLEEPS = r"""
#include <stdio.h>
#include <time.h>
static void __sleep_100_microseconds(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	printf("slept 100 us\n");
}
void sleep_100_microseconds(void) { __sleep_100_microseconds(); }
void sleep_long(void)
{
	static int calls; /* the first one ends by a signal: when somebody looks */
	int number = calls++;
	nanosleep(&(struct timespec){.tv_sec = number % 9 == 0 ? 1000 : 0, .tv_nsec = LONG_MS * 1000000L}, NULL);
	printf("slept long\n");
}
"""
LINE = re.compile(r"(\d\d:\d\d:\d\d\.\d{6}) (.{16}) (\d+) +(\d+) +(\d+) ([SD]) +(\d+)\n")


@pytest.fixture
def off_cpu(work, request):
    (work / "main.c").write_text(MAIN)
    (work / "sleeps.c").write_text(SLEEPS)
    subprocess.run(["gcc", "-fno-omit-frame-pointer", "-g", "-O0", f"-DLONG_MS={LONG_MS}",
                    "-o", work / "off-cpu", work / "main.c", work / "sleeps.c"], check=True)  # fmt: skip

    def begin():
        popen = subprocess.Popen([work / "off-cpu"], stdout=(work / "said").open("w"))
        request.addfinalizer(lambda: (popen.kill(), popen.wait()))
        wait_for(lambda: oracle.states(popen.pid) == {"S"}, why="it sleeps")
        return popen

    return begin


def waits(follower):
    """Their microseconds."""
    return [int(LINE.fullmatch(line)[5]) for line in follower.events()]


def test_each_wait_and_both_places(profiler, off_cpu, work):
    # Its first wait is one that began before the probe did.
    target = off_cpu()
    profile_offcpu(profiler, pids=[target.pid], minblock=50)
    sched = Sched(profiler)
    sched.run("offcpuslower", snoopers={"proc_id": [target.pid]}, min_us=50)
    follower = Follower(profiler, "offcpuslower")
    assert follower.status == 200
    target.send_signal(signal.SIGUSR1)
    try:
        wait_for(lambda: "End" in (work / "said").read_text(), 60, why="its end")
        wait_for(lambda: oracle.states(target.pid) == {"S"}, why="it sleeps")
        wait_for(lambda: len(told := waits(follower)) > 10 and max(told[-10:-1]) < LONG_US <= told[-1], why="the last line")
    finally:
        follower.close()
    lines = [LINE.fullmatch(line) for line in follower.events()]
    assert all(lines), follower.events()
    assert {(l[2].strip(), int(l[3]), int(l[4])) for l in lines} == {("off-cpu", target.pid, target.pid)}
    short = [us for us in waits(follower) if us < LONG_US]
    assert len(short) == 10 and all(us >= 100 for us in short), short
    # The first long one began before the PUT, and the tenth goes on.
    long = [us for us in waits(follower) if us >= LONG_US]
    assert len(long) == 8, long

    seen = Seen(profiler)
    stacks = seen.stacks("main", "sleep_100_microseconds", "__sleep_100_microseconds")
    assert len(stacks) == 1 and seen.waits("sleep_100_microseconds") == 10
    assert abs(seen.times.total("sleep_100_microseconds") - sum(short)) <= 10 + 10
    # One place is one bar: the waits that the daemon found going on have the scheduler's frames.
    waiting = seen.stacks("main", "sleep_long")
    assert len(waiting) == 1, [s.frames for s in waiting]
    assert waiting[0].frames[-1] in ("__schedule_[k]", "schedule_[k]"), waiting[0].frames
    assert "hrtimer_nanosleep_[k]" in waiting[0].frames


def test_the_same_waits_as_a_document(profiler, off_cpu):
    sched = Sched(profiler)
    target = off_cpu()
    sched.run("offcpuslower", snoopers={"proc_id": [target.pid]}, min_us=LONG_US - 1)
    target.send_signal(signal.SIGUSR1)
    wait_for(lambda: len(sched.json("offcpuslower")["events"]) >= 2, 30, why="two long waits")
    data = sched.json("offcpuslower")
    assert data["min_us"] == LONG_US - 1 and data["unit"] == "us"
    for event in data["events"]:
        assert event["pid"] == event["tid"] == target.pid and event["comm"] == "off-cpu"
        assert LONG_US <= event["lat_us"]
        assert event["state"] == "S" and event["cpu"] in range(os.cpu_count())
        assert abs(event["time"] - time.time()) < 60
        assert "prev" not in event
    assert json.loads(sched.get("runqslower.json").text)["message"].startswith("it has not run yet")

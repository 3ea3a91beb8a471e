"""stackprobe record: one profile without HTTP; what is in it, where it is written, what is refused."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from folded import Profile
from helpers import BIN, HZ, missing_privilege, program, same_time, wait_for
from recorder import SPUN, begin, has_begun, leftovers, out, run, wait_armed

# What is in the profile


def test_a_command_of_20_ms_has_its_main(out):
    for _ in range(5):
        ended = run("-F", 1000, "-o", out, "--", program("short_lived"), 0.02)
        assert ended.returncode == 0, ended.stderr
        profile = Profile(out.read_text())
        assert profile.total("main", "short_work") >= 5, out.read_text()
        assert profile.names == {"short_lived"}  # nothing from before its exec


def test_samples_are_the_cpu_time_of_the_command(out, observe):
    observer = observe(HZ)
    ended = run("-F", HZ, "-o", out, "--", program("spin"), 2)
    cpu_ns = json.loads(ended.stdout)["cpu_ns"]
    profile = Profile(out.read_text())
    # test_truth.py is the strict one
    same_time(profile.total(), HZ, cpu_ns, observer.ns(*profile.pids), within=0.15)
    assert profile.total(*SPUN) >= 0.95 * profile.total()


def test_what_the_command_starts_is_in_it_across_execs(out):
    script = f"{program('spin')} 0.3 && {program('forker')} 0.3 {program('short_lived')} 0.2; true"
    ended = run("-F", 500, "-o", out, "--", "sh", "-c", script)
    assert ended.returncode == 0, ended.stderr
    profile = Profile(out.read_text())
    assert profile.total(*SPUN) > 50
    assert profile.total("main", "parent_work") > 50
    assert profile.total("child_work") > 50
    assert profile.total("main", "short_work") > 30
    assert profile.names >= {"spin", "forker", "short_lived"}


def test_a_process_by_its_pid_is_recorded_with_what_it_starts(out, start):
    target = start("forker", "-w", 0.5, program("short_lived"), 0.3)
    other = start("spin", 30)
    wait_for(lambda: " T " in Path(f"/proc/{target.pid}/stat").read_text())
    recorder = begin("-F", 500, "-o", out, "-p", target.pid)
    wait_armed(recorder)
    os.kill(target.pid, signal.SIGCONT)
    child = target.first_line()["child"]
    target.finish()
    _, said = recorder.communicate(timeout=30)  # its processes have ended, and so has it
    assert recorder.returncode == 0, said
    profile = Profile(out.read_text())
    assert profile.pids == {target.pid, child}
    assert profile.total("main", "parent_work", pid=target.pid) > 100
    assert profile.total("main", "short_work", pid=child) > 50
    assert other.pid not in profile.pids


@pytest.mark.quick
def test_several_pids_are_one_profile(out, start):
    targets = [start("spin", 60) for _ in range(3)]
    first, second, third = (target.pid for target in targets)
    ended = run("-d", 2, "-o", out, "-p", f"{first},{second}", "-p", third, "-p", first)
    assert ended.returncode == 0, ended.stderr
    assert Profile(out.read_text()).pids == {first, second, third}


def test_children_that_were_there_before_are_not_recorded(out, start):
    target = start("forker", 20, program("spin"), 20)
    child = target.first_line()["child"]
    assert run("-d", 2, "-o", out, "-p", target.pid).returncode == 0
    os.kill(child, signal.SIGKILL)
    assert Profile(out.read_text()).pids == {target.pid}


def test_a_process_that_ended_before_anything_was_sampled_makes_an_empty_profile(work, needs_bpf):
    for name in ("out.svg", "out.folded", "out.json"):
        ended = run("-o", work / name, "--", "sleep", 0.05)
        assert ended.returncode == 0
        assert (work / name).exists()
    sleeper = subprocess.Popen(["sleep", "60"])
    ended = run("-d", 0.2, "-o", work / "still.folded", "-p", sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert ended.returncode == 0
    assert "an empty profile, no samples" in ended.stderr
    assert (work / "still.folded").read_text() == ""


def test_one_that_nobody_has_waited_for_ends_the_recording(out):
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: " Z " in Path(f"/proc/{zombie.pid}/stat").read_text())
    ended = run("-o", out, "-p", zombie.pid, timeout=20)
    zombie.wait()
    assert ended.returncode == 0, ended.stderr
    assert out.read_text() == ""


# Where it is written


def test_the_ending_of_the_name_chooses_the_format(work, needs_bpf):
    for name in ("out.svg", "out.folded", "out.json"):
        ended = run("-o", work / name, "--", program("spin"), 0.3)
        assert ended.returncode == 0, ended.stderr
    assert "<title>" in (work / "out.svg").read_text()
    assert Profile((work / "out.folded").read_text()).total(*SPUN) > 10
    assert json.loads((work / "out.json").read_text())["total"] > 10
    assert not leftovers(work)


def test_a_dash_is_folded_text_where_the_commands_output_does_not_disturb_it(needs_bpf):
    ended = run("-q", "-o", "-", "--", program("spin"), 0.3)
    assert Profile(ended.stdout).total(*SPUN) > 10
    assert "cpu_ns" in ended.stderr


def test_without_a_name_it_is_stackprobe_svg_in_the_working_folder(work, needs_bpf):
    assert run("--", "true", cwd=work).returncode == 0
    assert (work / "stackprobe.svg").read_text().startswith("<?xml")


def test_an_existing_file_is_replaced_when_the_new_one_is_whole(work, out):
    out.write_text("before")
    begun, end = work / "begun", work / "end"
    recorder = begin("-o", out, "--", "sh", "-c", f"echo $$ > {begun}; until [ -e {end} ]; do sleep 0.05; done")
    wait_for(lambda: has_begun(recorder, begun))
    assert out.read_text() == "before"
    end.touch()
    recorder.communicate(timeout=60)
    assert out.read_text() != "before"
    assert not leftovers(work)


def test_a_fifo_is_written_to_and_stays(work, needs_bpf):
    fifo = work / "fifo.folded"
    os.mkfifo(fifo)
    recorder = begin("-o", fifo, "--", program("spin"), 0.3)
    assert Profile(fifo.read_text()).total(*SPUN) > 10
    recorder.communicate(timeout=60)
    assert fifo.is_fifo()


@pytest.mark.parametrize("name", ["out.folded", "stackprobe.svg"], ids=["named", "by default"])
def test_a_link_that_another_may_have_put_there_leads_to_no_device(work, needs_bpf, name):
    """The FIFO is in the place of a disk. In a folder without the sticky bit the kernel follows any link."""
    shared, disk = work / "shared", work / "disk"
    shared.mkdir()
    shared.chmod(0o777)
    work.chmod(0o711)
    os.mkfifo(disk)
    subprocess.run(["ln", "-s", disk, shared / name], user=65534, group=65534, extra_groups=[], check=True)
    with open(os.open(disk, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as reading:
        options = ("-o", shared / name) if name == "out.folded" else ()
        ended = run(*options, "--", "touch", work / "ran", cwd=shared)
        assert not reading.read()
    assert ended.returncode == 1 and name in ended.stderr, ended
    assert not (work / "ran").exists()


def test_without_a_name_only_a_file_is_replaced(work, needs_bpf):
    os.mkfifo(work / "stackprobe.svg")
    ended = run("--", "true", cwd=work, timeout=20)
    assert ended.returncode == 1 and "stackprobe.svg" in ended.stderr


def test_a_users_own_link_is_followed_and_one_to_a_file_is_replaced(work, needs_bpf):
    os.mkfifo(work / "fifo")
    (work / "own.folded").symlink_to("fifo")
    recorder = begin("-o", work / "own.folded", "--", program("spin"), 0.3)
    assert Profile((work / "fifo").read_text()).total(*SPUN) > 10
    recorder.communicate(timeout=60)
    (work / "file").write_text("kept")
    (work / "other.folded").symlink_to("file")
    assert run("-o", work / "other.folded", "--", "true").returncode == 0
    assert not (work / "other.folded").is_symlink() and (work / "file").read_text() == "kept"


@pytest.mark.parametrize("where", ["no-such-folder/out.svg", "file/out.svg", "folder.svg"])
def test_a_path_that_cannot_be_written_is_said_before_the_command_starts(work, where):
    (work / "file").write_text("")
    (work / "folder.svg").mkdir()
    ended = run("-o", work / where, "--", "touch", work / "ran")
    assert ended.returncode == 1
    assert where in ended.stderr
    assert not (work / "ran").exists()


def test_a_full_disk_is_status_one_and_the_file_before_is_kept(needs_bpf, work):
    disk = work / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        (disk / "out.svg").write_text("before")
        ended = run("-o", disk / "out.svg", "--", program("spin"), 0.2)
        kept, left = (disk / "out.svg").read_text(), leftovers(disk)
    finally:
        subprocess.run(["umount", disk], check=True)
    assert ended.returncode == 1
    assert "No space left" in ended.stderr
    assert (kept, left) == ("before", [])


# What it refuses


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-p", "1", "--", "true"],
        ["-p", "x"],
        ["-p", ""],
        ["-p", "1,,2"],
        ["-p", "-1"],
        ["-p", "99999999999"],
        ["-d", "0", "true"],
        ["-d", "-1", "true"],
        ["-d", "nan", "true"],
        ["-d", "1s", "true"],
        ["-d", "1e400", "true"],
        ["-F", "0", "true"],
        ["-F", "1001", "true"],
        ["-F", "10.5", "true"],
        ["-e", "frobs", "true"],
        ["-e", "", "true"],
        ["-o", "x.png", "true"],
        ["-o", "svg", "true"],
        ["--no-such-option", "true"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_two_and_says_why(args):
    ended = run(*args)
    assert ended.returncode == 2
    assert ended.stderr.strip()


def test_an_unknown_ending_and_an_unknown_probe_say_what_there_is():
    assert ".svg, .html, .folded, .json, .jsonl or .pb.gz" in run("-o", "x.png", "true").stderr
    assert "oncpu, offcpu" in run("-e", "frobs", "true").stderr


def test_an_unknown_ending_is_said_before_anything_starts(work):
    for name in ("x.png", "x.gz", "x.pb"):
        ended = run("-o", name, "--", "touch", work / "ran", cwd=work)
        assert ended.returncode == 2
        assert not (work / "ran").exists()


def test_a_pid_without_a_process_is_said(start):
    target = start("spin", 0)
    target.finish()
    ended = run("-p", target.pid)
    assert ended.returncode == 1
    assert f"no process has the pid {target.pid}" in ended.stderr


def test_a_thread_is_answered_with_its_process(start):
    target = start("threads", 5)
    tids = wait_for(
        lambda: [t.name for t in Path(f"/proc/{target.pid}/task").iterdir()][1:], why="threads"
    )
    ended = run("-p", tids[0])
    assert ended.returncode == 1
    assert str(target.pid) in ended.stderr


def test_without_privileges_one_sentence_says_what_is_missing(work):
    if os.geteuid() != 0:
        assert missing_privilege()
    work.chmod(0o777)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        ended = run("-o", work / "x.svg", "--", "touch", work / "ran", **nobody)
    except PermissionError:
        pytest.skip("the program lies where only root can reach it")
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and "CAP_BPF" in ended.stderr
    assert not (work / "ran").exists() and not (work / "x.svg").exists()


def test_in_a_pid_namespace_of_its_own_it_says_so(work, needs_bpf):
    spaces = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*spaces, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespace can be made here")
    argv = [*spaces, BIN, "record", "-o", work / "x.svg", "--", "touch", work / "ran"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "pid namespace" in ended.stderr and ended.stderr.count("\n") == 1
    assert not (work / "ran").exists() and not (work / "x.svg").exists()


def test_help_tells_all_options():
    shown = run("--help")
    assert shown.returncode == 0
    for option in ("--pid", "--event", "--duration", "--frequency", "--output", "--quiet", "--min", "--max",
                   "--top-stacks", "--sort", "--every"):  # fmt: skip
        assert option in shown.stdout


def test_a_commands_first_allocation_is_in_it(work, needs_bpf):
    ended = run("-e", "mem,mem_glibc", "-o", "out.folded", program("firsts"), cwd=work,
                stdin=subprocess.DEVNULL)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    # Far more than is sampled, so it is for sure; its stack may be cut, for the program is new.
    allocated = Profile((work / "out.mem_glibc.folded").read_text())
    assert allocated.total("first_thing") == told["bytes"]
    assert allocated.total("malloc") == allocated.total() < told["bytes"] + 2**20
    grown = Profile((work / "out.mem.folded").read_text())
    assert told["touched"] * 0.8 < grown.total("[anon]") < told["touched"] * 1.2
    assert "objects" in ended.stderr and "faults" in ended.stderr
    assert "thinned" not in ended.stderr


def test_what_a_process_holds_at_the_end_is_a_view(needs_bpf):
    grows = "import time\nkept = []\nwhile True: kept.append(bytearray(10**6)); time.sleep(0.002)"
    target = subprocess.Popen([sys.executable, "-c", grows])
    try:
        ended = run("-e", "mem_glibc", "--view", "inuse", "-p", target.pid, "-d", 1, "-o", "-")
        none = run("-e", "mem_glibc", "--view", "mmap", "-p", target.pid, "-d", 0.2, "-o", "-")
    finally:
        target.kill()
        target.wait()
    assert ended.returncode == none.returncode == 0, ended.stderr
    assert Profile(ended.stdout).total("malloc") > 20 * 10**6
    assert " objects, in " in ended.stderr
    assert none.stdout == "" and " mappings, in " in none.stderr, "malloc's own maps are no view's"


@pytest.mark.parametrize(
    "args, word",
    [
        (["-e", "mem_glibc", "--view", "leak", "-p", "1"], "alloc, inuse, mmap, "),
        (["-e", "mem", "--view", "inuse", "-p", "1"], "mem_glibc"),
    ],
    ids=str,
)
def test_a_view_that_makes_no_sense_is_wrong_usage(args, word):
    ended = run(*args)
    assert ended.returncode == 2
    assert word in ended.stderr


def test_a_thread_alone(out):
    target = subprocess.Popen([sys.executable, "-c", TWO_THREADS], stdout=subprocess.PIPE, text=True)
    try:
        first, second = map(int, target.stdout.readline().split())
        ended = run("-F", 1000, "-d", 2, "--frame-detail", "name", "-o", out, "-t", second)
        both = run("-F", 1000, "-d", 2, "--frame-detail", "name", "-o", "-", "-p", target.pid)
    finally:
        target.kill()
        target.wait()
    assert ended.returncode == 0, ended.stderr
    alone, all_of_it = Profile(out.read_text()), Profile(both.stdout)
    assert first != second and alone.total(SECOND) > 10
    assert alone.total(SECOND) == alone.total()
    assert all_of_it.total(FIRST) > 10 and all_of_it.total(SECOND) > 10


FIRST, SECOND = "first_one (<string>)_[p]", "second_one (<string>)_[p]"
TWO_THREADS = """
import threading
def first_one(until=10**12):
    while until: until -= 1
def second_one(until=10**12):
    while until: until -= 1
threads = [threading.Thread(target=f, daemon=True) for f in (first_one, second_one)]
for thread in threads: thread.start()
print(*(thread.native_id for thread in threads), flush=True)
threads[0].join()
"""


@pytest.mark.parametrize(
    "args, word",
    [
        (["-t", "x"], "not a thread's number"),
        (["-t", "1", "-p", "1"], "-t goes with no other choice"),
        (["-e", "mem_glibc", "--view", "inuse", "-t", "1"], "no thread's"),
    ],
    ids=["word", "both", "view"],
)
def test_a_wrong_thread_is_wrong_usage(args, word):
    ended = run(*args)
    assert ended.returncode == 2 and word in ended.stderr


def test_a_thread_that_is_not_there_fails():
    ended = run("-t", 2**22 + 5)
    assert ended.returncode == 1 and "no thread has the number" in ended.stderr


def test_a_picture_tells_what_a_sample_is_of_a_cpu(work, needs_bpf):
    ended = run("-F", 100, "-o", "x.svg", "--", program("spin"), 1, cwd=work)
    assert ended.returncode == 0, ended.stderr
    (part,) = re.findall(r'data-cpu="([0-9.e-]+)"', (work / "x.svg").read_text())
    seconds = float(re.search(r" in ([0-9.]+) s", ended.stderr)[1])
    assert float(part) == pytest.approx(0.01 / seconds, rel=0.05)


# What a command holds when it ends

HOLDS = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void *leak(size_t n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
__attribute__((noinline)) static void *scratch(size_t n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 300; i++) {
		*(volatile char *)leak(1000) = 1;
		free(scratch(5000));
		usleep(1000);
	}
	if (argc > 1)
		execl("/bin/true", "true", NULL);
	return 0;
}
"""


@pytest.fixture
def holds(work):
    (work / "holds.c").write_text(HOLDS)
    subprocess.run(["gcc", "-O1", "-g", "-o", work / "holds", work / "holds.c"], check=True)
    return work / "holds"


def held(out, *command):
    ended = run("-e", "mem_glibc", "--view", "inuse", "--set", "mem_sample_bytes=0", "-o", out, "--", *command)
    assert ended.returncode == 0, ended.stderr
    return Profile(out.read_text())


@pytest.mark.parametrize("shell", [False, True], ids=["itself", "of a shell"])
def test_what_a_command_holds_when_it_ends(out, holds, shell):
    profile = held(out, *(["sh", "-c", f"{holds}; true"] if shell else [holds]))
    assert profile.total("leak", "malloc") == 300 * 1000, out.read_text()
    assert profile.total("scratch") == 0


def test_what_an_exec_gave_back_is_not_held(out, holds):
    assert held(out, holds, "exec").total("leak") == 0


RISES = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static char *rise(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
__attribute__((noinline)) static char *stay(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
int main(void)
{
	char *much = rise(50 << 20), *little = stay(1 << 20);
	usleep(3500000);
	free(much);
	usleep(1500000);
	return little == NULL;
}
"""


def test_what_a_command_held_at_its_peak(out, work):
    (work / "rises.c").write_text(RISES)
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", work / "rises", work / "rises.c"], check=True)
    command = ["--set", "mem_sample_bytes=0", "-o", out, "--", work / "rises"]
    at_peak = run("-e", "mem_glibc", "--view", "peak", *command)
    assert at_peak.returncode == 0, at_peak.stderr
    profile = Profile(out.read_text())
    assert profile.total("rise", "malloc") == 50 << 20 and profile.total("stay", "malloc") == 1 << 20
    assert "at its peak after " in at_peak.stderr
    at_end = run("-e", "mem_glibc", "--view", "inuse", *command)
    profile = Profile(out.read_text())
    assert profile.total("rise") == 0 and profile.total("stay", "malloc") == 1 << 20, at_end.stderr


def test_what_has_no_effect_is_said(out, needs_bpf):
    ended = run("-o", out, "--header", "--set", "minblock=7", "--set", "mem_sample_bytes=0", "--", "true")
    assert ended.returncode == 0
    assert "minblock is of offcpu, which isn't recorded" in ended.stderr
    assert "mem_sample_bytes is of mem_glibc, which isn't recorded" in ended.stderr
    ended = run("-o", "x.svg", "--header", "--", "true")
    assert ended.returncode == 2 and "--header is of folded text" in ended.stderr


def test_a_probe_of_the_scheduler_has_its_own_command():
    ended = run("-e", "runqlat", "--", "true")
    assert ended.returncode == 2 and "stackprobe sched: runqlat" in ended.stderr

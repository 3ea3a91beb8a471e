"""What the log says of probes and of targets."""
import re
import sys
from pathlib import Path

import pytest

from helpers import wait_for


def test_the_log_tells_of_probes_and_targets(profiler, start):
    target = start("spin", 60, "chosen")
    profiler.profile("^chosen$")
    wait_for(lambda: f"target {target.pid} (chosen): added for oncpu\n" in profiler.log)
    target.kill()
    # The end of a process wakes nobody; who asks hears of it.
    wait_for(lambda: not profiler.processes(), why="none is a target")
    assert f"target {target.pid} (chosen): removed from oncpu\n" in profiler.log
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: "info oncpu disabled\n" in profiler.log)
    assert profiler.log.count("info oncpu enabled\n") == 1


def test_the_log_tells_of_minblock_where_it_is_of_use(profiler):
    profiler.put_ok(profiler.wanting("^nobody$", minblock=70))
    assert "minblock" not in profiler.log
    profiler.put_ok({"cmd": {"probe": ["oncpu", "offcpu"]}})
    wait_for(lambda: "info offcpu minblock 70 us\n" in profiler.log)
    profiler.put_ok({"params": {"minblock": 0}})
    wait_for(lambda: "info offcpu minblock 0 us\n" in profiler.log)


def test_many_targets_do_not_flood_the_log(profiler, start):
    profiler.profile("^crowd$")
    crowd = start("crowd", 200)
    wait_for(lambda: len(profiler.processes()) > 200, why="all are targets")
    crowd.kill()
    wait_for(lambda: not profiler.processes(), why="none is a target")
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: "more were added and" in profiler.log)
    assert profiler.log.count("\ninfo target ") < 60


# A program that has this name (bytes as hexadecimal digits) and burns until it is killed.
NAMED = """
import re
import sys
with open("/proc/self/comm", "wb") as comm:
    comm.write(bytes.fromhex(sys.argv[1]))
print(1, flush=True)
while True:
    pass
"""


def test_a_name_tells_a_terminal_nothing(profiler, start):
    """U+009B is ESC and [ to a terminal, as UTF-8 or as a byte of Latin-1; U+202E turns the line round."""
    names = [b"csi\x1b[31m", b"csi\xc2\x9b31m", b"csi\x9b31m", "csi\u202eab".encode(), "csi \u00e4\u20ac".encode()]
    targets = [start(Path(sys.executable), "-c", NAMED, name.hex()) for name in names]
    for target in targets:
        target.first_line()
    profiler.profile({"comm": "^csi", "cmdline": ""})
    wait_for(lambda: profiler.log_path.read_bytes().count(b": added for oncpu") == len(names), why="all are targets")
    log = profiler.log_path.read_bytes()
    log.decode()  # it is UTF-8
    assert not any(bad in log for bad in (b"\x1b", b"\xc2\x9b", "\u202e".encode()))
    told = {f"target {target.pid} ({name})" for target, name in
            zip(targets, ("csi?[31m", "csi?31m", "csi?31m", "csi?ab", "csi \u00e4\u20ac"))}  # fmt: skip
    assert all(one in log.decode() for one in told), log.decode()


@pytest.mark.parametrize("instances", [0, 1], ids=["one", "each"])
def test_files_are_named_by_their_whole_paths(profiler, start, instances):
    target = start("spin", 60)
    profiler.profile(pids=[target.pid], multi_instance=instances)
    wait_for(lambda: profiler.probe("oncpu")["samples"] > 0, why="samples")
    profiler.put_ok({"state": "stopped"})
    line = wait_for(lambda: re.search(r"oncpu: wrote (/\S+\.svg) and (/\S+\.folded)$", profiler.log, re.M), why="the line")
    assert Path(line[1]).stat().st_size and Path(line[2]).exists()

"""Stacks of programs that people run, as their distribution built them, are whole."""
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from helpers import by_name_alone, wait_burned, wait_for
from whole import ENOUGH, HZ, WHOLE, assert_whole, cut, profile_still, truncated, whole


def installed(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    return Path(path)


PYTHON = """
import json, re, zlib
def deep(n):
    return deep(n - 1) if n else [json.loads(json.dumps({"a": [i] * 9})) for i in range(99)]
while True:
    text = json.dumps(deep(30))
    re.sub(r"(\\d+)", lambda m: m[1], text)
    zlib.compress(text.encode())
"""


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/python3", "-c", PYTHON],
        ["openssl", "speed", "-seconds", "60", "-evp", "aes-256-gcm"],
        ["openssl", "speed", "-seconds", "60", "rsa2048"],
        ["xz", "-9", "-T1", "-c", "/usr/bin/python3"],
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=100M"],
        ["perl", "-e", "while (1) { my %h; $h{join '', sort split //, 'word' . $_}++ for 1 .. 999 }"],
    ],
    ids=lambda argv: "-".join(argv[:2]).replace("/usr/bin/", "").strip("-"),
)
def test_common_programs_are_whole(profiler, start, argv):
    target = start(installed(argv[0]), *argv[1:])
    profile_still(profiler, target)
    wait_for(lambda: target.popen.poll() is not None or target.cpu_ns_now() > 2e9, 30)
    profile = profiler.folded(pid=target.pid)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))


def assert_services_whole(profiler):
    """From when on their tables are there: what comes before is test_unwind_tables.py's."""
    wait_for(lambda: profiler.probe()["samples"] > 0, 30, why="they run")
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, 30, why="tables")
    before = profiler.folded()  # a window ends
    wait_for(lambda: profiler.folded().total() > before.total() + 5 * ENOUGH, 30, every=0.5)
    profile = profiler.folded()
    cut_off = profile.total("[truncated]") - before.total("[truncated]")
    assert cut_off <= (1 - WHOLE) * (profile.total() - before.total()), (truncated(profiler), cut(profile))


def test_redis_under_its_benchmark_is_whole(profiler, start, work):
    tool = installed("redis-benchmark")
    socket = work / "redis"
    server = start(installed("redis-server"), "--port", 0, "--unixsocket", socket, "--save", "",
                   "--dir", work)  # fmt: skip
    wait_for(socket.exists, why="redis listens")
    start(tool, "-s", socket, "-l", "-q", "-c", 4, "-P", 8, "-r", 1000, "-n", 100000, "-t",
          "get,set,lpush,zadd,sadd,hset,lrange_100,mset")  # fmt: skip
    profiler.profile(pids=[server.pid], frequency=HZ)
    assert_services_whole(profiler)


@pytest.fixture
def postgres(work):
    """A server of its own with pgbench's tables; gives the folder of its socket and the tools."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    if not folders:
        pytest.skip("postgresql is not installed")
    tools, home = folders[-1].parent, work / "postgres"
    home.mkdir()
    work.chmod(0o755)
    shutil.chown(home, "postgres")
    quiet = {"cwd": home, "user": "postgres", "group": "postgres", "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL}  # fmt: skip
    subprocess.run([tools / "initdb", "-N", "-A", "trust", "-D", home / "data"], check=True, **quiet)
    options = ["-c", "listen_addresses=", "-k", home, "-c", "fsync=off"]
    server = subprocess.Popen([tools / "postgres", "-D", home / "data", *options], **quiet)
    try:
        ready = [tools / "pg_isready", "-q", "-h", home]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, 30, why="postgres")
        subprocess.run([tools / "pgbench", "-h", home, "-i", "-s", "2", "postgres"], check=True,
                       **quiet)  # fmt: skip
        bench = subprocess.Popen([tools / "pgbench", "-h", home, "-T", "60", "-c", "2", "postgres"],
                                 **quiet)  # fmt: skip
        yield server
        bench.kill()
        bench.wait()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def test_postgres_under_its_benchmark_is_whole(profiler, postgres):
    profiler.profile(by_name_alone("^postgres$"), frequency=HZ, multi_instance=0)
    assert_services_whole(profiler)


def test_rust_is_whole(profiler, start):
    target = start("rustnames", 60)  # by the clock on the wall
    wait_burned(target.pid, seconds=0.05)
    profiler.profile(pids=[target.pid], frequency=HZ)
    wait_burned(target.pid, seconds=1.5)
    assert_whole(profiler, profiler.folded(pid=target.pid))

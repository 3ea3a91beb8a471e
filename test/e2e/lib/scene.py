"""Fifty processes of ten programs, as a busy host has them: databases, runtimes, scripts, and a C++
program with 100 MB of debug data. Used by test_memory.py and test/bench/memory.py."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import big_program
from helpers import PROGRAMS, wait_for

PYTHON = """
import hashlib, json, re, zlib
data = [{"id": i, "name": f"item {i}", "tags": ["a", "b", str(i)]} for i in range(300)]
while True:
    text = json.dumps(sorted(json.loads(json.dumps(data)), key=lambda d: d["name"]))
    re.sub(r"item (\\d+)", lambda m: m[1], text)
    hashlib.sha256(zlib.compress(text.encode())).hexdigest()
"""
PERL = """
while (1) {
	my %count; $count{join '', sort split //, "word $_"}++ for 1 .. 2000;
	my $text = join ',', map { sprintf '%05d=%s', $count{$_}, $_ } sort keys %count;
	$text =~ s/(\\d+)=(\\w)/$2$1/g;
}
"""
NODE = """
const zlib = require('zlib'), crypto = require('crypto');
for (let i = 0;; i++) {
	const rows = Array.from({length: 500}, (_, k) => ({k, v: 'row ' + (k * i) % 997}));
	const text = JSON.stringify(rows.sort((a, b) => a.v < b.v ? -1 : 1));
	crypto.createHash('sha1').update(zlib.deflateSync(text.replace(/row (\\d+)/g, '$1'))).digest();
}
"""
BASH = """
while :; do
	words=(); for i in {1..300}; do words+=("w$((i * RANDOM % 977))"); done
	text=${words[*]}; text=${text//w/x}; [[ $text =~ (x[0-9]+)\\ (x[0-9]+) ]] && : "${BASH_REMATCH[1]}"
done
"""
SQL = """
select count(*) from (select md5(g::text) as m, g % 1000 as k, (g / 7.0)::numeric as n
from generate_series(1, 1000000000) g order by m limit 100000) x group by k, n, length(m)
"""

COUNTS = {
    "redis-server": 4, "postgres": 4, "java": 3, "node": 4, "python3": 6, "perl": 5, "bash": 5,
    "rustnames": 4, "bigcxx": 2, "threads": 7,
}  # fmt: skip


class Scene:
    """Starts what is installed. `missing` has the names of the programs that aren't."""

    def __init__(self, work, cxx=None):
        self.work = work
        self.cxx = cxx  # a program of big_program.build() that is there already
        self.running = []
        self.pids = {}
        self.missing = set()

    def start(self):
        if not self.cxx:
            self.cxx = big_program.build(self.work)  # first, while nothing is busy
        for name, count in COUNTS.items():
            begin = getattr(self, "start_" + name.replace("-", "_"))
            self.pids[name] = begin(count)
            if not self.pids[name]:
                self.missing.add(name)
        return self

    def all_pids(self):
        return [pid for pids in self.pids.values() for pid in pids]

    def stop(self):
        for popen in self.running:
            popen.send_signal(signal.SIGSTOP)  # so that nobody reaps a child, or makes a new one
        for popen in self.running:
            for child in children(popen.pid):
                os.kill(child, signal.SIGKILL)  # databases' servers outlive their parent
        for popen in self.running:
            popen.kill()
        for popen in self.running:
            popen.wait()

    def run(self, argv, **kwargs):
        null = subprocess.DEVNULL
        argv = ["nice", *[str(arg) for arg in argv]]  # who measures comes first
        popen = subprocess.Popen(argv, stdin=null, stdout=null, stderr=null, **kwargs)
        self.running.append(popen)
        return popen.pid

    def run_each(self, count, *argv):
        if not shutil.which(str(argv[0])):
            return []
        return [self.run(argv) for _ in range(count)]

    def start_redis_server(self, count):
        tool = shutil.which("redis-benchmark")
        if not shutil.which("redis-server") or not tool:
            return []
        pids = []
        for number in range(count):
            socket = self.work / f"redis-{number}"
            options = ["--port", 0, "--unixsocket", socket, "--save", "", "--dir", self.work]
            pids.append(self.run(["redis-server", *options]))
            wait_for(socket.exists, why="redis listens")
            self.run([tool, "-s", socket, "-l", "-q", "-c", 2, "-r", 1000, "-n", 100000, "-t",
                      "get,set,lpush,zadd,sadd,hset,lrange_100,mset"])  # fmt: skip
        return pids

    def start_postgres(self, count):
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not folders:
            return []
        tools, home = folders[-1].parent, self.work / "postgres"
        home.mkdir()
        for folder in (self.work, home):
            os.chmod(folder, 0o755)
        shutil.chown(home, "postgres")
        quiet = {"cwd": home, "user": "postgres", "group": "postgres"}
        subprocess.run([tools / "initdb", "-N", "-A", "trust", "-D", home / "data"], check=True,
                       stdout=subprocess.DEVNULL, **quiet)  # fmt: skip
        options = ["-c", "listen_addresses=", "-k", home, "-c", "fsync=off"]
        server = self.run([tools / "postgres", "-D", home / "data", *options], **quiet)
        ready = [tools / "pg_isready", "-q", "-h", home]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, 30, why="postgres")
        for _ in range(count):
            self.run([tools / "psql", "-h", home, "postgres", "-c", SQL], **quiet)
        wait_for(lambda: len(children(server)) >= count + 5, 30, why="postgres serves")
        return [server, *children(server)]

    def start_java(self, count):
        # Looking for large primes keeps a JVM busy for hours, and every JRE has it.
        return [
            pid
            for number in range(count)
            for pid in self.run_each(
                1, "java", "-Xmx64m", "-m", "java.base/sun.security.tools.keytool.Main",
                "-genkeypair", "-keyalg", "RSA", "-keysize", 16384, "-dname", "CN=x", "-storepass",
                "secret", "-keystore", self.work / f"keys-{number}",
            )
        ]  # fmt: skip

    def start_node(self, count):
        return self.run_each(count, "node", "-e", NODE)

    def start_python3(self, count):
        return self.run_each(count, "/usr/bin/python3", "-c", PYTHON)

    def start_perl(self, count):
        return self.run_each(count, "perl", "-e", PERL)

    def start_bash(self, count):
        return self.run_each(count, "bash", "-c", BASH)

    def start_rustnames(self, count):
        return self.run_each(count, PROGRAMS / "rustnames", 3600)

    def start_threads(self, count):
        return self.run_each(count, PROGRAMS / "threads", 3600)

    def start_bigcxx(self, count):
        return self.run_each(count, self.cxx) if self.cxx else []


def children(pid):
    """What a process with one thread has forked."""
    try:
        forked = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []  # it has ended
    return [int(child) for child in forked.split()]

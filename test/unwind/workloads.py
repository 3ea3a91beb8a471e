# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that are recorded: how each is started, and kept busy."""
import glob
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/test/unwind"
TEXT_BYTES = 24 << 20
ENOUGH_BYTES = 2200 * 65536  # of a recording: 2,200 samples


class Workload:
    """A program that runs for some seconds and ends."""

    serves = False  # it runs until it is interrupted

    def __init__(self, name, argv, alike=True):
        self.name = name
        self.argv = argv
        self.alike = alike  # elfutils can unwind it: frames must be the same

    def missing(self):
        """Why it can't run here, or None."""
        return None if shutil.which(str(self.argv[0])) else f"no {Path(self.argv[0]).name}"

    def start(self, folder, seconds, stack):
        """What perf is to run."""
        del folder, stack
        return [str(arg).replace("SECONDS", str(seconds)) for arg in self.argv]

    def drive(self, folder, seconds, log):
        """What is done beside it."""


def some_text(folder):
    """A large file to work on: what is installed of Python."""
    path = folder / "text"
    with path.open("wb") as out:
        for source in sorted(glob.glob("/usr/lib/python3*/**/*.py", recursive=True)):
            if out.tell() < TEXT_BYTES:
                out.write(Path(source).read_bytes())
    return path


class Python(Workload):
    def start(self, folder, seconds, stack):
        return ["/usr/bin/python3", ROOT / "test/unwind/programs/everyday.py", seconds]


class Xz(Workload):
    def start(self, folder, seconds, stack):
        return ["prlimit", f"--cpu={int(seconds) + 1}", "xz", "-6", "--threads=1", "--stdout",
                some_text(folder)]


class OpenSsl(Workload):
    ALGORITHMS = ("md5 sha1 sha256 sha512 aes-128-cbc aes-256-cbc camellia-128-cbc des-ede3 rc4 ghash "
                  "rand rsa2048 dsa2048 ecdsap256 ecdsap384 ecdhx25519 ed25519").split()

    def start(self, folder, seconds, stack):
        # Each is run for several sizes of block and for signing and verifying: about six turns.
        each = max(1, round(seconds / len(self.ALGORITHMS) / 4))
        return ["timeout", "--signal=INT", seconds * 3, "openssl", "speed", "-seconds", each,
                "-bytes", "4096", *self.ALGORITHMS]


class Redis(Workload):
    serves = True

    def missing(self):
        return super().missing() or (None if shutil.which("redis-benchmark")
                                     else "no redis-benchmark")

    def start(self, folder, seconds, stack):
        return ["redis-server", "--port", "0", "--unixsocket", folder / "socket", "--save", "",
                "--dir", folder]

    def drive(self, folder, seconds, log):
        wait_for(folder / "socket")
        for _ in turns(folder, seconds):
            subprocess.run(["redis-benchmark", "-s", folder / "socket", "-q", "-n", "20000",
                            "-c", "10", "-r", "10000"], stdout=log, stderr=log, check=True)


def turns(folder, seconds):
    """As often as it takes: on a busy machine a server gets little of the time."""
    began = time.monotonic()
    recording = folder / "perf.data"
    while True:
        took = time.monotonic() - began
        bytes_there = recording.stat().st_size if recording.exists() else 0
        if took > 6 * seconds or (took > seconds and bytes_there > ENOUGH_BYTES):
            return
        yield


def wait_for(path, seconds=30):
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.05)
    time.sleep(0.2)


class Postgres(Workload):
    serves = True

    def missing(self):
        if not self.folder() or not shutil.which("setpriv"):
            return "no postgres"
        return None if shutil.which("pgbench") or (self.folder() / "pgbench").exists() \
            else "no pgbench"

    @staticmethod
    def folder():
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        return Path(folders[-1]) if folders else None

    def as_user(self, program, *argv):
        """PostgreSQL refuses to run as root."""
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                str(self.folder() / program), *map(str, argv)]

    def start(self, folder, seconds, stack):
        data = folder / "data"
        data.mkdir()
        shutil.chown(folder, "postgres")
        shutil.chown(data, "postgres")
        subprocess.run(self.as_user("initdb", "--no-sync", "-A", "trust", "-D", data), check=True,
                       cwd="/", stdout=subprocess.DEVNULL)
        return self.as_user("postgres", "-D", data, "-k", folder, "-c", "listen_addresses=",
                            "-c", "fsync=off", "-c", "jit=off")

    def drive(self, folder, seconds, log):
        wait_for(folder / ".s.PGSQL.5432")
        self.bench(folder, log, "-i", "-s", "3")
        for _ in turns(folder, seconds):
            self.bench(folder, log, "-c", "4", "-T", "2")
            self.bench(folder, log, "-S", "-c", "2", "-T", "2")

    def bench(self, folder, log, *argv):
        subprocess.run(self.as_user("pgbench", "-h", folder, *argv, "postgres"), check=True, cwd="/",
                       stdout=log, stderr=log)


class Ffmpeg(Workload):
    def start(self, folder, seconds, stack):
        film = folder / "film.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                        "testsrc2=size=640x360:rate=25,noise=alls=12:allf=t", "-t", "4", "-c:v",
                        "libx264", "-preset", "veryfast", film], check=True)
        return ["prlimit", f"--cpu={int(seconds) + 1}", "ffmpeg", "-v", "error", "-threads", "2",
                "-stream_loop", "-1", "-i", film, "-f", "null", "-"]


WORKLOADS = [
    Workload("levels", [BUILT / "levels", "SECONDS"]),
    Workload("levels-lto", [BUILT / "levels_lto", "SECONDS"]),
    Workload("levels-clang", [BUILT / "levels_clang", "SECONDS"]),
    Workload("exceptions", [BUILT / "exceptions", "SECONDS"]),
    Workload("rust", [BUILT / "wordcount_rust", "SECONDS"]),
    Workload("interrupted", [BUILT / "interrupted", "SECONDS"]),
    Workload("kernel-bound", [BUILT / "kernel_bound", "SECONDS"]),
    Redis("redis", ["redis-server"]),
    Postgres("postgres", ["postgres"]),
    Python("python", ["/usr/bin/python3"]),
    OpenSsl("openssl", ["openssl"]),
    Xz("xz", ["xz"]),
    Workload("node", ["node", ROOT / "test/unwind/programs/everyday.js", "SECONDS"], alike=False),
    Ffmpeg("ffmpeg", ["ffmpeg"], alike=False),
    Workload("go", [BUILT / "wordcount_go", "SECONDS"], alike=False),
    Workload("go-stripped", [BUILT / "wordcount_go_stripped", "SECONDS"], alike=False),
]

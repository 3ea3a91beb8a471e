"""Programs of another user (nobody) that make what the daemon does for them dear: each is made by a C
compiler in a folder of that user. Who can be profiled beside them is an Innocent."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from folded import Profile
from foreign_files import NOBODY, Program
from hanging_folder import HangingFolder
from helpers import wait_burned

EXTRA_SECONDS = 3  # that an innocent's profile may take beside them
RESIDENT_MAX_KB = 100 * 1024

BURN = """
#include <stdint.h>
#include <time.h>
static volatile uint64_t sink;
__attribute__((noinline)) long burn(long n)
{
	for (long i = 0; i < 3000000; i++)
		sink += (uint64_t)(i * n);
	return n;
}
"""

INNOCENT = """
#include <stdlib.h>
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int sort_all(int turn)
{
	static int values[4096];
	for (int i = 0; i < 4096; i++)
		values[i] = (i * 7919 + turn) % 4096;
	qsort(values, 4096, sizeof(int), compare);
	return values[0] + 1;
}
int main(void)
{
	volatile int sum = 0;
	for (int turn = 0;; turn++)
		sum += sort_all(turn);
}
"""

MAPPER = BURN + """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	int fds[] = {open(argv[1], O_RDONLY), open(argv[2], O_RDONLY)};
	for (int i = 0; i < 64000; i++)
		if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fds[i % 2], 0) == MAP_FAILED)
			exit(1);
	for (;;)
		burn(argc);
}
"""


def compiler():
    found = shutil.which("gcc") or shutil.which("cc")
    if not found:
        pytest.skip("no C compiler")
    return found


class Attackers:
    """Processes of nobody, in a folder of nobody's."""

    def __init__(self, work):
        work.chmod(0o711)
        self.folder = work / "nobodys"
        self.folder.mkdir()
        os.chown(self.folder, NOBODY, NOBODY)
        self.running = []
        self.left = []  # files elsewhere
        self.hanging = []

    def file(self, name, content=b""):
        path = self.folder / name
        path.write_bytes(content)
        os.chown(path, NOBODY, NOBODY)
        return path

    def build(self, name, source, *flags):
        path = self.folder / name
        text = self.file(f"{name}.c", source.encode())
        subprocess.run([compiler(), "-O1", "-o", path, text, *flags], check=True)
        os.chown(path, NOBODY, NOBODY)
        return path

    def run(self, *argv, cwd=None):
        popen = subprocess.Popen([str(arg) for arg in argv], user=NOBODY, group=NOBODY, extra_groups=[],
                                 cwd=cwd or self.folder, stdout=subprocess.DEVNULL)  # fmt: skip
        self.running.append(popen)
        return popen

    def burning(self, *argv, **how):
        popen = self.run(*argv, **how)
        wait_burned(popen.pid, seconds=0.1)
        return popen

    def remove(self):
        for popen in self.running:
            popen.kill()
        for popen in self.running:
            popen.wait()
        for hanging in self.hanging:
            hanging.__exit__()
        for path in self.left:
            path.unlink(missing_ok=True)

    # what they do

    def with_slow_debug_file(self, name):
        """It names a debug file of 4 GiB, without a byte on the disk."""
        link = self.file("x.debug", b"nothing")
        path = self.build(name, BURN + "int main(int argc, char **argv) { for (;;) burn(argc); }")
        subprocess.run(["objcopy", f"--add-gnu-debuglink={link}", path], check=True, cwd=self.folder)
        os.truncate(link, 4 << 30)
        (self.folder / ".debug").mkdir(exist_ok=True)
        os.link(link, self.folder / ".debug/x.debug")
        return self.burning(path)

    def with_many_mappings(self, name, count, files=1):
        """64,000 each, of one file whose path is as long as a path may be, or of two in turn."""
        path = self.build(name, MAPPER)
        before = os.open(".", os.O_PATH)
        try:
            os.chdir(self.folder)
            room = 3800 - len(str(self.folder))
            while room > 200:
                os.mkdir("d" * 199)
                os.chdir("d" * 199)
                room -= 200
            names = [f"mapped{i % files}" for i in range(2)]
            for mapped in names:
                Path(mapped).write_bytes(b"\x90" * 4096)
            paths = [f"{os.getcwd()}/{mapped}" for mapped in names]
        finally:
            os.fchdir(before)
            os.close(before)
        return [self.burning(path, *paths) for _ in range(count)]

    def with_large_perf_maps(self, path, count):
        """One file of 260 MB of line ends, which each has as its own; they burn in code that they made."""
        large = Path(f"/tmp/stackprobe-e2e-{os.getpid()}.map")
        self.left.append(large)
        with large.open("wb") as out:
            for _ in range(260):
                out.write(b"\n" * 1_000_000)
        os.chown(large, NOBODY, NOBODY)
        copy = self.folder / path.name
        shutil.copy(path, copy)
        made = [self.burning(copy, "leaf", 100) for _ in range(count)]
        for popen in made:
            link = Path(f"/tmp/perf-{popen.pid}.map")
            self.left.append(link)
            os.link(large, link)
        return made

    def in_hanging_folder(self, name, count):
        """As many programs, each in a file of its own whose file system answers no more once they run."""
        (self.folder / "hanging").mkdir()
        nap = "#include <unistd.h>\n" + BURN + "int main(int argc, char **argv) { for (;;) burn(argc), usleep(300000); }"
        content = self.build(name, nap).read_bytes()
        names = [f"{name}{i}" for i in range(count)]
        try:
            hanging = HangingFolder(self.folder / "hanging", name, content, None, names, NOBODY, later=True)
            self.hanging.append(hanging.__enter__())
        except OSError as error:
            pytest.skip(f"no FUSE: {error}")
        made = [self.run(self.folder / "hanging" / each) for each in names]
        wait_burned(*(popen.pid for popen in made), seconds=0.01)
        hanging.hang()
        return made

    def with_dear_names(self, name, count):
        """Its functions call each other, each with a Rust name of which the parts are doubled 17 times."""
        functions = []
        for i in range(count):
            before = "burn" if i == 0 else f"f{i - 1}"
            functions.append(f'__attribute__((noinline)) long f{i}(long n) __asm__("{rust_bomb(i)}");\n'
                             f"long f{i}(long n) {{ return {before}(n) + {i}; }}\n")  # fmt: skip
        main = f"int main(int argc, char **argv) {{ for (;;) f{count - 1}(argc); }}"
        flags = ("-fno-optimize-sibling-calls", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-icf")
        return self.burning(self.build(name, BURN + "".join(functions) + main, *flags))


def base62(value):
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    if value:
        value -= 1
        while True:
            text = digits[value % 62] + text
            value //= 62
            if not value:
                break
    return text + "_"


def rust_bomb(number):
    """A v0 symbol: tuples that hold the one before twice, 17 times (test_demangle.c has it in C)."""
    text, last = f"_RINvC1a5b{number:04}", 0
    for _ in range(17):
        at = len(text) - 2
        part = f"B{base62(last)}" if last else "j"
        text += f"T{part}{part}E"
        last = at
    return text + "E"


class Innocent(Program):
    """A program of root's, new each time, in whose stacks are its own functions and the C library's."""

    def __init__(self, folder, name):
        path = folder / name
        (folder / f"{name}.c").write_text(INNOCENT)
        subprocess.run([compiler(), "-O1", "-o", path, folder / f"{name}.c"], check=True)
        self.popen = subprocess.Popen([path])
        wait_burned(self.popen.pid, seconds=0.1)

    def profile(self, profiler, seconds=1):
        """In time, and with all its names."""
        began = time.monotonic()
        answer = profiler.get(f"/flamegraph/oncpu.folded?pid={self.pid}&seconds={seconds}", timeout=100)
        took = time.monotonic() - began
        assert answer.status == 200, answer.text
        profile = Profile(answer.text)
        assert profile.total("main", "sort_all", pid=self.pid) >= 0.8 * profile.total(pid=self.pid), answer.text
        nameless = {frame for frame in profile.frames(self.pid) if re.fullmatch(r"\[[a-z][\w.-]*\]", frame)}
        assert not nameless, (nameless, counted(profiler, "symbols_lost"))
        assert took <= seconds + EXTRA_SECONDS, f"took {took:.1f} s"
        return took


def most_resident_kb(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def counted(profiler, what):
    """Of a map by cause in GET's status: those that aren't 0."""
    return {cause: count for cause, count in profiler.config()["status"][what].items() if count}

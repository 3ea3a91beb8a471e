#!/usr/bin/env python3
"""Real programs, which nobody wrote for a profiler: how much of their stacks is whole, beside perf.

    check.py [NAME …]        prints a table, a row for each program; as root

Each program is run and recorded by `stackprobe record` from a cold start, and for a part of that time
by `perf record --call-graph dwarf` as well. What isn't installed is a row that names its package.

whole: samples whose stack reaches its root. late: cut because tables or mappings weren't there yet.
unnamed: frames of user code that are [module+0x…]. twice: frames equal to their caller, by weight.
perf: its samples whose last frame is a root by its name.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
STACKPROBE = os.environ.get("STACKPROBE_BIN", ROOT / "build/stackprobe")
SECONDS, HZ = 8, 199
LATE = ("table_pending", "runtime_pending", "unmapped", "exec", "exiting")
ROOTS = re.compile(r"^(_start|__libc_start\w*|clone3?|__clone3?|start_thread|main|_dl_start|ret_from_fork.*"
                   r"|make_fcontext|runtime\.(goexit|mcall|mstart).*|thread_start|\[unknown\] \[kernel.*)$")  # fmt: skip
BURN_PY = "import sys\nwhile True:\n    sorted(range(20000), key=lambda n: -n); list(map(str, range(5000)))\n"
C_SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
	static int numbers[20000]; static char text[1 << 16];
	for (;;) {
		for (int i = 0; i < 20000; i++) numbers[i] = rand();
		qsort(numbers, 20000, sizeof(int), by_value);
		for (int i = 0; i < 3000; i++) snprintf(text, sizeof(text), "%d %f", i, i * .5);
		free(memset(malloc(1 << 16), 1, 1 << 16));
	}
}
"""
COROUTINE = """#include <boost/coroutine2/all.hpp>
#include <cmath>
using coroutine = boost::coroutines2::coroutine<double>;
__attribute__((noinline)) double work(int n) { double s = 0; for (int i = 1; i < n; i++) s += std::sqrt(i); return s; }
int main() {
	coroutine::pull_type one([](coroutine::push_type &to) { for (;;) to(work(3000)); });
	double sum = 0;
	for (;;) { sum += one.get() + work(1000); one(); if (sum < 0) return 1; }
}
"""
MANY = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" + "".join(
    f"int f{i}(int n) {{ int s = 0; for (int j = 0; j < n; j++) s += j * {i} ^ (s >> 3); return s; }}\n"
    for i in range(60)
)


def program(work, name, source, compiler, *flags, suffix=".c"):
    if not shutil.which(compiler):
        return None
    path = work / name
    path.with_suffix(suffix).write_text(source)
    r = subprocess.run([compiler, "-O2", *flags[:-1], "-o", path, path.with_suffix(suffix), flags[-1]] if flags
                       else [compiler, "-O2", "-o", path, path.with_suffix(suffix)],
                       capture_output=True, check=False)  # fmt: skip
    return None if r.returncode else [path]


def installed(*argv):
    return list(argv) if shutil.which(argv[0]) else None


def narrow(work):
    """The C program as a 32-bit one, which needs nothing of the compiler's own library."""
    files = [subprocess.run(["gcc", "-m32", f"-print-file-name={name}"], text=True, stdout=subprocess.PIPE,
                            check=True).stdout.strip() for name in ("Scrt1.o", "crti.o", "crtn.o")]  # fmt: skip
    if not files[0].startswith("/"):
        return None
    (work / "narrow.c").write_text(C_SOURCE)
    subprocess.run(["gcc", "-m32", "-O2", "-nostdlib", "-o", work / "narrow", *files[:2], work / "narrow.c", "-lc",
                    files[2]], check=True)  # fmt: skip
    return [str(work / "narrow")]


def llvm_jit(work):
    source, code = work / "jit.c", work / "jit.ll"
    source.write_text(C_SOURCE)
    if not shutil.which("lli") or not shutil.which("clang"):
        return None
    subprocess.run(["clang", "-O2", "-fomit-frame-pointer", "-S", "-emit-llvm", "-o", code, source], check=True)
    return ["lli", "--jit-kind=mcjit", str(code)]


def compile_many(work):
    for i in range(40):
        (work / f"m{i}.c").write_text(MANY)
    (work / "Makefile").write_text("all: $(patsubst %.c,%.o,$(wildcard m*.c))\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")
    return ["sh", "-c", f"while :; do rm -f {work}/m*.o; make -s -C {work} -j2 all; done"]


def big_file(work):
    path = work / "big"
    with path.open("wb") as file:
        for _ in range(200):
            file.write(os.urandom(1 << 19) * 2)
    return path


def chromium(work):
    page = work / "page.html"
    page.write_text("<body><script>function f(n){let s='';for(let i=0;i<n;i++){let d=document.createElement('p');"
                    "d.textContent=i;document.body.append(d);s+=d.offsetTop}document.body.innerHTML='';return s}"
                    "setInterval(()=>f(300),1)</script>")  # fmt: skip
    return installed("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work}/c",
                     "--remote-debugging-port=0", f"file://{page}")  # fmt: skip


PROGRAMS = {
    "C, glibc": (lambda w: program(w, "plain", C_SOURCE, "gcc"), "gcc"),
    "C, 32-bit": (narrow, "libc6-dev-i386"),
    "C, musl static": (lambda w: program(w, "musl_static", C_SOURCE, "musl-gcc", "-static"), "musl-tools"),
    "the same, stripped": (lambda w: program(w, "musl_bare", C_SOURCE, "musl-gcc", "-static", "-s"), "musl-tools"),
    "C, musl": (lambda w: program(w, "musl", C_SOURCE, "musl-gcc", "-g0"), "musl-tools"),
    "C without CFI": (lambda w: program(w, "bare", C_SOURCE, "gcc", "-fno-asynchronous-unwind-tables",
                                        "-fomit-frame-pointer"), "gcc"),
    "boost.coroutine2": (lambda w: program(w, "coroutine", COROUTINE, "g++", "-lboost_context", suffix=".cc"),
                         "libboost-coroutine-dev"),
    "ffmpeg, x264": (lambda w: installed("ffmpeg", "-v", "quiet", "-f", "lavfi", "-i",
                                         "testsrc2=s=1280x720:r=30", "-c:v", "libx264", "-f", "null", "-"), "ffmpeg"),
    "LuaJIT": (lambda w: installed("luajit", "-e", "local s=0 while true do for i=1,1e6 do s=s+i%7 end "
                                   "local t={} for i=1,1e4 do t[i]=tostring(i) end table.sort(t) end"), "luajit"),
    "LuaJIT -joff": (lambda w: installed("luajit", "-joff", "-e", "local s=0 while true do for i=1,1e6 do s=s+i%7 "
                                         "end local t={} for i=1,1e4 do t[i]=tostring(i) end table.sort(t) end"),
                     "luajit"),
    "LLVM's MCJIT": (llvm_jit, "clang llvm"),
    "QEMU": (lambda w: installed("qemu-system-arm", "-M", "virt", "-display", "none", "-serial", "none", "-monitor",
                                 "none"), "qemu-system-arm"),
    "Chromium": (chromium, "chromium"),
    "Node.js": (lambda w: installed("node", "--perf-basic-prof", "-e",
                                    "for(;;){JSON.parse(JSON.stringify([...Array(9999).keys()].map(String).sort()))}"),
                "nodejs"),
    "Python": (lambda w: installed("/usr/bin/python3", "-c", BURN_PY), "python3"),
    "Perl": (lambda w: installed("perl", "-e", "while(1){my %h=map{$_=>1}1..9999;my @s=sort keys %h}"), "perl"),
    "openssl": (lambda w: installed("openssl", "speed", "-seconds", "20", "rsa2048"), "openssl"),
    "xz": (lambda w: installed("xz", "-9", "-c", "-k", str(big_file(w))), "xz-utils"),
    "gcc, make -j2": (compile_many, "gcc make"),
}  # fmt: skip


def descendants(pid):
    of = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            of.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        children = of.get(left.pop(), [])
        found += children
        left += children
    return found


def perf(pids, work):
    """(samples, share that is whole) or None."""
    data = work / "perf.data"
    if not shutil.which("perf") or not pids:
        return None
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "--call-graph", "dwarf", "-o", data,
                    "-p", ",".join(map(str, pids)), "--", "sleep", str(SECONDS // 3)],
                   capture_output=True, check=False)  # fmt: skip
    text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], capture_output=True, text=True,
                          check=False).stdout  # fmt: skip
    stacks = [block.strip().splitlines() for block in text.split("\n\n") if block.strip()]
    last = [stack[-1].strip().partition(" ")[2] for stack in stacks]
    return len(stacks), sum(bool(ROOTS.match(name)) for name in last) / max(1, len(stacks))


def read_folded(path):
    for line in path.read_text(errors="replace").splitlines():
        stack, _, value = line.rpartition(" ")
        yield stack.split(";")[1:], int(value)


def user(frames):
    return [f for f in frames if not f.endswith("_[k]") and f != "[truncated]"]


def judge(path, message):
    seen = SimpleNamespace(total=0, cut=0, frames=0, unnamed=0, twice=0)
    for frames, value in read_folded(path):
        seen.total += value
        seen.cut += value * ("[truncated]" in frames)
        own = user(frames)
        seen.frames += value * len(own)
        seen.unnamed += value * sum(bool(re.match(r"\[.*\+0x|\[unknown\]", f)) for f in own)
        seen.twice += value * sum(a == b for a, b in zip(own, own[1:]))
    causes = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", message.partition("truncated")[2])}
    return seen, causes


def check(name):
    make, package = PROGRAMS[name]
    with tempfile.TemporaryDirectory(prefix="check-real-") as folder:
        work = Path(folder)
        argv = make(work)
        if not argv:
            return f"| {name} | not installed ({package}) | | | | |"
        out = work / "out.folded"
        said = work / "said"
        with said.open("w") as to:
            recording = subprocess.Popen([STACKPROBE, "record", "-F", str(HZ), "-d", str(SECONDS), "-o", out, "--",
                                          *argv], stdout=subprocess.DEVNULL, stderr=to,
                                         start_new_session=True)  # fmt: skip
        time.sleep(SECONDS / 3)
        beside = perf([p for p in descendants(recording.pid)][:50], work) if "make" not in name else None
        try:
            recording.wait(timeout=SECONDS * 4)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(recording.pid, signal.SIGKILL)
        message = said.read_text()
        seen, causes = judge(out, message)
        if os.environ.get("VERBOSE"):
            print(message, file=sys.stderr)
        late = sum(n for cause, n in causes.items() if cause in LATE)
        total = max(1, seen.total)
        return (f"| {name} | {seen.total} | {100 * (1 - seen.cut / total):.2f} % | "
                f"{100 * (1 - max(0, seen.cut - late) / total):.2f} % | "
                f"{100 * seen.unnamed / max(1, seen.frames):.1f} % | {100 * seen.twice / max(1, seen.frames):.1f} % | "
                f"{f'{100 * beside[1]:.0f} % of {beside[0]}' if beside else ''} |")  # fmt: skip


def main():
    names = sys.argv[1:] or list(PROGRAMS)
    print("| program | samples | whole | whole but for late ones | unnamed frames | twice in a row | whole for perf |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        print(check(name), flush=True)


if __name__ == "__main__":
    main()

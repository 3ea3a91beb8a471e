"""Which processes have a CPython, whichever way it came into them."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import by_name_alone, wait_burned, wait_for
from python_processes import (
    FOR_LONG, PROGRAM, is_shared, linked, of_this_root, python_share, script, version_text, wait_runtime,
)  # noqa: F401 (fixtures)


def test_running_before_it_was_chosen(profiler, start, python, script):
    target = start(Path(python.path), script(FOR_LONG))
    wait_for(lambda: target.cpu_ns_now() > 2e8)
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(python))
    wait_burned(target.pid, seconds=0.5)
    share, total = python_share(profiler.folded(), target.pid)
    assert total >= 10 and share > 0.99, (share, total)
    assert profiler.folded().total("outer (prog.py:6)_[p]", pid=target.pid) > 0
    status = profiler.config()["status"]["python"]
    assert status["processes"] == 1 and status["unsupported"] == 0 and status["code_objects"] > 0
    assert not any(status["lost"].values()), status
    lines = profiler.get("/metrics").text
    version = ".".join(map(str, python.version))
    assert f'stackprobe_python_processes{{version="{version}",supported="true"}} 1' in lines
    assert 'stackprobe_python_code_objects_lost_total{cause="gone"} 0' in lines


def test_started_afterwards(profiler, copy, start, python, script):
    comm = "py" + re.sub(r"\W", "", python.name)
    profiler.profile(f"^{comm}$")
    target = start(Path(python.path), script(
        f"open('/proc/self/comm', 'w').write('{comm}')\n" + FOR_LONG))  # fmt: skip
    wait_runtime(profiler, target.pid, version_text(python))
    wait_burned(target.pid, seconds=3)
    share, total = python_share(profiler.folded(), target.pid)
    assert total >= 10 and share > 0.9, (share, total)  # but for the first moment


def test_forked_and_execed(profiler, start, python, script, work):
    target = start(Path(python.path), script(PROGRAM + """
children = []
for how in "stays", "execs":
    pid = os.fork()
    if pid == 0:
        if how == "execs":
            while not os.path.exists(sys.argv[1]):
                time.sleep(0.01)
            os.execv("/bin/sh", ["sh", "-c", "while :; do :; done"])
        run(60)
    children.append(pid)
print(children, flush=True)
run(60)
"""), work / "go")
    try:
        stays, execs = target.first_line()
        profiler.profile(pids=[target.pid, stays, execs])
        for pid in target.pid, stays, execs:
            wait_runtime(profiler, pid, version_text(python))
        (work / "go").touch()
        wait_for(lambda: Path(f"/proc/{execs}/comm").read_text().strip() == "sh")
        profiler.profile(pids=[target.pid, stays, execs])
        wait_runtime(profiler, execs, "native")
        wait_runtime(profiler, stays, version_text(python))
    finally:
        for pid in stays, execs:
            os.kill(pid, 9)


def test_a_fork_while_it_runs_is_walked_from_its_first_sample(profiler, start, python, script, work):
    go = work / "go"
    target = start(Path(python.path), script(PROGRAM + """
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for _ in range(20):
    if os.fork() == 0:
        run(0.1)
        os._exit(0)
    os.wait()
print("{}", flush=True)
time.sleep(60)
"""), go)
    comm = Path(f"/proc/{target.pid}/comm").read_text().strip()
    profiler.profile({"comm": f"^{comm}$", "cmdline": str(work)})
    wait_runtime(profiler, target.pid, version_text(python))
    go.touch()
    wait_for(lambda: target.log.read_text(), 60)
    profile = profiler.folded()
    children = profile.pids - {target.pid}
    assert len(children) > 15, children
    named = sum(python_share(profile, pid)[0] * python_share(profile, pid)[1] for pid in children)
    total = sum(python_share(profile, pid)[1] for pid in children)
    assert named / total > 0.97, (named, total)


def test_one_that_exits_keeps_its_names(profiler, start, python, script, work):
    text = "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\nrun(0.5)\n"
    target = start(Path(python.path), script(PROGRAM + text), work / "go")
    wait_for(lambda: target.cpu_ns_now() > 1e7)
    profiler.profile(pids=[target.pid])
    (work / "go").touch()
    target.reap()
    share, total = python_share(profiler.folded(), target.pid)
    assert total >= 10 and share > 0.8, (share, total)  # its begin and its end are native
    assert profiler.folded().total("outer (prog.py:6)_[p]", pid=target.pid) > 0


def test_short_ones(profiler, python, script, work):
    """Each lives for 50 ms after its start."""
    comm = "sh" + re.sub(r"\W", "", python.name)
    exe = work / comm
    exe.symlink_to(os.path.realpath(python.path))
    text = PROGRAM + "run(0.05)\n"
    path = script(text)
    profiler.profile(by_name_alone(f"^{comm}$"))
    environment = {**os.environ, "PYTHONHOME": str(Path(python.path).parent.parent)}
    for _ in range(15):
        subprocess.run([exe, "-S", path], check=True, env=environment)
    profile = profiler.folded()
    ours = [s for s in profile.stacks if any("outer (" in f for f in s.frames)]
    assert sum(s.value for s in ours) > 10, profile.stacks[:5]
    status = profiler.config()["status"]["python"]
    unnamed = sum(s.value for s in profile.stacks if "[python]" in s.frames)
    assert unnamed <= 0.02 * sum(s.value for s in profile.stacks), status


def test_a_script_called_by_a_link(profiler, start, python, work):
    """Its own name is the link's; what it imports lies in the folder that the link leads to."""
    for folder in "app", "bin":
        (work / folder).mkdir()
    (work / "app" / "helper.py").write_text(PROGRAM)
    (work / "app" / "run.py").write_text("import helper\nhelper.run(60)\n")
    (work / "bin" / "tool").symlink_to("../app/run.py")
    target = start(Path(python.path), work / "bin" / "tool")
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(python))
    wait_burned(target.pid, seconds=0.5)
    frames = profiler.folded().frames(target.pid)
    assert "outer (helper.py:6)_[p]" in frames, [f for f in frames if f.endswith("_[p]")]
    assert "<module> (tool:2)_[p]" in frames, frames


def test_processes_that_run_the_same_code(profiler, start, python, work):
    """What it says is kept once; each has the file's name as its own script's folder makes it."""
    for folder in "first", "second":
        (work / folder).mkdir()
        (work / folder / "run.py").write_text("import sys\nsys.path.append(sys.argv[1])\n"
                                              "import helper\nhelper.run(60)\n")
    (work / "first" / "helper.py").write_text(PROGRAM)
    targets = [start(Path(python.path), work / folder / "run.py", work / "first")
               for folder in ("first", "second")]
    profiler.profile(pids=[target.pid for target in targets])
    for target in targets:
        wait_runtime(profiler, target.pid, version_text(python))
    wait_burned(*(target.pid for target in targets), seconds=1)
    profile = profiler.folded()
    first, second = (profile.frames(target.pid) for target in targets)
    assert "outer (helper.py:6)_[p]" in first, first
    assert f"outer ({work}/first/helper.py:6)_[p]" in second, second
    status = profiler.config()["status"]["python"]
    # run, outer, inner and its generator are the same; the scripts are not.
    assert status["read"] >= 10 and status["code_objects"] <= status["read"] - 4, status


def test_one_that_comes_into_a_running_program(profiler, python, work):
    """dlopen() when it is sampled already."""
    library = linked(python)
    if not is_shared(python):
        pytest.skip("the interpreter is in the program")
    (work / "opens.c").write_text(r"""
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	while (access(argv[argc - 3], F_OK))
		;
	void *python = dlopen(argv[argc - 2], RTLD_NOW | RTLD_GLOBAL);
	void (*begin)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
	int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
	begin();
	return run(argv[argc - 1]);
}
""")
    subprocess.run(["cc", "-O2", work / "opens.c", "-o", work / "opens", "-ldl"], check=True)
    environment = {**os.environ, "PYTHONHOME": str(library.parent.parent)}
    popen = subprocess.Popen([work / "opens", work / "go", library, FOR_LONG], env=environment)
    try:
        profiler.profile(pids=[popen.pid])
        wait_runtime(profiler, popen.pid, "native")
        (work / "go").touch()
        wait_runtime(profiler, popen.pid, version_text(python))
        wait_burned(popen.pid, seconds=0.5)
        assert profiler.folded().total("outer (<string>:6)_[p]", pid=popen.pid) > 0
    finally:
        popen.kill()
        popen.wait()


def test_what_is_no_python_is_native(profiler, start):
    target = start("spin", 30)
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, "native")
    status = profiler.config()["status"]["python"]
    assert status["processes"] == 0 and status["code_objects"] == 0, status


def test_this_one(profiler):
    """The Python that runs the tests, whatever it is."""
    profiler.profile(pids=[os.getpid()])
    version = ".".join(map(str, sys.version_info[:3]))
    wait_runtime(profiler, os.getpid(), f"python {version}")

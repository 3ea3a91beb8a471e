"""Which processes have a CPython, whichever way it came into them."""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import Target, wait_burned, wait_for

PROGRAM = """
import os, sys, time
def inner():
    return sum(i * i for i in range(20000))
def outer():
    inner()
def run(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        outer()
"""
FOR_LONG = PROGRAM + "run(60)\n"


@pytest.fixture(autouse=True)
def of_this_root(request):
    """Programs and libraries are moved about here: not in the roots of other systems."""
    if "python" in request.fixturenames and request.getfixturevalue("python").root != Path("/"):
        pytest.skip("it lies in another root")


@pytest.fixture
def script(work):
    def write(text, name="prog.py"):
        (work / name).write_text(text)
        return work / name

    return write


def linked(python):
    """The libpython that this Python's program has mapped, or the program itself."""
    asked = "print(open('/proc/self/maps').read())"
    maps = subprocess.run([python.path, "-c", asked], capture_output=True, text=True, check=True)
    found = re.search(r" (/\S*libpython3\.\d+\S*\.so\S*)", maps.stdout)
    return Path(found[1]) if found else Path(os.path.realpath(python.path))


def is_shared(python):
    return ".so" in linked(python).name


def version_text(python):
    return "python " + ".".join(map(str, python.version))


def wait_runtime(profiler, pid, wanted, seconds=10):
    wait_for(lambda: profiler.processes().get(pid, {}).get("runtime") == wanted, seconds,
             why=f"{wanted} in {profiler.processes()}")  # fmt: skip


def python_share(profile, pid=None):
    """How many of the samples have Python frames, all of them named."""
    total = named = 0
    for stack in profile.of(pid):
        total += stack.value
        texts = [f for f in stack.frames if f.endswith("_[p]") or f == "[python]"]
        named += stack.value if texts and "[python]" not in texts else 0
    return named / max(total, 1), total


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
    wait_burned(target.pid, seconds=1)
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
        assert profiler.processes()[stays]["runtime"] == version_text(python)
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
    profiler.profile(f"^{comm}$")
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


def patch(path, version, other):
    """The file's version bytes, as a text and as PY_VERSION_HEX."""
    data = path.read_bytes()
    text = ".".join(map(str, version)).encode()
    assert len(other) == len(text)
    hexed = bytes([0xF0, version[2], version[1], 3])
    other_hexed = bytes([0xF0, int(other.split(b".")[2]), int(other.split(b".")[1]), 3])
    data = data.replace(b"\0" + text + b"\0", b"\0" + other + b"\0").replace(hexed, other_hexed)
    path.write_bytes(data)


def shared_copy(python, folder, name):
    """Its libpython as folder/name; the environment in which its program takes that."""
    folder.mkdir(exist_ok=True)
    library = linked(python)
    shutil.copy(library, folder / name)
    if name != library.name:
        (folder / library.name).symlink_to(name)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def launched(work, environment, *argv):
    words = ["env", *(f"{key}={environment[key]}" for key in ("LD_LIBRARY_PATH",)), *argv]
    return Target(words, work / "launched.log")


def test_an_unsupported_version_is_said(profiler, python, script, work):
    if not is_shared(python):
        pytest.skip("the interpreter is in the program")
    if python.version[1] < 11 or python.version[1] > 12:
        pytest.skip("its version is told otherwise")
    environment = shared_copy(python, work / "lib", linked(python).name)
    other = f"3.{python.version[1] + 30}.{python.version[2]}"
    patch(work / "lib" / linked(python).name, python.version, other.encode())
    target = launched(work, environment, python.path, script(FOR_LONG))
    try:
        wait_for(lambda: target.cpu_ns_now() > 5e8)
        profiler.profile(pids=[target.pid])
        wait_runtime(profiler, target.pid, f"python {other}: unsupported version")
        wait_burned(target.pid, seconds=0.5)
        profile = profiler.folded()
        assert not any(f.endswith("_[p]") for f in profile.frames(target.pid))
        assert profile.total("_PyEval_EvalFrameDefault", pid=target.pid) > 0
        assert profiler.config()["status"]["python"]["unsupported"] == 1
        assert f'{{version="{other}",supported="false"}} 1' in profiler.get("/metrics").text
    finally:
        target.kill()


def test_a_library_of_another_name(profiler, python, script, work):
    if not is_shared(python):
        pytest.skip("the interpreter is in the program")
    environment = shared_copy(python, work / "lib", "engine.bin")
    target = launched(work, environment, python.path, script(FOR_LONG))
    try:
        wait_for(lambda: target.cpu_ns_now() > 2e8)
        assert "/engine.bin" in Path(f"/proc/{target.pid}/maps").read_text()
        profiler.profile(pids=[target.pid])
        wait_runtime(profiler, target.pid, version_text(python))
        wait_burned(target.pid, seconds=0.5)
        share, total = python_share(profiler.folded(), target.pid)
        assert total >= 10 and share > 0.99, (share, total)
    finally:
        target.kill()


def test_an_interpreter_without_unwind_tables(profiler, start, python, script, work):
    if is_shared(python):
        pytest.skip("the interpreter is in a library")
    bare = work / "bare"
    sections = ("--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr")
    subprocess.run(["objcopy", *sections, linked(python), bare], check=True)
    target = start(bare, script(FOR_LONG))
    wait_for(lambda: target.cpu_ns_now() > 2e8)
    profiler.profile(pids=[target.pid])
    wait_runtime(profiler, target.pid, version_text(python))
    wait_burned(target.pid, seconds=0.5)
    share, total = python_share(profiler.folded(), target.pid)
    assert total >= 10 and share > 0.9, (share, total)
    assert profiler.folded().total("outer (prog.py:6)_[p]", pid=target.pid) > 0


EMBEDS = r"""
#include <Python.h>
int main(int argc, char **argv)
{
	(void)argc;
	Py_Initialize();
	PyRun_SimpleString(argv[1]);
	return Py_FinalizeEx();
}
"""


def test_an_embedded_one(profiler, python, work):
    library = linked(python)
    if not is_shared(python) or not Path(python.include, "Python.h").exists():
        pytest.skip("no libpython or no headers")
    (work / "embeds.c").write_text(EMBEDS)
    subprocess.run(["cc", "-O2", "-I", python.include, work / "embeds.c", "-o", work / "embeds",
                    library, f"-Wl,-rpath,{library.parent}"], check=True)  # fmt: skip
    environment = {**os.environ, "PYTHONHOME": str(library.parent.parent)}
    log = work / "embeds.log"
    with log.open("wb") as out:
        popen = subprocess.Popen([work / "embeds", FOR_LONG], env=environment, stdout=out, stderr=out)
    try:
        wait_burned(popen.pid, seconds=0.2)
        profiler.profile(pids=[popen.pid])
        wait_runtime(profiler, popen.pid, version_text(python))
        wait_burned(popen.pid, seconds=0.5)
        assert popen.poll() is None, log.read_text()
        share, total = python_share(profiler.folded(), popen.pid)
        assert total >= 10 and share > 0.99, (share, total)
        assert profiler.folded().total("outer (<string>:6)_[p]", pid=popen.pid) > 0
    finally:
        popen.kill()
        popen.wait()


def embedded_static(python, work, build_id=True):
    """A program with the whole interpreter inside, which exports nothing."""
    asked = "import sysconfig as s; print(s.get_config_var('LIBPL'), s.get_config_var('LDVERSION'))"
    told = subprocess.run([python.path, "-c", asked], capture_output=True, text=True, check=True)
    folder, version = told.stdout.split()
    archive = Path(folder, f"libpython{version}.a")
    if not archive.exists() or not Path(python.include, "Python.h").exists():
        pytest.skip("no libpython.a or no headers")
    (work / "embeds.c").write_text(EMBEDS)
    built = subprocess.run(
        ["cc", "-O2", "-Wl,--build-id" + ("" if build_id else "=none"), "-I", python.include,
         work / "embeds.c", "-o", work / "embeds", archive,
         *"-ldl -lm -lutil -lpthread -lz -lexpat".split()], capture_output=True)  # fmt: skip
    if built.returncode:
        pytest.skip("libpython.a wants libraries that aren't here")
    return work / "embeds"


def strip_to(exe, folder):
    """Its symbols into the folder, by build id."""
    notes = subprocess.run(["readelf", "-n", exe], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    debug = folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", exe, debug], check=True)
    subprocess.run(["strip", exe], check=True)


@pytest.mark.parametrize("symbols", ["inside", "apart", "nowhere"])
def test_one_inside_a_program_that_exports_nothing(profiler, python, work, symbols):
    exe = embedded_static(python, work)
    if symbols != "inside":
        strip_to(exe, work / "debug")
    environment = {**os.environ, "PYTHONHOME": str(Path(python.include).parent.parent)}
    log = work / "embeds.log"
    with log.open("wb") as out:
        popen = subprocess.Popen([exe, FOR_LONG], env=environment, stdout=out, stderr=out)
    try:
        wait_burned(popen.pid, seconds=0.2)
        folder = str(work / "debug") if symbols == "apart" else ""
        profiler.profile({"comm": "^embeds$", "cmdline": str(work), "debugging_dir": folder})
        wanted = "native" if symbols == "nowhere" else version_text(python)
        wait_runtime(profiler, popen.pid, wanted)
        wait_burned(popen.pid, seconds=0.5)
        assert popen.poll() is None, log.read_text()
        profile = profiler.folded()
        seen = profile.total("outer (<string>:6)_[p]", pid=popen.pid)
        assert (seen == 0) == (symbols == "nowhere"), profile.frames(popen.pid)
    finally:
        popen.kill()
        popen.wait()


def strip_and_link(exe, debug):
    """Its symbols into that file, of which it has the name and the checksum."""
    subprocess.run(["objcopy", "--only-keep-debug", exe, debug], check=True)
    subprocess.run(["strip", exe], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", exe], check=True)


def caged(folder, *argv):
    """In a root of its own, with this system's folders and the test's program."""
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("no mount namespace can be made here (a chroot whose / is no mount?)")
    folders = [path for path in ("usr", "root", "home", "opt", "proc", "dev") if Path("/", path).is_dir()]
    for path in folders:
        (folder / path).mkdir()
    for path in ("lib", "lib64", "bin"):
        if Path("/", path).is_symlink():
            (folder / path).symlink_to(f"usr/{path}")
    mounts = " && ".join(f'mount --rbind "/{path}" "{folder}/{path}"' for path in folders)
    return ["unshare", "-m", "sh", "-c", f'{mounts} && exec chroot "{folder}" "$@"', "sh", *argv]


@pytest.mark.parametrize("where", ["beside", "another", "caged"])
def test_one_whose_debug_file_is_named_by_a_link(profiler, python, work, where):
    """The link's checksum tells whether it is the program's, also in a container's own folders."""
    exe = embedded_static(python, work, build_id=False)
    folder = work / "cage"
    (folder / "srv" / ".debug").mkdir(parents=True)
    shutil.move(exe, folder / "srv" / "embeds")
    exe = folder / "srv" / "embeds"
    debug = folder / "srv" / ".debug" / "embeds.debug"
    strip_and_link(exe, debug)
    if where == "another":
        with debug.open("ab") as file:
            file.write(b"more")
    argv = caged(folder, "/srv/embeds", FOR_LONG) if where == "caged" else [exe, FOR_LONG]
    environment = {**os.environ, "PYTHONHOME": str(Path(python.include).parent.parent)}
    log = work / "embeds.log"
    with log.open("wb") as out:
        popen = subprocess.Popen(argv, env=environment, stdout=out, stderr=out)
    try:
        wait_for(lambda: Path(f"/proc/{popen.pid}/comm").read_text() == "embeds\n",
                 why=log.read_text)  # fmt: skip
        profiler.profile(pids=[popen.pid])
        if where == "another":
            time.sleep(3)
            assert profiler.processes()[popen.pid]["runtime"] == "native"
            return
        wait_runtime(profiler, popen.pid, version_text(python))
        wait_burned(popen.pid, seconds=0.5)
        assert popen.poll() is None, log.read_text()
        assert profiler.folded().total("outer (<string>:6)_[p]", pid=popen.pid) > 0
    finally:
        popen.kill()
        popen.wait()


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
        assert profiler.processes()[popen.pid]["runtime"] == "native"
        (work / "go").touch()
        wait_runtime(profiler, popen.pid, version_text(python), 20)
        wait_burned(popen.pid, seconds=0.5)
        assert profiler.folded().total("outer (<string>:6)_[p]", pid=popen.pid) > 0
    finally:
        popen.kill()
        popen.wait()


def test_what_is_no_python_is_native(profiler, start):
    target = start("spin", 30)
    profiler.profile(pids=[target.pid])
    assert profiler.processes()[target.pid]["runtime"] == "native"
    status = profiler.config()["status"]["python"]
    assert status["processes"] == 0 and status["code_objects"] == 0, status


def test_this_one(profiler):
    """The Python that runs the tests, whatever it is."""
    profiler.profile(pids=[os.getpid()])
    version = ".".join(map(str, sys.version_info[:3]))
    wait_runtime(profiler, os.getpid(), f"python {version}")

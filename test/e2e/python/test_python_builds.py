"""CPythons of other builds: another name or version, without tables, inside programs, debug files apart."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from helpers import Target, wait_burned, wait_for
from python_processes import (
    FOR_LONG, is_shared, linked, of_this_root, python_share, script, version_text, wait_runtime,
)  # noqa: F401 (fixtures)


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

"""Attaching to Java VMs, and the agent in them: what is theirs is respected, what they lay in the way
harms nobody, and nothing stays behind."""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import java_symbols
from beside import own_folder
from helpers import BIN, ROOT, wait_for
from java_vm import Vm

ATTACH = BIN.parent / "test/java/attach"
BYTES = 10 << 20
NOBODY = 65534
OTHER = 31337  # a user that nobody has
pytestmark = pytest.mark.usefixtures("vms")


class Attaching:
    """test/java/attach: those VMs, all at once."""

    def __init__(self, *vms, limit_ms=10000, bytes_max=BYTES):
        self.count = len(vms)
        first, *rest = [str(vm.pid) for vm in vms]
        self.popen = subprocess.Popen([ATTACH, first, str(limit_ms), str(bytes_max), *rest],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip

    def answers(self):
        return [json.loads(self.popen.stdout.readline()) for _ in range(self.count)]

    def answer(self):
        return self.answers()[0]

    def say(self, command):
        self.popen.stdin.write(command + "\n")
        self.popen.stdin.flush()
        said = []
        while (line := json.loads(self.popen.stdout.readline())) != {}:
            said.append(line)
        return said

    def done(self):
        """As the daemon ends: agents stop, and what those that were killed left is removed."""
        self.say("stop")
        self.say("clean")
        self.popen.stdin.close()
        self.popen.wait()
        self.popen.stdout.close()


@pytest.fixture
def attaching():
    made = []

    def run(*vms, **how):
        made.append(Attaching(*vms, **how))
        return made[-1]

    yield run
    for one in made:
        one.done()


@pytest.fixture(scope="module")
def neighbour():
    """neighbour(java): a VM that stays, to see whether others are harmed by what one of them does."""
    work, made = own_folder(), {}

    def of(java):
        if java not in made:
            made[java] = Vm(java, work)
        return made[java]

    yield of
    for one in made.values():
        one.kill()
    shutil.rmtree(work)


def assert_attached(answer):
    assert (answer["result"], answer["error"], answer["text"]) == ("done", 0, ""), answer


def test_what_was_compiled_before_is_told_and_what_comes_later(vm, attaching):
    one = vm()
    time.sleep(1)
    attached = attaching(one)
    assert_attached(attached.answer())
    assert one.data.stat().st_mode & 0o777 == 0o700
    names = [path.name for path in one.data.iterdir()]
    assert names == [java_symbols.NAME]  # the agent's own file has gone
    wait_for(lambda: one.has("turn"), 30)
    symbols = one.symbols()
    assert symbols.pid == one.inner
    assert any(code.before for code in symbols.codes)
    code = [c for c in symbols.codes if c.kind == java_symbols.CODE and c.name.name == "turn"][-1]
    assert code.name.class_name == "Ltruth/Attached;" and code.name.signature == "(I)I"
    assert code.name.file == "Attached.java"
    chains = [[method.name for method, _ in chain] for _, chain in code.places]
    assert all(chain[-1] == "turn" for chain in chains)
    assert_attached(attached.say("stop")[0])
    assert one.left() == []


def test_attaching_twice_and_after_a_stop(vm, attaching):
    one = vm()
    attached = attaching(one)
    assert_attached(attached.answer())
    before = (one.data / java_symbols.NAME).stat().st_ino
    assert_attached(attached.say("again")[0])
    assert (one.data / java_symbols.NAME).stat().st_ino == before
    assert_attached(attached.say("stop")[0])
    assert one.left() == []
    assert_attached(attached.say("again")[0])
    wait_for(lambda: one.has("turn"), 30)
    assert_attached(attached.say("stop")[0])
    assert one.left() == []
    assert "SIGSEGV" not in one.log.read_text() and one.alive()


def test_another_reader_keeps_the_agent(vm, attaching):
    one = vm()
    first, second = attaching(one), None
    assert_attached(first.answer())
    second = attaching(one)
    assert_attached(second.answer())
    assert_attached(first.say("stop")[0])
    assert (one.data / java_symbols.NAME).exists()
    assert_attached(second.say("stop")[0])
    assert one.left() == []


def test_another_reader_that_stops_is_waited_for(vm, attaching):
    """It has the folder locked for itself, and takes it away."""
    one = vm()
    one.data.mkdir(mode=0o700)
    fd = os.open(one.data, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    attached = attaching(one)
    time.sleep(1)
    one.data.rmdir()
    os.close(fd)
    assert_attached(attached.answer())
    assert one.data.exists() and one.symbols().codes
    assert_attached(attached.say("stop")[0])
    assert one.left() == []


@pytest.mark.parametrize("folder", ("cwd", "tmp"))
def test_what_an_asking_that_was_killed_left_is_no_hindrance(vm, attaching, folder):
    one = vm()
    left = [(Path(f"/proc/{one.pid}/cwd") if place == "cwd" else one.tmp) / f".attach_pid{one.inner}"
            for place in ("cwd", "tmp")[: 1 + (folder == "tmp")]]  # fmt: skip
    for path in left:
        path.touch()
    attached = attaching(one)
    assert_attached(attached.answer())
    attached.say("stop")
    for path in left:
        if os.path.lexists(path):
            path.unlink()  # that of the folder that wasn't needed
    assert one.left() == []


def test_another_user(vm, attaching, work):
    work.chmod(0o777)
    one = vm(before=("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"))
    attached = attaching(one)
    assert_attached(attached.answer())
    for path in (one.data, one.data / java_symbols.NAME):
        assert (path.stat().st_uid, path.stat().st_gid) == (OTHER, OTHER)
    wait_for(lambda: one.has("turn"), 30)
    assert_attached(attached.say("stop")[0])
    assert one.left() == []


def test_own_namespaces_and_another_user(vm, attaching, work):
    work.chmod(0o777)
    script = ("mount -t tmpfs -o mode=1777 none /tmp && exec setpriv "
              f"--reuid={OTHER} --regid={OTHER} --clear-groups \"$@\"")  # fmt: skip
    one = vm(before=("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"))
    assert one.inner < 100
    attached = attaching(one)
    answer = attached.answer()
    assert_attached(answer)
    assert answer["inner"] == one.inner
    assert not Path(f"/tmp/java-data-{one.inner}").exists()
    wait_for(lambda: one.has("turn"), 30)
    assert one.symbols().pid == one.inner
    assert_attached(attached.say("stop")[0])
    assert one.left() == []


def test_a_user_namespace(vm, attaching):
    one = vm(before=("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"))
    attached = attaching(one)
    assert_attached(attached.answer())
    wait_for(lambda: one.has("turn"), 30)
    assert_attached(attached.say("stop")[0])
    assert one.left() == []


@pytest.mark.parametrize(("mode", "owner", "result"), [
    pytest.param("1777", "0", "done", id="sticky"),
    pytest.param("0755", str(OTHER), "done", id="its own"),
    pytest.param("0777", "0", "folder", id="not sticky"),
    pytest.param("1777", str(NOBODY), "folder", id="another one's"),
])  # fmt: skip
def test_a_tmp_in_which_others_may_replace_it_is_not_used(vm, attaching, work, mode, owner, result):
    """They could have the VM load a library of theirs."""
    work.chmod(0o777)
    script = (f"mount -t tmpfs -o mode={mode},uid={owner} none /tmp && exec setpriv "
              f"--reuid={OTHER} --regid={OTHER} --clear-groups \"$@\"")  # fmt: skip
    one = vm(before=("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"))
    answer = attaching(one).answer()
    assert answer["result"] == result, answer
    assert one.data.exists() == (result == "done")


@pytest.mark.parametrize("how", ("-XX:+DisableAttachMechanism", "JAVA_TOOL_OPTIONS"))
def test_attaching_that_is_turned_off_is_said(vm, attaching, how):
    option = "-XX:+DisableAttachMechanism"
    one = vm(env={**os.environ, how: option}) if how[0] == "J" else vm(option)
    answer = attaching(one).answer()
    assert answer["result"] == "disabled"
    time.sleep(0.2)
    assert "Full thread dump" not in one.log.read_text() and one.left() == []


def test_a_vm_that_does_not_catch_the_signal_is_not_killed_by_it(vm, attaching):
    one = vm("-Xrs")
    assert attaching(one).answer()["result"] == "signals"
    time.sleep(0.2)
    assert one.alive() and one.left() == []


def test_what_is_no_vm_is_left_alone(start, attaching):
    target = start("spin", 1)
    assert attaching(target).answer()["result"] == "no_vm"
    target.finish()


def test_a_vm_that_allows_no_agents_says_so(vm, attaching, java):
    if java.release < 9:
        pytest.skip("JDK 8 has no -XX:-EnableDynamicAgentLoading")
    one = vm("-XX:-EnableDynamicAgentLoading")
    answer = attaching(one).answer()
    assert answer["result"] == "refused" and "EnableDynamicAgentLoading" in answer["text"], answer
    assert one.left() == []


def test_a_vm_that_is_stopped_costs_its_time_only(vm, attaching):
    hung, other = vm(), vm()
    # Threads stop, but its state isn't "stopped" at once for who looks: both answers are right.
    os.kill(hung.pid, signal.SIGSTOP)
    answers = {a["pid"]: a for a in attaching(hung, other, limit_ms=8000).answers()}
    assert_attached(answers[other.pid])
    assert answers[other.pid]["ms"] < answers[hung.pid]["ms"] or answers[hung.pid]["result"] == "stopped"
    assert answers[hung.pid]["result"] in ("stopped", "silent")
    os.kill(hung.pid, signal.SIGCONT)
    assert hung.left() == []


def silent_socket(vm):
    """Somebody listens there who never answers: the VM's own listener is stopped behind it."""
    attached = Attaching(vm)
    attached.answer()
    attached.say("stop")
    attached.done()


def test_an_answer_that_never_comes(vm, attaching):
    """It listens, accepts, and is stopped before it answers."""
    hung, other = vm(), vm()
    silent_socket(hung)
    freezer = subprocess.Popen(["sh", "-c", f"sleep 0.05; kill -STOP {hung.pid}"])
    attached = attaching(hung, other, limit_ms=8000)
    answers = {a["pid"]: a for a in attached.answers()}
    freezer.wait()
    assert_attached(answers[other.pid])
    assert answers[hung.pid]["result"] in ("done", "silent", "stopped")
    os.kill(hung.pid, signal.SIGCONT)
    attached.say("stop")
    assert hung.left() == [] and other.left() == []


def test_one_that_exits_meanwhile(vm, attaching):
    for delay in (0, 0.005, 0.02, 0.05):
        one = vm()
        attached = attaching(one, limit_ms=3000)
        time.sleep(delay)
        one.kill()
        answer = attached.answer()
        assert answer["result"] in ("done", "gone", "silent", "refused", "no_vm", "signals", "system"), answer
        attached.say("clean")
        assert one.left() == [], (delay, answer)


def test_one_that_is_killed_is_cleaned_up_after(vm, attaching):
    one = vm()
    attached = attaching(one)
    assert_attached(attached.answer())
    one.kill()
    assert one.left() != []
    assert_attached(attached.say("clean")[0])
    assert one.left() == []


def test_one_that_ends_by_itself_leaves_nothing(vm, attaching):
    one = vm()
    assert_attached(attaching(one).answer())
    os.kill(one.pid, signal.SIGTERM)
    one.popen.wait(30)
    assert one.left() == []


def test_twenty_at_once(vm, attaching):
    many = [vm("-Xmx16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") for _ in range(20)]
    attached = attaching(*many, limit_ms=60000)
    for answer in attached.answers():
        assert_attached(answer)
    assert len(attached.say("stop")) == 20
    assert [one.left() for one in many] == 20 * [[]]


def tree(folder):
    return {path: (path.lstat().st_ino, path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in folder.rglob("*")}  # fmt: skip


TRAPS = ("link", "fifo", "folder", "file", "socket")


def lay(trap, path, outside):
    if trap == "link":
        path.symlink_to(outside)
    elif trap == "fifo":
        os.mkfifo(path)
    elif trap == "folder":
        path.mkdir()
        (path / "mine").touch()
    elif trap == "file":
        path.write_text("mine")
    else:
        subprocess.run(["python3", "-c", "import socket, sys;"
                        "socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path], check=True)  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ("java-data-{}", ".attach_pid{}", ".java_pid{}"))
def test_what_the_target_laid_in_its_tmp(vm, neighbour, attaching, java, work, name, trap):
    """Nothing outside is written, nothing that was there is changed, and no time but its own is lost."""
    outside = work / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    outside.chmod(0o777)
    one, other = vm(), neighbour(java)
    path = one.tmp / name.format(one.inner)
    for part in (outside, outside / "file"):
        os.chown(part, NOBODY, NOBODY)
    lay(trap, path, outside)
    before = tree(outside)
    try:
        attached = attaching(one, other, limit_ms=5000)
        answers = {a["pid"]: a for a in attached.answers()}
        assert_attached(answers[other.pid])
        attached.say("stop")
        assert tree(outside) == before
        assert os.path.lexists(path) or trap == "folder" and answers[one.pid]["result"] == "done"
        left = [p for p in one.left() if p != path]
        assert left == other.left() == [], answers
        if trap == "folder" and name.startswith("java-data"):
            assert [p.name for p in path.iterdir()] == ["mine"]
    finally:
        if path.is_dir() and not path.is_symlink():
            for part in path.iterdir():
                part.unlink()
            path.rmdir()
        elif os.path.lexists(path):
            path.unlink()


def test_a_file_of_somebody_elses_is_not_read_for_the_agents(vm, attaching):
    """A folder that others may write into, or another user's, isn't taken."""
    for how in ("mode", "owner"):
        one = vm()
        one.data.mkdir(mode=0o700)
        if how == "mode":
            one.data.chmod(0o777)
        else:
            os.chown(one.data, NOBODY, NOBODY)
        try:
            answer = attaching(one).answer()
            assert answer["result"] == "folder", answer
            assert list(one.data.iterdir()) == []
        finally:
            one.data.rmdir()


def test_the_file_is_bounded_and_rewritten(vm, attaching):
    one = vm()
    attached = attaching(one, bytes_max=65536)
    assert_attached(attached.answer())
    for _ in range(40):
        assert (one.data / java_symbols.NAME).stat().st_size <= 65536
        assert one.symbols().whole
        time.sleep(0.05)
    assert_attached(attached.say("stop")[0])
    assert one.left() == [] and one.alive()


def camel(name):
    """SET_EVENT_CALLBACKS: SetEventCallbacks"""
    return "".join(word.capitalize() for word in name.split("_"))


def test_the_numbers_are_those_of_the_interface(java, work):
    """What jvm_agent/jvmti.h has by number a JDK's own header has by name."""
    home = Path(java.path).resolve().parents[1]
    includes = [home / "include", home / "include/linux"]
    if not includes[0].joinpath("jvmti.h").exists():
        pytest.skip(f"{java.name} has no jvmti.h")
    ours = (ROOT / "jvm_agent/jvmti.h").read_text()
    functions = re.findall(r"^\tJVMTI_(\w+) = (\d+),$", ours, re.M)
    positions = {name: int(number) for name, number in functions
                 if camel(name) not in ("VmDeath", "CompiledMethodLoad", "CompiledMethodUnload",
                                        "DynamicCodeGenerated")}  # fmt: skip
    events = {name: int(number) for name, number in functions if name not in positions}
    assert len(positions) == 12 and len(events) == 4
    lines = [f'offsetof(struct jvmtiInterface_1_, {camel(name)}) / 8 == {number}'
             for name, number in positions.items()]  # fmt: skip
    lines += [f"JVMTI_EVENT_{name} == {number}" for name, number in events.items()]
    lines += [f"offsetof(jvmtiEventCallbacks, {camel(name).replace('VmDeath', 'VMDeath')}) / 8 == {number - 50}"
              for name, number in events.items()]  # fmt: skip
    lines += ["offsetof(struct JNINativeInterface_, DeleteLocalRef) / 8 == 23",
              "offsetof(struct JNIInvokeInterface_, GetEnv) / 8 == 6",
              "sizeof(jvmtiCapabilities) == 16", "sizeof(jvmtiEventCallbacks) >= 35 * 8",
              "sizeof(jvmtiLineNumberEntry) == 16", "sizeof(jvmtiAddrLocationMap) == 16",
              "offsetof(jvmtiCompiledMethodLoadInlineRecord, pcinfo) == 32", "sizeof(PCStackInfo) == 32",
              "JVMTI_CMLR_INLINE_INFO == 2", "JNI_VERSION_1_6 == 0x10006"]  # fmt: skip
    source = work / "numbers.c"
    source.write_text("#include <stddef.h>\n#include <jvmti.h>\n#include <jvmticmlr.h>\n" +
                      "".join(f'_Static_assert({line}, "{n}");\n' for n, line in enumerate(lines)))  # fmt: skip
    flags = [f"-I{path}" for path in includes]
    done = subprocess.run(["cc", *flags, "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr, lines)

"""A user profiles a process of their own, which becomes a program that they may not look into."""
import os
import shutil
from pathlib import Path

import pytest

from askers import own  # noqa: F401
from asking import sessions, wait_sampling
from helpers import program, wait_burned, wait_for
from somebody import NOBODY, PYTHON, answered


# Programs that another user's process becomes

FIRST = """
import os, sys
def before():
    while not os.path.exists(sys.argv[1]):
        sum(range(1000))
before()
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture
def becoming(work, start):
    """becoming("spin", 60, mode=0o4755): a process of nobody's that burns until go() and is that program of
    root's then."""

    def begin(name, *args, mode=0o755, owner=0, code=FIRST):
        work.chmod(0o755)
        path = work / "become" / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(program(name), path)
        os.chown(path, owner, owner)
        path.chmod(mode)
        mark = work / "go"
        target = start(Path(PYTHON), "-c", code, mark, path, *args, user=NOBODY, group=NOBODY, extra_groups=[],
                       cwd="/")  # fmt: skip
        wait_burned(target.pid, seconds=0.2)
        target.becomes = name
        target.mark = mark
        return target

    return begin


def becomes(target):
    """Lets it exec, and waits until it has."""
    target.mark.touch()
    wait_for(lambda: Path(f"/proc/{target.pid}/comm").read_text().strip() == target.becomes, why="it has become it")


def wait_session(daemon, target, probe="oncpu"):
    """A session runs and has begun to see it."""
    wait_for(lambda: sessions(daemon) == 1, why="the session")
    if probe == "oncpu":
        wait_sampling(daemon)
    wait_burned(target.pid, seconds=0.5)


def test_a_session_ends_when_the_process_becomes_a_set_uid_program(serve, needs_bpf, somebody, becoming, work):
    if os.statvfs(work).f_flag & os.ST_NOSUID:
        pytest.skip("set-uid programs have no effect below /tmp")
    daemon = serve()
    nobody = somebody(daemon)
    for probe in ("oncpu", "offcpu"):
        (work / "go").unlink(missing_ok=True)
        target = becoming("spin", 60, mode=0o4755)
        session = nobody.asking(own(probe, target.pid, 6))
        wait_session(daemon, target, probe)
        becomes(target)
        assert "Uid:\t65534\t0\t0\t0" in Path(f"/proc/{target.pid}/status").read_text()
        wait_burned(target.pid, seconds=1)
        answer = answered(session)
        assert answer.status == 200
        assert "inner_spin" not in answer.text and "spin`" not in answer.text
        assert probe != "oncpu" or ";before (" in answer.text
        assert nobody.get(own(probe, target.pid)).status == 403
        target.kill()


def test_nothing_is_seen_of_a_set_uid_program_that_was_there_when_it_was_asked_for(serve, needs_bpf, somebody,
                                                                                 becoming):  # fmt: skip
    target = becoming("spin", 60, mode=0o4755)
    becomes(target)
    assert somebody(serve()).get(own("oncpu", target.pid)).status == 403


def test_a_session_goes_on_when_the_process_becomes_an_ordinary_program(serve, needs_bpf, somebody, becoming):
    """As root's does: that process, told from a reused pid by its start time."""
    daemon = serve()
    target = becoming("spin", 60)
    session = somebody(daemon).asking(own("oncpu", target.pid, 12))
    wait_session(daemon, target)
    becomes(target)
    text = answered(session).text
    assert ";before (" in text and ";inner_spin" in text


def test_a_child_that_becomes_a_set_uid_program_is_not_seen_either(serve, needs_bpf, somebody, becoming):
    code = FIRST.replace("before()\nos.execv(", "before()\nif os.fork():\n    while True: pass\nos.execv(")
    daemon = serve()
    target = becoming("spin", 60, mode=0o4755, code=code)
    session = somebody(daemon).asking(own("oncpu", target.pid, 4))
    wait_session(daemon, target)
    target.mark.touch()
    wait_burned(target.pid, seconds=1)
    answer = answered(session)
    assert answer.status == 200 and "inner_spin" not in answer.text
    for task in Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split():
        os.kill(int(task), 9)

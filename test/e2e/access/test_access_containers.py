"""Root of a container, and a user's sandbox, aren't root and the user of the host."""
import os
import subprocess
from pathlib import Path

import pytest

from askers import own  # noqa: F401
from helpers import stopped, wait_for
from somebody import NOBODY, Failed, Somebody


# Containers

SLICE = f"stackprobe-test-{os.getpid()}.slice"
GET_FLAMEGRAPH = "GET /flamegraph HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def cgroup():
    """cgroup("docker-….scope"): a folder of cgroup v2 of that name."""
    roots = [Path(root) for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")]
    mounted = [root for root in roots if (root / "cgroup.controllers").exists()]
    made = []
    if not mounted:
        pytest.skip("no cgroup v2 here")

    def make(*names):
        path = mounted[0]
        for name in names:
            path = path / name
            if path.exists():
                continue
            try:
                path.mkdir()
            except OSError as error:
                pytest.skip(f"no cgroup can be made: {error}")
            made.append(path)
        return path

    yield make
    for path in reversed(made):
        wait_for(lambda at=path: not (at / "cgroup.procs").read_text(), why=f"nobody in {path}")
        path.rmdir()


def test_root_of_a_container_is_not_root_here(serve, cgroup):
    """Nor when the cgroup that it was in is gone."""
    daemon = serve()
    inside = cgroup(SLICE, f"docker-{'5ca1ab1e' * 8}.scope")
    beside = cgroup(SLICE, "stackprobe-test.service")
    for folder, statuses in ((inside, (401, 401, 200)), (beside, (200, 200, 200))):
        root = Somebody(daemon, uid=0)
        try:
            try:
                root.do("enter", cgroup=str(folder))
            except Failed as error:
                pytest.skip(f"no process can be moved there: {error}")
            got = (root.put(stopped()).status, root.get("/flamegraph").status, root.get("/healthz").status)
            why = root.get("/flamegraph").text
            gone = root.do("ask_without_a_cgroup", to=root.tcp, text=GET_FLAMEGRAPH, cgroup=str(folder))
        finally:
            root.close()
        assert got == statuses, folder
        assert ("a process of another container" in why) == (folder == inside)
        assert gone == 401, folder


WITHIN = """
echo $$ > "$1/cgroup.procs"; shift
exec unshare --cgroup --mount sh -c 'mount -t tmpfs x /sys/fs/cgroup && mount -t cgroup2 x /sys/fs/cgroup && exec "$@"' \
    sh "$@"
"""


def test_within_a_cgroup_namespace_nobody_outside_of_it_is_known_over_tcp(cgroup, serve):
    """As in a container without --cgroupns=host: no other cgroup has a path there."""
    own = cgroup(SLICE, "stackprobe-own.service")
    below = cgroup(SLICE, "stackprobe-own.service", "below")
    other = cgroup(SLICE, f"docker-{'5ca1ab1e' * 8}.scope")
    if subprocess.run(["sh", "-c", WITHIN, "sh", own, "true"], check=False).returncode:
        pytest.skip("no cgroup namespace can be made")
    daemon = serve(before=["sh", "-c", WITHIN, "sh", own])
    assert "--cgroupns=host" in daemon.log
    for folder, over_tcp in ((None, 401), (other, 401), (own, 200), (below, 200)):
        root = Somebody(daemon, uid=0)
        try:
            if folder:
                root.do("enter", cgroup=str(folder))
            got = (root.put(stopped()).status, root.get("/healthz").status)
            by_socket = root.put(stopped(), to=root.socket).status
        finally:
            root.close()
        assert (*got, by_socket) == (over_tcp, 200, 200), folder


def test_a_sandbox_of_a_user_is_not_that_user_on_the_unix_socket(serve):
    """One whose processes of the host it may not trace (bwrap, unshare -U)."""
    daemon = serve()
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", str(daemon.socket)]
    how = {"capture_output": True, "text": True, "user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    if subprocess.run(["unshare", "-U", "true"], check=False, **how).returncode:
        pytest.skip("no user namespaces here")
    for sandbox, status in (([], "403"), (["unshare", "-U"], "401"), (["unshare", "-Ur"], "401")):
        done = subprocess.run([*sandbox, *curl, "http://localhost/flamegraph"], check=False, **how)
        assert done.stdout == status, (sandbox, done.stderr)

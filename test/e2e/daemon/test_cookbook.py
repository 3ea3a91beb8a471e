"""The commands of doc/cookbook.md, in their order, from its text."""
import os
import re
import shutil
import subprocess

import pytest

from helpers import BIN, ROOT, missing_privilege

TEXT = (ROOT / "doc/cookbook.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S)


def test_each_question_has_its_place_in_the_list():
    titles = re.findall(r"^## (.*)$", TEXT, re.M)
    listed = re.findall(r"\[([^]]+)\]\(#", TEXT.split("## ")[0])
    assert listed == titles


def test_the_commands_work_in_their_order(daemon, start, work):
    if missing_privilege():
        pytest.skip(missing_privilege())
    for tool in ("openssl", "curl", "gzip"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    target = start("threads", 600)
    script = "\n".join(BLOCKS).replace("localhost:9999", f"localhost:{daemon.port}")
    bin_dir = work / "bin"
    bin_dir.mkdir()
    (bin_dir / "stackprobe").symlink_to(BIN)
    done = subprocess.run(["bash", "-exo", "pipefail", "-c", f"{script}\nls -s"], capture_output=True, text=True,
                          timeout=300, check=False, cwd=work,
                          env={**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}", "PID": str(target.pid),
                               "TMPDIR": str(work)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = done.stdout[done.stdout.rindex("total "):]
    for name in ("cpu.svg", "host.svg", "slow.offcpu.svg", "lock.folded", "held.svg", "change.svg", "build.folded",
                 "profile.pb.gz", "now.folded", "metrics.txt"):  # fmt: skip
        assert re.search(rf" *[1-9]\d* {re.escape(name)}$", made, re.M), f"{name} in {made}"

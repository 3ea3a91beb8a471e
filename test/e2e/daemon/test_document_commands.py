"""The commands of doc/quick-start.md and doc/cookbook.md, in their order, from their text."""
import os
import re
import shutil
import subprocess

import pytest

from helpers import BIN, ROOT, missing_privilege

QUICK_START, COOKBOOK = "quick-start", "cookbook"
# The files that the commands of a page make.
MADE = {
    QUICK_START: ("first.svg", "shop.svg", "waits.svg", "shop.folded", "again.svg", "before.folded", "change.svg",
                  "status.json", "now.svg", "waits.folded", "once.svg"),
    COOKBOOK: ("host.svg", "slow.offcpu.svg", "lock.folded", "held.svg", "change.svg", "build.folded", "profile.pb.gz",
               "now.folded", "metrics.txt"),
}  # fmt: skip


def text_of(page):
    return (ROOT / f"doc/{page}.md").read_text()


def commands_of(page):
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", text_of(page), re.M | re.S))


def test_each_question_has_its_place_in_the_list():
    titles = re.findall(r"^## (.*)$", text_of(COOKBOOK), re.M)
    listed = re.findall(r"\[([^]]+)\]\(#", text_of(COOKBOOK).split("## ")[0])
    assert listed == titles


@pytest.mark.parametrize("page", MADE)
def test_the_commands_work_in_their_order(daemon, start, work, page):
    if missing_privilege():
        pytest.skip(missing_privilege())
    for tool in ("openssl", "curl", "gzip", "/usr/bin/python3"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    target = start("threads", 600)
    script = commands_of(page).replace("localhost:9999", f"localhost:{daemon.port}")
    bin_dir = work / "bin"
    bin_dir.mkdir()
    (bin_dir / "stackprobe").symlink_to(BIN)
    # What a page has started doesn't outlive a command that fails.
    script = f"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}\nls -s"
    done = subprocess.run(["bash", "-exo", "pipefail", "-c", script], capture_output=True, text=True,
                          timeout=300, check=False, cwd=work,
                          env={**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}", "PID": str(target.pid),
                               "TMPDIR": str(work)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = done.stdout[done.stdout.rindex("total "):]
    for name in MADE[page]:
        assert re.search(rf" *[1-9]\d* {re.escape(name)}$", made, re.M), f"{name} in {made}"

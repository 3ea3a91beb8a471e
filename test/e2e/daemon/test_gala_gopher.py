"""What gala-gopher's users have lying around: its probes.init, its conf file's entry of a probe, and how it
starts and stops one."""
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

from helpers import BIN, ROOT, wait_for

CONF = ROOT / "conf/gala-gopher"

# What GET of gala-gopher says, and what it saves in its probes.init: the folder was never set.
SAVED = json.loads(
    """{"cmd":{"bin":"/opt/gala-gopher/extend_probes/stackprobe","probe":["oncpu"]},"params":{
    "flame_dir":"FLAME","multi_instance":0,"native_stack":0,"output_dir":"",
    "perf_sample_period":10,"pyroscope_server":"localhost:4040","report_event":0,"report_period":60,
    "res_lower_thr":0,"res_upper_thr":0,"svg_period":180},"snoopers":{"container_id":[],"container_name":[],
    "pod_id":[],"proc_id":[],"proc_name":[{"cmdline":"","comm":"cadvisor"}]},"state":"running"}"""
)


@pytest.fixture
def beside(daemon):
    """beside(text): the daemon, started with a probes.init of that text."""

    def restart(text):
        path = daemon.work / "probes.init"
        path.write_text(text)
        conf = daemon.conf.read_text()
        assert "restore = " in conf
        daemon.conf.write_text(conf.replace("restore = ", f'probes_init = "{path}"; restore = ', 1))
        daemon.stop()
        return daemon.start()

    return restart


def as_saved(work):
    return json.dumps(SAVED).replace("FLAME", str(work / "flame"))


def test_its_probes_init_does_what_the_document_says(beside, start, work):
    """The line of flame graphs is ours, those of its other features are said and passed over."""
    target = start("spin", 60, "cadvisor")
    text = (CONF / "probes.init").read_text().replace("/var/log/gala-gopher", str(work))
    daemon = beside(text)
    assert daemon.settings()["state"] == "running"
    params = daemon.settings()["params"]
    assert (params["svg_dir"], params["flame_dir"]) == (f"{work}/stacktrace", f"{work}/flamegraph")
    wait_for(lambda: daemon.folded().total(pid=target.pid) > 0)
    for feature in ("baseinfo", "tcp", "io"):
        assert f"no such feature in this version: {feature}" in daemon.log
    # Of that name both have a feature, of other probes.
    assert "is refused: " in daemon.log and "unsupported probe range: sched_systime." in daemon.log
    assert "unsupported probe range: base_metrics." in daemon.log
    assert daemon.get("/sched").json() == daemon.get("/proc").json() == {}


def test_what_it_saved_itself_is_taken(beside, start, work):
    target = start("spin", 60, "cadvisor")
    daemon = beside(f"flamegraph {as_saved(work)}\n")
    assert "refused" not in daemon.log
    assert daemon.settings()["params"]["svg_dir"] == "/var/log/stackprobe/stacktrace"
    wait_for(lambda: daemon.folded().total(pid=target.pid) > 0)


def test_without_its_blanks_too(beside, start, work):
    """It saves them without any."""
    start("spin", 60, "cadvisor")
    daemon = beside("flamegraph" + " " + re.sub(r"\s", "", as_saved(work)) + "\n")
    assert daemon.settings()["state"] == "running"


# What gala-gopher 2.x does to start a probe and to find its process: popen() of the path alone, and pgrep
# in its own process group for what was started by just that. Its shell is bash, which becomes the command
# (dash would stay, and be found). Of what the probe says on standard output it takes the metrics.
STARTS = """
import os, subprocess, time
path = os.environ["PROBE"]
probe = subprocess.Popen(["bash", "-c", path], stdout=subprocess.PIPE, text=True)
find = f'pgrep -g {os.getpid()} -af "{path}$"' + " | awk '{print $1}'"
found = []
for _ in range(600):
    found = subprocess.run(["bash", "-c", find], stdout=subprocess.PIPE, text=True).stdout.split()
    if found: break
    time.sleep(0.1)
print("found", found[0], flush=True)
for line in probe.stdout: print("said", line, flush=True)
print("status", probe.wait(), flush=True)
"""

# It gives no argument, so the daemon reads /etc/stackprobe: here the test's own, in a namespace where it lies
# over the machine's.
IN_ETC = """
mount -t overlay overlay -o lowerdir=/etc,upperdir="$1/upper",workdir="$1/overlay" /etc && shift && exec "$@"
"""


@pytest.mark.quick
def test_its_way_to_start_and_stop_a_probe(work, start):
    """A link to stackprobe in its folder of probes is enough: found by its path, ended by SIGINT, silent on
    standard output."""
    if not shutil.which("pgrep") or not shutil.which("bash"):
        pytest.skip("no pgrep or no bash here")
    start("spin", 60, "cadvisor")
    for folder in ("upper/stackprobe", "overlay", "probes"):
        (work / folder).mkdir(parents=True)
    link = work / "probes/stackprobe"
    link.symlink_to(BIN)
    (work / "probes.init").write_text(f"flamegraph {as_saved(work)}\n")
    (work / "upper/stackprobe/stackprobe.conf").write_text(
        f"""global = {{ probes_init = "{work}/probes.init"; state_dir = "{work}/state"; restore = false; }};
        rest_api_server = {{ port = 0; }};\n"""
    )
    log = work / "gala.log"
    argv = ["unshare", "--mount", "sh", "-c", IN_ETC, "sh", work, "/usr/bin/python3", "-c", STARTS]
    with log.open("wb") as err:
        gala = subprocess.Popen([str(arg) for arg in argv], stdout=subprocess.PIPE, stderr=err, text=True,
                                start_new_session=True, env={**os.environ, "PROBE": str(link)})  # fmt: skip
    try:
        word, pid = gala.stdout.readline().split()
        assert word == "found", log.read_text()
        wait_for(lambda: "listening on" in log.read_text(), why=log.read_text)
        port = re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/flamegraph", timeout=10) as answer:
            assert json.load(answer)["state"] == "running"
        os.kill(int(pid), signal.SIGINT)
        assert gala.communicate(timeout=60)[0] == "status 0\n", log.read_text()
    finally:
        if gala.poll() is None:
            os.killpg(gala.pid, signal.SIGKILL)
            gala.wait()

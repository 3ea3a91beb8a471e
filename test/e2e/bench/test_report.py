"""The page of `make report` (test/bench/report), drawn from figures that are made up. Nothing is measured."""
import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from helpers import ROOT

sys.path.append(str(ROOT / "test/bench/report"))

import judging  # noqa: E402
import page  # noqa: E402
import rows  # noqa: E402
from otlp_sink import Sink  # noqa: E402
from rows import OURS, PEER, REFERENCE, Subject  # noqa: E402

MACHINE = {"cpu": "A CPU", "cpus": 2, "guest": True, "kernel": "6.1.0", "arch": "x86_64", "memory_gib": 4.0,
           "system": "Debian", "date": "2026-01-01 00:00 UTC", "version": "stackprobe 0.1.0", "revision": "abc",
           "subjects": ["depths", "switches"]}  # fmt: skip


@pytest.fixture(autouse=True)
def load(monkeypatch):
    monkeypatch.setattr(rows, "load", lambda: [0.5, 3])


def depths():
    subject = Subject("depths", "Cost over depth", "What a sample costs.")
    subject.quantity("ns", "Time of a sample", "µs", across="frames")
    subject.quantity("whole", "Whole stacks", "%", better="more", plot=False)
    subject.way("stackprobe", OURS, "stackprobe --fast")
    subject.way("slowtop", PEER, "slowtop -F 99", "all processes", version="1.2", how="as root")
    subject.way("nothing", REFERENCE, "")
    for frames, ours, theirs in ((21, 5, 10), (500, 50, 20)):
        subject.add("ns", "stackprobe", frames, ours, ours + 2, ours - 1)
        subject.add("ns", "slowtop", frames, theirs, theirs + 1, theirs - 1)
        subject.add("ns", "nothing", frames, 0.01)
    subject.add("whole", "stackprobe", "21 frames", 100)
    subject.add("whole", "slowtop", "21 frames", 10)
    subject.goal("slowtop", "ns", 21, 0.6)
    subject.goal("slowtop", "ns", 500, 0.6)
    subject.goal("absent", "ns", 21, 0.3)
    subject.lacks("absent", "it is not installed")
    return subject


def switches():
    subject = Subject("switches", "Cost of a switch (off-CPU)", "What a switch costs.")
    subject.quantity("ns", "Time & <more>", "ns")
    subject.way("stackprobe offcpu", OURS, "PUT …", beside=["waits"])
    subject.way("stackprobe others", OURS, "PUT …", beside=[])
    subject.way("waits", PEER, "waits -u")
    subject.add("ns", "stackprobe offcpu", "pipe", 101, 99, 103)
    subject.add("ns", "stackprobe others", "pipe", 5000)
    subject.add("ns", "waits", "pipe", 100, 98, 102)
    return subject


@pytest.fixture
def made(work):
    """The page's text and the folder of its pictures."""
    kept = work / "kept"
    kept.mkdir()
    (kept / "machine.json").write_text(json.dumps(MACHINE))
    for subject in (depths(), switches()):
        subject.write(kept, "abc")
    page.write(kept, work / "report.md")
    return (work / "report.md").read_text(), work / "report"


def between(text, first, last):
    return text[text.index(first) : text.index(last)]


def test_what_a_peer_does_better_stands_before_all_figures(made):
    text, _ = made
    first = between(text, "## Where a peer is better", "## Goals")
    rows = [line for line in first.split("\n") if line.startswith("| [")]
    assert len(rows) == 2, first
    assert "500 frames" in rows[0] and "slowtop: 20.0 [19.0..21.0]. all processes | 2.50 |" in rows[0]
    assert "waits: 100" in rows[1] and "within the spread" in rows[1], "what may be chance comes last"
    assert text.index("## Goals") < text.index("## Missing") < text.index("## Cost over depth")


def test_nothing_is_said_to_be_worse_that_is_not(work):
    subject = json.loads(json.dumps(depths().told()))
    subject["figures"] = [one for one in subject["figures"] if one["where"] != 500]
    assert judging.worse([subject]) == []
    assert "Nowhere in this run" in page.worse_text([subject])
    subject["figures"] = [one for one in subject["figures"] if one["who"] != "slowtop"]
    assert "No peer ran" in page.worse_text([subject])


def test_goals_are_reached_missed_or_not_measured(made):
    goals = between(made[0], "## Goals", "## Missing").split("\n")
    assert any("21 frames, beside slowtop | 0.60 times | 0.50 times | reached |" in line for line in goals), goals
    assert any("500 frames, beside slowtop | 0.60 times | 2.50 times | **missed** |" in line for line in goals), goals
    assert any("beside absent | 0.30 times | – | not measured: it is not installed |" in line for line in goals), goals


def test_a_missing_peer_is_named_with_its_reason(made):
    text, _ = made
    missing = between(text, "## Missing", "## Cost over depth")
    assert "| absent | it is not installed | [Cost over depth](#cost-over-depth) |" in missing
    assert "- Missing: absent: it is not installed." in between(text, "## Cost over depth", "## Cost of a switch")


def test_the_page_tells_the_machine_the_load_and_how_each_was_run(made):
    text, _ = made
    assert "A CPU, 2 CPUs, a virtual machine, 4.0 GiB; Debian, Linux 6.1.0 (x86_64)" in text
    assert "stackprobe 0.1.0 (abc)" in text and "others used 3 % of the CPUs before" in text
    assert "- slowtop (1.2): `slowtop -F 99`. all processes. as root" in text and "- nothing: nothing runs" in text
    assert "| **stackprobe** | 5.00 [4.00..7.00] | 50.0 [49.0..52.0] |" in text


def test_pictures_are_small_and_well_formed_and_have_all_names(made):
    text, folder = made
    pictures = sorted(path.name for path in folder.glob("*.svg"))
    assert pictures == ["depths-ns.svg", "switches-ns.svg"]
    for name in pictures:
        source = (folder / name).read_text()
        assert f"(report/{name})" in text and len(source) < 20000 and "<script" not in source
        texts = [node.text for node in ElementTree.fromstring(source).iter() if node.tag.endswith("}text")]
        if name.startswith("depths"):
            assert {"stackprobe", "slowtop", "21", "500", "frames", "µs"} <= set(texts), texts
        else:
            assert {"Time & <more> (ns)", "stackprobe offcpu", "waits", "pipe", "ns"} <= set(texts), texts


def test_the_page_is_drawn_again_from_what_is_kept(made, work):
    text, folder = made
    (folder / "old-picture.svg").write_text("of a run before")
    again = work / "report.md"
    argv = ["/usr/bin/python3", ROOT / "test/bench/report", "--page", "--kept", work / "kept", "--out", again]
    subprocess.run(argv, check=True, capture_output=True)
    assert again.read_text() == text and not (folder / "old-picture.svg").exists()


def test_figures_of_another_format_are_left_out_and_those_of_another_revision_say_so(made, work):
    old = work / "kept/switches.json"
    old.write_text(json.dumps({**json.loads(old.read_text()), "format": 0}))
    other = work / "kept/depths.json"
    other.write_text(json.dumps({**json.loads(other.read_text()), "revision": "abd"}))
    page.write(work / "kept", work / "report.md")
    text = (work / "report.md").read_text()
    assert "Cost of a switch" not in text and ", of revision abd;" in text and "of revision" not in made[0]


def test_the_sink_answers_as_grpc_does(work):
    """curl speaks HTTP/2, and shows what comes after the answer."""
    curl = shutil.which("curl")
    if not curl or "HTTP2" not in subprocess.run([curl, "--version"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("no curl with HTTP/2")
    sink = Sink()
    body = work / "body"
    body.write_bytes(bytes(300000))
    argv = [curl, "-sS", "--http2-prior-knowledge", "-D", "-", "-o", work / "answer", "--data-binary", f"@{body}",
            "-H", "content-type: application/grpc", f"http://{sink.address}/a.Service/Export"]  # fmt: skip
    for turn in (1, 2):
        told = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=20).stdout
        assert "HTTP/2 200" in told and "grpc-status: 0" in told
        assert (work / "answer").read_bytes() == bytes(5) and (sink.requests, sink.bytes) == (turn, turn * 300000)
    sink.close()

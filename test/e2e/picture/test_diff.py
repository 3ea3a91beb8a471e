"""`stackprobe render --diff` and `record --compare`: the same program twice shows no change; a change is
shown; what misleads is said."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from folded import Profile
from helpers import BIN
from javas import javas
from picture import Picture
from recorder import out, run
from test_render import folded, stacks_of
from test_render import run as render

CC = ["gcc", "-O1", "-g", "-fno-inline"]
C = """
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void sorted(int *v, int n) { for (int i = 0; i < n; i++) v[i] = rand(); qsort(v, n, sizeof(*v), compare); }
static unsigned long sum(const int *v, int n) { unsigned long s = 0; for (int i = 0; i < n * SUMS; i++) s += v[i % n]; return s; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void)
{
	static int v[50000];
	unsigned long x = 0;
	for (int i = 0; i < 150; i++) { sorted(v, 50000); x += sum(v, 50000); x += fib(22); }
	return x == 7;
}
"""
PYTHON = """
import json
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
def parse(text):
    for _ in range(40):
        values = json.loads(text)
        text = json.dumps(values)
    return text
def sort(n):
    values = [(i * 7919) % n for i in range(n)]
    for _ in range(10):
        values = sorted(values, key=lambda v: -v)
    return values
text = json.dumps([{"a": i, "b": [str(i)] * 5} for i in range(300)])
for _ in range(60):
    fib(19)
    parse(text)
    sort(6000)
"""
JAVA = """
public class Hot {
    static long fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
    static long sum(long[] v) {
        long s = 0;
        for (int j = 0; j < 300; j++)
            for (int i = 0; i < v.length; i++)
                s += v[i] * j;
        return s;
    }
    public static void main(String[] a) {
        long[] v = new long[20000];
        long x = 0;
        for (int i = 0; i < 300; i++) {
            v[i] = x;
            x += sum(v) + fib(24);
        }
        System.out.println(x);
    }
}
"""


def with_comment(source, before):
    """One more line before that text."""
    assert before in source
    return source.replace(before, f"{'#' if 'def' in before else '//'} a remark\n{before}", 1)


def build_c(folder, source, sums=1):
    (folder / "hot.c").write_text(source)
    subprocess.run([*CC, f"-DSUMS={sums}", "-o", folder / "hot", folder / "hot.c"], check=True)
    return [folder / "hot"]


def build_python(folder, source):
    (folder / "hot.py").write_text(source)
    return [sys.executable, folder / "hot.py"]


def build_java(folder, source):
    found = [java for java in javas() if shutil.which("javac", path=str(Path(java.path).parent))]
    if not found:
        pytest.skip("no javac")
    (folder / "Hot.java").write_text(source)
    subprocess.run([Path(found[0].path).parent / "javac", "-d", folder, folder / "Hot.java"], check=True)
    return [found[0].path, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", folder, "Hot"]


BUILDS = {"c": (build_c, C, "static int fib"), "python": (build_python, PYTHON, "def fib"),
          "java": (build_java, JAVA, "    static long fib")}  # fmt: skip


def recorded(folder, argv, *options):
    path = folder / "profile.folded"
    ended = run("-F", 499, *options, "-o", path, "--", *argv, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert Profile("".join(l for l in path.read_text().splitlines(True) if l[0] != "#")).total() > 300
    return path


def compared(before, after, *options):
    ended = render("--diff", before, *options, after)
    assert ended.returncode == 0, ended.stderr
    return Picture(ended.stdout.decode()), ended.stderr.decode()


def coloured(picture):
    return [frame.name for frame in picture.frames if picture.classes[frame][0] in "gs"]


@pytest.mark.parametrize("header", [(), ("--header",)], ids=["", "header"])
@pytest.mark.parametrize("language", BUILDS)
def test_the_same_program_with_a_comment_more_shows_no_change(work, out, language, header):
    build, source, place = BUILDS[language]
    paths = []
    for name, text in (("one", source), ("two", with_comment(source, place))):
        folder = work / name
        folder.mkdir()
        paths.append(recorded(folder, build(folder, text), *header))
    picture, said = compared(*paths)
    changed = coloured(picture)
    # Two of few frames: a run differs from another by more than a number of samples does.
    assert len(changed) <= max(2, 0.01 * len(picture.frames)), (changed, said)
    assert "little in common" not in said
    assert ("versions seem to differ" in said) == (language != "c"), said


def test_what_runs_longer_is_red(work, out):
    paths = []
    for name, sums in (("one", 1), ("two", 12)):
        (work / name).mkdir()
        paths.append(recorded(work / name, build_c(work / name, C, sums), "--header"))
    picture, _ = compared(*paths)
    assert "sum" in coloured(picture) and len(coloured(picture)) <= 3
    assert picture.classes[next(frame for frame in picture.frames if frame.name == "sum")][0] == "g"


def facts(picture):
    return picture.root.find(".//*[@id='facts']").text


def legend(picture):
    return "".join(picture.root.find(".//*[@id='legend']").itertext())


HEADER = "# stackprobe unit={} counts={} period_ns=10000000 from=1000 until={} host=here\n"


def written(work, name, text):
    (work / name).write_text(text)
    return work / name


def test_unit_rates_and_change_are_said(work):
    before = written(work, "before", HEADER.format("samples", 1, 11000) + "[1]a;f 1000\n")
    after = written(work, "after", HEADER.format("samples", 1, 11000) + "[2]a;f 1250\n")
    picture, said = compared(before, after)
    assert "1,250 samples (125/s) · before 1,000 samples (100/s) · +25% · 100% in common" in facts(picture)
    assert "within noise (3σ)" in legend(picture) and "1%" not in legend(picture)
    assert "unit unknown" not in legend(picture) and not said
    assert coloured(picture) == ["f"]


def test_times_are_compared_by_their_share(work):
    before = written(work, "before", HEADER.format("us", 0, 11000) + "[1]a;f 5000\n[1]a;g 995000\n")
    after = written(work, "after", HEADER.format("us", 0, 11000) + "[2]a;f 14000\n[2]a;g 1010000\n")
    picture, _ = compared(before, after)
    assert "less than 1% of all" in legend(picture)
    assert coloured(picture) == ["g"]


def test_an_unknown_unit_is_said_where_nobody_tells_it(work):
    path = written(work, "some", "a;b 5\n")
    assert "unit unknown" in legend(Picture(render(path).stdout.decode()))
    told = Picture(render("--countname", "bytes", path).stdout.decode())
    assert "unit unknown" not in legend(told) and told.unit == "bytes"
    header = written(work, "header", HEADER.format("us", 0, 2000) + "a;b 5\n")
    assert Picture(render(header).stdout.decode()).unit == "us"


def test_profiles_with_little_in_common_are_said_to_be_so(work):
    before, after = written(work, "before", "[1]one;f 5\n"), written(work, "after", "[2]two;g 5\n")
    _, said = compared(before, after)
    assert "little in common" in said and "`one` (100 %)" in said and "`g` (100 %)" in said


@pytest.mark.parametrize("places, names", [("keep", {"f (a.py:12)"}), ("drop", {"f (a.py)"})])
def test_places_are_left_out_as_asked(work, places, names):
    text = folded({("f (a.py:12)",): 5})
    picture, _ = compared(written(work, "before", text), written(work, "after", text), "--places", places)
    assert {frame.name for frame in picture.frames if frame.row} == names


def test_with_negate_the_older_profile_is_told_as_such(work):
    old = written(work, "old", HEADER.format("samples", 1, 11000) + "[1]a;f 1000\n")
    new = written(work, "new", HEADER.format("samples", 1, 31000) + "[2]a;f 1250\n")
    picture, said = compared(new, old, "--negate")
    assert "1,000 samples (100/s) · after 1,250 samples (41.7/s) · +25%" in facts(picture)
    assert "after took 30.0 s, before 10.0 s" in said
    assert picture.classes[next(frame for frame in picture.frames if frame.name == "f")][0] == "g"


def test_names_cannot_control_a_terminal(work):
    before, after = written(work, "before", "[1]a;x\x1b]0;y\x07 5\n"), written(work, "after", "[2]a;g 5\n")
    assert "\x1b" not in compared(before, after)[1]


def test_a_recording_is_compared_at_once(work, out):
    (work / "one").mkdir()
    argv = build_c(work / "one", C)
    before = recorded(work / "one", argv)
    ended = run("-F", 499, "--compare", before, "-o", work / "change.svg", "--", *argv)
    assert ended.returncode == 0, ended.stderr
    picture = Picture((work / "change.svg").read_text())
    assert picture.is_diff and "in common" in facts(picture)
    assert len(coloured(picture)) <= 2
    for wrong in (["-o", "x.folded"], ["-e", "oncpu,mem", "-o", "x.svg"]):
        assert run("--compare", before, *wrong, "--", "true").returncode == 2
    assert run("--compare", work / "missing", "--", "true").returncode == 1

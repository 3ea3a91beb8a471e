"""What others read in a file of pprof: `go tool pprof`, and npm's packages."""
import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import wait_for

GO = shutil.which("go")
ALL = ("-nodefraction=0", "-edgefraction=0", "-nodecount=0")
FORMAT = "pprof-format@2.3.2"
SPEEDSCOPE = "speedscope@1.25.0"
# Prints what pprof-format found: types, sums, and each sample's stack (leaf first), values and labels.
READ = """
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

const profile = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = (at) => profile.stringTable.strings[Number(at)];
const functions = new Map(profile.function.map((one) => [Number(one.id), one]));
const frames = new Map(profile.location.map((one) => [Number(one.id), one.line.map((line) => {
  const found = functions.get(Number(line.functionId));
  return [text(found.name), text(found.filename), Number(line.line)];
})]));
console.log(JSON.stringify({
  types: profile.sampleType.map((one) => [text(one.type), text(one.unit)]),
  period: [text(profile.periodType.type), text(profile.periodType.unit), Number(profile.period)],
  samples: profile.sample.map((one) => ({
    frames: one.locationId.flatMap((id) => frames.get(Number(id))),
    values: one.value.map(Number),
    labels: Object.fromEntries(one.label.map((label) => [text(label.key), text(label.str)])),
  })),
}));
"""


class Listed(NamedTuple):
    """A function as -list shows it: {line: (values with what it calls, its text)} of those that have some."""

    file: str
    lines: dict


def go(path, *options, comm=None, type="samples"):
    """What `go tool pprof` says of a file; where `comm` is given, of the processes of that name."""
    if not GO:
        pytest.skip("no go")
    chosen = [f"-tagfocus=comm=^{comm}$"] if comm else []
    # It makes paths shorter by the name of the folder that it runs in.
    command = [GO, "tool", "pprof", f"-sample_index={type}", *ALL, *chosen, *options, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def top(path, **chosen):
    """{function: (flat, cum)}"""
    rows = re.findall(r"^ *(\d+) +\S+% +\S+% +(\d+) +\S+% +(.*?)(?: \(inline\))?$", go(path, "-top", **chosen), re.M)
    found = {}
    for flat, cum, name in rows:
        assert name not in found
        found[name] = int(flat), int(cum)
    return found


def peek(path, name, **chosen):
    """(callers, callees) of a function, each {function: value}"""
    text = go(path, "-peek", f"^{re.escape(name)}$", **chosen)
    lines = text.split("\n")
    (own,) = [at for at, line in enumerate(lines) if re.search(r"%\s+\| " + re.escape(name) + "$", line)]
    rows = [re.match(r"^ +(\d+) +\S+% \| {3}(.*?)(?: \(inline\))?$", line) for line in lines]
    return tuple({row[2]: int(row[1]) for row in some if row} for some in (rows[:own], rows[own:]))


def listed(path, names, folder=None, **chosen):
    """{function: Listed}. `folder`: where files are that have no path."""
    where = [f"-source_path={folder}"] if folder else []
    text = go(path, "-list", f"^({'|'.join(map(re.escape, names))})$", *where, **chosen)
    assert "Error:" not in text, text
    found = {}
    for part in text.split("ROUTINE ========================")[1:]:
        name, file = re.match(r" (.*) in (.*)\n", part).groups()
        rows = re.findall(r"^ +\S+ +(\d+) +(\d+):(.*)$", part, re.M)
        assert name not in found, "in two files"
        found[name] = Listed(file, {int(line): (int(value), source) for value, line, source in rows})
    return found


def installed(package, folder):
    """npm's package in that folder, without those that it wants beside it; or a skip."""
    folder = Path(folder)
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"no {program}")
    command = ["npm", "pack", package, "--pack-destination", folder, "--fetch-retries=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm didn't fetch {package} within 60 s")
    if done.returncode != 0:
        pytest.skip(f"npm can't fetch {package}: {done.stderr.strip().splitlines()[-1:]}")
    (packed,) = folder.glob("*.tgz")
    shutil.unpack_archive(packed, folder)
    packed.unlink()
    (folder / "node_modules").mkdir(exist_ok=True)
    (folder / "package").rename(folder / "node_modules" / package.rpartition("@")[0])


def by_node(path, folder):
    """What pprof-format reads, once it is installed in that folder."""
    script = Path(folder) / "read.mjs"
    script.write_text(READ)
    done = subprocess.run(["node", script, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ROW = re.compile(r"^([\d.]+)(\w+) \(.*\)\n\t.*\n\t(.*)$", re.M)
UNITS_NS = {"ns": 1, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}


def by_speedscope(chromium, path, folder, work):
    """{function: (its time with all that it calls, in ns, and how far it is rounded)} of speedscope's third view,
    once it is installed in that folder. What is inlined belongs to the function that it is in."""
    script = work / "speedscope.js"
    content = base64.b64encode(Path(path).read_bytes()).decode()
    script.write_text(f'speedscope.loadFileFromBase64("taken.pb.gz", "{content}")')
    index = Path(folder) / "node_modules/speedscope/dist/release/index.html"
    with chromium.page(f"{index.as_uri()}#localProfilePath={script}", height=4000) as page:
        wait_for(lambda: page.run("document.title").startswith("taken.pb.gz"), 30, every=0.2, why="it is read")
        page.run('window.dispatchEvent(new KeyboardEvent("keypress", {key: "3"}))')
        by_total = '[...document.querySelectorAll("th")].find((one) => one.innerText.includes("Total"))'
        wait_for(lambda: page.run(f"!!{by_total}"), 30, every=0.2, why="its table")
        page.run(f"{by_total}.click()")
        rows = wait_for(lambda: ROW.findall(page.run("document.body.innerText")), 30, every=0.2, why="its table")
        assert not page.named("Runtime.exceptionThrown")
    return {name: (float(value) * UNITS_NS[unit], 0.005 * UNITS_NS[unit]) for value, unit, name in rows}

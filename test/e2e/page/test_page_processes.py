"""The page's list of processes and its probes: live values, one key to profile, on and off."""
import json
import os
import re
from contextlib import contextmanager
from urllib.parse import unquote

import pytest

from askers import TOKENS, tokens  # noqa: F401
from asking import burning, stood
from browsing import opened, row_of  # noqa: F401
from helpers import program, wait_burned, wait_for
from past import keeper, wait_windows  # noqa: F401

ROWS = """[...document.querySelectorAll('#processes tbody tr')].map((row) =>
    [...row.cells].map((cell) => cell.textContent))"""


def rows(page):
    """{pid: cells by the head's words}: both of one moment, as they are drawn together."""
    head, body = page.tab.run(f"[[...document.querySelectorAll('#processes thead th')].map((cell) => cell.textContent), {ROWS}]")
    head = [re.sub(r"\W+$", "", text) for text in head]
    return {int(cells[0]): dict(zip(head, cells)) for cells in body if cells and cells[0].isdigit()}


def filter_by_pid(page, pid):
    """Writes it into the filter; the rows, once they are those alone that have its digits where the filter looks: in a PID, a
    name, the id of a container, a pod. So there may be others: 57 is in 2057."""
    page.write("#processes input", str(pid))

    def filtered():
        found = rows(page)
        has = [any(str(pid) in row[column] for column in ("PID", "Name", "Container", "Pod")) for row in found.values()]
        return pid in found and all(has) and page.text(".foot").startswith(f"{len(found)} rows") and found

    return wait_for(filtered, why=lambda: f"rows with the digits of {pid} alone: {rows(page)}")


def share(text):
    return float(text.split()[0])


@pytest.fixture
def reading(serve, tokens, opened):
    """reading(): the page of who may only read, of a daemon that measures nothing."""

    @contextmanager
    def reading():
        with opened(serve(loopback_uid=False, **tokens), complains=True) as page:
            page.wait("#role", "metrics")
            page.do("main=token")
            page.write("#token input", TOKENS["read"])
            page.key("Enter")
            page.wait("#role", "role read")
            yield page

    return reading


def choose_group(page, group):
    page.tab.run(f"""{{const select = document.querySelector('#processes select');
        select.value = '{group}'; select.dispatchEvent(new Event('change'))}}""")
    page.wait("#processes thead", "Processes")


@pytest.mark.quick
def test_processes_are_listed_with_what_they_use(profiler, start, opened):
    target = burning(start)
    with opened(profiler) as page:

        def its_row():
            row = rows(page).get(target.pid)
            return row and share(row["CPU"]) > 0 and row

        row = wait_for(its_row, why="a row of the process, in a second in which it had a CPU")
        assert row["Name"] == "spin" and share(row["CPU"]) <= 110
        assert row["Memory"].endswith(("KiB", "MiB"))
        assert page.attributes("#processes [aria-sort=descending] button", "data-by") == ["run_ns"]
        values = [share(row["CPU"]) for row in rows(page).values()]
        assert values == sorted(values, reverse=True)
        page.click("#processes [data-by=pid]")
        wait_for(lambda: (pids := list(rows(page))) == sorted(pids), why="rows by pid")
        assert len(filter_by_pid(page, target.pid)) < len(values)


def test_memory_is_the_kernels_number(profiler, start, opened):
    target = burning(start)
    with opened(profiler) as page:
        page.write("#processes input", str(os.getpid()))
        row = wait_for(lambda: rows(page).get(os.getpid()), why="a row of the test's own")
    found = profiler.get("/proc/all.json?seconds=1").json()
    resident = {row["pid"]: row["rss_bytes"] for row in found["rows"] if not row.get("ended")}
    size = os.sysconf("SC_PAGESIZE")
    for pid in (target.pid, os.getpid()):
        with open(f"/proc/{pid}/statm") as statm:
            told = int(statm.read().split()[1]) * size
        # each CPU keeps up to 32 pages or so of each kind to itself
        assert abs(resident[pid] - told) <= max(0.1 * told, 3 * 64 * os.cpu_count() * size)
    assert row["Memory"] != "–"


@pytest.mark.quick
def test_one_key_profiles_the_next_seconds(profiler, start, opened):
    target = burning(start)
    with opened(profiler) as page:
        filter_by_pid(page, target.pid)
        page.focus(row_of(target.pid))
        page.key("Enter")
        page.wait("#busy", f"spin \\({target.pid}\\).* s left")
        page.wait(".facts", "samples", seconds=30)
        assert f"spin ({target.pid})" in page.text("#profile h2")
        assert "main" in page.table()


@pytest.mark.parametrize("group", ["comm", "container", "pod"])
def test_rows_of_groups(profiler, start, opened, group):
    targets = [start("spin", 600) for _ in range(2)]
    wait_burned(*(target.pid for target in targets), seconds=0.1)
    with opened(profiler) as page:
        wait_for(lambda: rows(page), why="the page listens")
        choose_group(page, group)

        def most():
            counts = [int(cells[0]) for cells in page.tab.run(ROWS) if group != "comm" or cells[1] == "spin"]
            return max(counts, default=0)

        wait_for(lambda: most() >= len(targets), why=lambda: f"rows of as many: {page.tab.run(ROWS)}")
        page.tab.run("""[...document.querySelectorAll('#processes tbody tr')].find((row) =>
            row.cells[1].textContent === 'spin' || %s).querySelector('.take').click()""" % json.dumps(group != "comm"))
        page.wait("#busy", r"s left")
        if group == "comm":
            assert {str(target.pid) for target in targets} <= set(unquote(page.fragment).split("pids=")[1].split("&")[0].split(","))


@pytest.mark.quick
def test_probes_go_on_and_off(profiler, start, opened):
    target = burning(start)
    with opened(profiler) as page:
        page.wait("#probes tbody", "oncpu")
        page.write("#probes [name=comm]", "^spin$")
        page.key("Enter")
        page.wait("#probes tbody", r"oncpu.*running", seconds=30)
        assert profiler.config()["snoopers"]["proc_name"][0]["comm"] == "^spin$"
        page.click("#probes input[data-probe=offcpu]")
        wait_for(lambda: profiler.config()["cmd"]["probe"] == ["oncpu", "offcpu"], why="the other probe is on")
        wait_for(lambda: profiler.folded(pid=target.pid).total() > 0, why="samples")
        page.wait("#probes tbody", "show")
        page.click("#probes [data-act=open]")
        page.wait(".facts", "samples")
        page.click("#probes [data-act=state]")
        wait_for(lambda: profiler.config()["state"] == "stopped", why="it is stopped")
        page.wait("#probes [data-act=state]", "Start")


def test_a_hidden_tab_asks_for_nothing(profiler, start, opened):
    burning(start)
    with opened(profiler) as page:
        wait_for(lambda: rows(page), why="rows")
        page.tab.run("""Object.defineProperty(document, 'hidden', {value: true});
            document.dispatchEvent(new Event('visibilitychange'))""")
        page.tab.run("new Promise((done) => setTimeout(done, 3000))")  # what was asked before is answered
        shown = page.tab.run(ROWS)
        page.tab.run("new Promise((done) => setTimeout(done, 6500))")
        assert page.tab.run(ROWS) == shown


@pytest.mark.quick
def test_who_may_only_read_has_a_list_that_begins_nothing(reading, start):
    busy, still = start("turns", 3, 100_000, 20_000, 10), stood(start)
    with reading() as page:

        def its_row():
            row = rows(page).get(busy.pid)
            return row and row["CPU"][0].isdigit() and share(row["CPU"]) > 0 and row

        row = wait_for(its_row, why="a row of the process, with what it used in two seconds")
        assert row["Name"] == "turns" and row["Threads"] == "4" and row["Memory"].endswith(("KiB", "MiB"))
        assert row["Command"] == f"{program('turns')} 3 100000 20000 10"
        assert share(row["CPU"]) <= 110 * min(3, os.cpu_count())
        assert rows(page)[still.pid]["CPU"] == "0.00 %"  # it has used some before
        assert not {"Faults", "Read", "Written"} & set(row) and not page.shows("#processes .take")
        page.click("#processes [data-by=pid]")
        wait_for(lambda: (pids := list(rows(page))) == sorted(pids) and len(pids) > 1, why="rows by pid")
        page.write("#processes input", "turns 3 100000 20000 10")
        wait_for(lambda: (found := rows(page)) and busy.pid in found and still.pid not in found, why="rows of that command line")
        assert not any("/proc/" in url for url in page.tab.requests)


@pytest.mark.parametrize("group", ["comm", "container", "pod"])
def test_rows_of_groups_of_who_may_only_read(reading, start, copy, group):
    targets = [start(copy("spin", "mates"), 600) for _ in range(2)]
    wait_burned(*(target.pid for target in targets), seconds=0.1)
    with reading() as page:
        choose_group(page, group)

        def most():
            found = [cells for cells in page.tab.run(ROWS) if group != "comm" or cells[1] == "mates"]
            return max((int(cells[0]) for cells in found if share(cells[1 + (group == "comm")]) > 0), default=0)

        wait_for(lambda: most() >= len(targets), why=lambda: f"rows of as many: {page.tab.run(ROWS)}")
        if group == "comm":
            assert sum(cells[1] == "mates" for cells in page.tab.run(ROWS)) == 1


def test_a_hidden_tab_of_who_may_only_read_asks_for_nothing(reading):
    hide = """Object.defineProperty(document, 'hidden', {value: %s, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'))"""
    with reading() as page:

        def asked():
            return sum("/processes?" in url for url in page.tab.requests)

        wait_for(lambda: rows(page), why="rows")
        page.tab.run(hide % "true")
        before = asked()
        page.tab.run("new Promise((done) => setTimeout(done, 11000))")
        assert asked() == before
        page.tab.run(hide % "false")
        wait_for(lambda: asked() > before, why="it goes on")


def test_the_schedulers_charts(profiler, start, opened):
    burning(start)
    with opened(profiler) as page:
        page.wait("#scheduler select", "runqlat")
        page.click("#scheduler button")
        page.wait("#scheduler pre", r"usecs +: count +distribution", 60)


def test_a_chart_leads_to_the_stacks_of_its_time(keeper, start, opened):
    daemon = keeper(window=1)
    target = burning(start)
    daemon.profile(pids=[target.pid])
    start("paced", 2, 2, 2, 2)  # it waits for longer than 10 ms
    wait_windows(daemon, 1)
    with opened(daemon) as page:
        page.wait("#scheduler select", "offcpuslower")
        page.tab.run("document.querySelector('#scheduler select').value = 'offcpuslower'")
        page.click("#scheduler button")
        slow = page.wait("#scheduler .links", r"offcpu of .+? \((\d+)\)")[1]  # of all that wait on this host the most frequent
        page.click(f"#scheduler .links button[data-pids='{slow}'][data-probe=oncpu]")
        page.wait(".facts", "^0 samples")  # it isn't profiled
        assert f"pids={slow}" in page.fragment and "source=range" in page.fragment
        page.click("#scheduler .links button[data-pids=''][data-probe=oncpu]")
        page.wait(".facts", "^[1-9].* samples")
        assert "inner_spin" in page.table()

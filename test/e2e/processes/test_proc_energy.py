"""Energy, from a tree as the kernel's powercap has it: this machine has none."""
import pytest

from accounts import costs, watch
from helpers import wait_for

ZONES = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram"}


@pytest.fixture
def counters(profiler, work):
    """Has the daemon see a tree in the place of /sys/class; returns what sets its counters."""
    tree = work / "class"
    for folder, name in ZONES.items():
        zone = tree / "powercap" / folder
        zone.mkdir(parents=True)
        (zone / "name").write_text(name + "\n")
        (zone / "max_energy_range_uj").write_text("262143328850\n")

    def set_uj(*values):
        for folder, value in zip(ZONES, values):
            (tree / "powercap" / folder / "energy_uj").write_text(f"{value}\n")

    set_uj(0, 0, 0)
    profiler.stop()
    profiler.before = ["unshare", "-m", "sh", "-c", f'mount --bind {tree} /sys/class && exec "$@"', "sh"]
    profiler.start()
    return set_uj


def test_energy_goes_by_the_time_on_cpus(profiler, start, counters):
    counters(262143328850 - 1_000_000, 100, 100)
    target = start("spin", 60)
    watch(profiler)
    assert costs(profiler, "proc_cpu")["energy"]["absent"]  # two readings are needed
    counters(20_000_000, 5_000_100, 700_100)  # the package's has begun again at 0
    said = wait_for(lambda: (lambda found: found if "uj" in found["energy"] else None)(costs(profiler, "proc_cpu")),
                    30, every=1, why="a second reading")  # fmt: skip
    energy, host = said["energy"], said["host"]
    assert energy["uj"] == {"package-0": 21_000_000, "package-0/core": 5_000_000, "package-0/dram": 700_000}
    assert 9.9e9 < energy["span_ns"] < 40e9
    of_answer = 21_000_000 * (said["until"] - said["from"]) * 1e9 / energy["span_ns"]
    assert abs(energy["active_estimate_uj"] + energy["idle_estimate_uj"] - of_answer) <= 0.002 * of_answer
    (row,) = [row for row in said["rows"] if row.get("pid") == target.pid]
    share = row["run_ns"] / (energy["span_ns"] * host["cpus"])
    assert abs(row["energy_estimate_uj"] - 21_000_000 * share) <= 21
    assert "energy_estimate_uj" not in costs(profiler, "proc_sched")["rows"][0]
    lines = profiler.get("/metrics").text
    assert 'stackprobe_node_energy_joules_total{zone="package-0"} 21.000000\n' in lines
    counters(30_000_000, 0, 0)
    assert costs(profiler, "proc_cpu")["energy"]["uj"] == energy["uj"]  # it is too young


def test_a_host_without_says_so(profiler):
    watch(profiler)
    assert "no RAPL" in costs(profiler, "proc_cpu")["energy"]["absent"]
    assert "energy_joules_total{" not in profiler.get("/metrics").text

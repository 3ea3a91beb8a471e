"""What the log says of probes and of targets."""
from helpers import wait_for


def test_the_log_tells_of_probes_and_targets(profiler, start):
    target = start("spin", 60, "chosen")
    profiler.profile("^chosen$")
    wait_for(lambda: f"target {target.pid} (chosen): added for oncpu\n" in profiler.log)
    target.kill()
    # The end of a process wakes nobody; who asks hears of it.
    wait_for(lambda: not profiler.processes(), why="none is a target")
    assert f"target {target.pid} (chosen): removed from oncpu\n" in profiler.log
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: "info oncpu disabled\n" in profiler.log)
    assert profiler.log.count("info oncpu enabled\n") == 1


def test_the_log_tells_of_minblock_where_it_is_of_use(profiler):
    profiler.put_ok(profiler.wanting("^nobody$", minblock=70))
    assert "minblock" not in profiler.log
    profiler.put_ok({"cmd": {"probe": ["oncpu", "offcpu"]}})
    wait_for(lambda: "info offcpu minblock 70 us\n" in profiler.log)
    profiler.put_ok({"params": {"minblock": 0}})
    wait_for(lambda: "info offcpu minblock 0 us\n" in profiler.log)


def test_many_targets_do_not_flood_the_log(profiler, start):
    profiler.profile("^crowd$")
    crowd = start("crowd", 200)
    wait_for(lambda: len(profiler.processes()) > 200, why="all are targets")
    crowd.kill()
    wait_for(lambda: not profiler.processes(), why="none is a target")
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: "more were added and" in profiler.log)
    assert profiler.log.count("\ninfo target ") < 60

"""A client below admin has its share of the loop and of the connections, whatever it does."""
import time

from asking import burning
from somebody import NOBODY
from test_access import TOKENS, address_elsewhere, bearer, elsewhere, own, tokens


def start_theirs(start):
    return start("spin", 60, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


def timed_while(root, path, busy):
    """How long root's GETs took, one after the other, until that has ended."""
    took = []
    while not busy.done():
        one = root.timed(path)
        assert one.answer.status == 200
        took.append(one.seconds)
    return sorted(took)


# Sessions that are begun and left


def test_sessions_begun_and_left_in_a_row_cost_root_no_time(serve, needs_bpf, somebody, start):
    daemon = serve()
    nobody, root = somebody(daemon), somebody(daemon, uid=0)
    target = start_theirs(start)
    attack = nobody.begin("begin_and_go", to=nobody.tcp, path=own("oncpu", target.pid, 600), gap=0.02, during=8)
    took = timed_while(root, "/flamegraph", attack)
    statuses = attack.result()
    statuses.pop("0", None)  # it was closed before
    assert list(statuses) == ["429"] and statuses["429"] > 20, statuses
    # One that is let in has its BPF programs loaded meanwhile, which root waits for: some 0.4 s.
    assert took[len(took) * 9 // 10] < 0.1 and took[-1] < 2, took[-20:]


def test_who_begins_too_many_sessions_is_told_when_to_come_again(serve, needs_bpf, somebody, start):
    daemon = serve()
    nobody, root = somebody(daemon), somebody(daemon, uid=0)
    target, other = start_theirs(start), burning(start)
    for _ in range(5):  # a place may just have become free
        nobody.do("begin_and_go", to=nobody.tcp, path=own("oncpu", target.pid, 600), gap=0.02, during=1)
        answer = nobody.get(own("oncpu", target.pid))
        if answer.status == 429:
            break
    assert answer.status == 429 and "too fast" in answer.text
    assert answer.headers["Retry-After"] == "1"
    for _ in range(6):
        assert root.get(own("oncpu", other.pid)).status == 200, "an administrator isn't bounded"
    assert nobody.get(own("oncpu", target.pid)).status == 200


# Connections whose answers nobody reads

LOOPBACKS = [f"127.0.0.{number}" for number in range(2, 6)]


def test_who_reads_no_answer_keeps_nobody_out(elsewhere, somebody, tokens):
    daemon, admin, there = elsewhere(loopback_uid=False, **tokens)
    nobody = somebody(daemon)
    nobody.do("read_nothing", to=nobody.tcp, path="/metrics", sources=LOOPBACKS, times=16)
    assert admin.get("/flamegraph", to=there, headers=bearer(TOKENS["admin"])).status == 200
    assert admin.get("/flamegraph", to=admin.socket).status == 200


def test_who_reads_no_answer_for_five_seconds_loses_the_connection(serve, somebody, tokens):
    daemon = serve(loopback_uid=False, **tokens)
    nobody, admin = somebody(daemon), somebody(daemon, uid=0)
    nobody.do("read_nothing", to=nobody.tcp, path="/metrics", sources=LOOPBACKS, times=16)
    time.sleep(5.5)
    assert admin.get("/flamegraph", headers=bearer(TOKENS["admin"])).status == 200, "they look like one client"

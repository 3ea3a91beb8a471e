"""net: bytes and messages through sockets are those that the sockets and the program count."""
import pytest

from sockets import Scene

SEND, RECEIVE = "[send]", "[receive]"
CALLS = {"value": "count"}

# Each call of the system that sends or receives: (of Python, how many turns).
WAYS = {
    "send": ("near.send(data)", "far.recv(size)"),
    "sendto": ("near.sendto(data, socket.MSG_DONTWAIT, far_name)", "far.recvfrom(size)"),
    "sendmsg": ("near.sendmsg([data[:7], data[7:]])", "far.recvmsg(size)"),
    "write": ("os.write(near.fileno(), data)", "os.read(far.fileno(), size)"),
    "writev": ("os.writev(near.fileno(), [data[:7], data[7:]])", "os.readv(far.fileno(), [bytearray(size)])"),
    "sendfile": ("os.sendfile(near.fileno(), file, 0, size)", "far.recv_into(bytearray(size))"),
}
EXCHANGE = """
near, far = {pair}
far_name = far.getsockname()
size = 1000
data = bytes(size)
file = os.memfd_create("data")
os.write(file, data)
received = [0, 0]

def length(of):
    return len(of[0]) if isinstance(of, tuple) else of if isinstance(of, int) else len(of)

def takes(left):
    while left > 0:
        got = length({receive})
        received[0] += got
        received[1] += 1
        left -= got

def gives(count):
    return sum({send} for _ in range(count))

def act():
    sent = [gives({count}), {count}]
    takes(sent[0])
    told = [info(near), info(far)] if far.family == socket.AF_INET and far.type == socket.SOCK_STREAM else None
    return dict(sent=sent, received=received, info=told)
"""
TCP, UNIX = "connected()", "socket.socketpair()"
UDP = """(lambda far: (far.bind(("127.0.0.1", 0)), near := socket.socket(type=socket.SOCK_DGRAM),
    near.connect(far.getsockname())) and (near, far))(socket.socket(type=socket.SOCK_DGRAM))"""


def exchange(profiler, start, pair, way, count=50):
    send, receive = WAYS[way]
    scene = Scene(profiler, start, EXCHANGE.format(pair=pair, send=send, receive=receive, count=count))
    truth = scene.act()
    return scene, truth


@pytest.mark.quick
@pytest.mark.parametrize("way", WAYS)
def test_bytes_are_the_tcp_sockets_own(profiler, start, way):
    scene, truth = exchange(profiler, start, TCP, way)
    sender, receiver = truth["info"]
    assert scene.weights("gives") == {(SEND, "[tcp]"): sender["bytes_sent"] - sender["bytes_retrans"]}
    assert scene.weights("gives", **CALLS) == {(SEND, "[tcp]"): truth["sent"][1]}
    assert scene.weights("takes") == {(RECEIVE, "[tcp]"): receiver["bytes_received"]}
    assert scene.weights("takes", **CALLS) == {(RECEIVE, "[tcp]"): truth["received"][1]}
    assert sender["bytes_sent"] - sender["bytes_retrans"] == truth["sent"][0] == 50 * 1000
    assert scene.lost() == {}


@pytest.mark.parametrize("kind", ["udp", "unix"])
@pytest.mark.parametrize("way", ["send", "sendmsg", "write"])
def test_bytes_and_messages_are_the_programs_own(profiler, start, kind, way):
    scene, truth = exchange(profiler, start, UDP if kind == "udp" else UNIX, way)
    for asked, at in (({}, 0), (CALLS, 1)):
        assert scene.weights("gives", **asked) == {(SEND, f"[{kind}]"): truth["sent"][at]}
        assert scene.weights("takes", **asked) == {(RECEIVE, f"[{kind}]"): truth["received"][at]}
    assert scene.lost() == {}


def test_tcp_is_tcp_over_ipv6_too(profiler, start):
    text = EXCHANGE.format(pair="connected6()", send="near.send(data)", receive="far.recv(size)", count=20)
    scene = Scene(profiler, start, """
def connected6():
    server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    return socket.create_connection(server.getsockname()[:2]), server.accept()[0]
""" + text)
    truth = scene.act()
    assert scene.weights("gives") == {(SEND, "[tcp]"): truth["sent"][0]}
    assert scene.weights("takes") == {(RECEIVE, "[tcp]"): truth["received"][0]}


MANY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
near, far = socket.socketpair(type=socket.SOCK_DGRAM)

class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_size", ctypes.c_uint), ("vectors", ctypes.POINTER(Vector)),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("pad", ctypes.c_int), ("len", ctypes.c_uint)]

data = ctypes.create_string_buffer(1000)
SIZES = (1, 20, 300, 0)

def messages(sizes):
    vectors = [Vector(ctypes.addressof(data), size) for size in sizes]
    return (Message * len(sizes))(*(Message(None, 0, ctypes.pointer(vector), 1) for vector in vectors))

def gives():
    return libc.sendmmsg(near.fileno(), messages(SIZES), len(SIZES), 0)

def takes():
    got = messages([1000] * 10)
    count = libc.recvmmsg(far.fileno(), got, 10, socket.MSG_DONTWAIT, None)
    return [count, sum(got[i].len for i in range(count))]

def act():
    return gives(), takes()
"""


def test_each_of_many_messages_of_a_call_counts(profiler, start):
    scene = Scene(profiler, start, MANY)
    assert scene.act() == [4, [4, 321]]
    for name, frame in (("gives", SEND), ("takes", RECEIVE)):
        assert scene.weights(name) == {(frame, "[unix]"): 321}
        assert scene.weights(name, **CALLS) == {(frame, "[unix]"): 4}
    assert scene.lost() == {}


ODD = """
near, far = socket.socketpair(type=socket.SOCK_DGRAM)
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
ends = connected()

def peeks():
    return sum(len(far.recv(100, socket.MSG_PEEK)) for _ in range(20))

def empties():
    for _ in range(5): near.send(b"")
    return [len(far.recv(100)) for _ in range(5)]

def refused():
    near.setblocking(False)
    sent = 0
    try:
        while True: sent += near.send(bytes(1000))
    except BlockingIOError:
        return sent

def asks():
    sent = kernel.send(struct.pack("IHHII4x", 20, 18, 0x301, 1, 0))
    return [sent, len(kernel.recv(1 << 20))]

def cuts():
    sent = near.send(bytes(1000))
    return [sent, len(far.recv(10)), far.recv_into(bytearray(10), 10, socket.MSG_TRUNC) if near.send(bytes(500)) else 0]

def ended():
    ends[0].close()
    return len(ends[1].recv(10))

def act():
    near.send(b"12345")
    seen = dict(peeks=peeks())
    far.recv(10)
    seen["empties"], seen["cuts"] = empties(), cuts()
    return dict(seen, refused=refused(), asks=asks(), ended=ended())
"""


def test_what_is_odd_counts_as_said(profiler, start):
    scene = Scene(profiler, start, ODD)
    truth = scene.act()
    counted = {name: (scene.weights(name), scene.weights(name, value="count")) for name in truth}
    assert truth["peeks"] == 100 and counted["peeks"] == ({}, {}), "the bytes come again"
    assert counted["empties"][1] == {(SEND, "[unix]"): 5, (RECEIVE, "[unix]"): 5}
    assert not any(counted["empties"][0].values())
    assert counted["refused"][0] == {(SEND, "[unix]"): truth["refused"]}
    assert counted["refused"][1] == {(SEND, "[unix]"): truth["refused"] // 1000}, "none that failed"
    sent, got = truth["asks"]
    assert counted["asks"][0] == {(SEND, "[other]"): sent, (RECEIVE, "[other]"): got}
    # MSG_TRUNC asks for the length of the whole message, of which 10 bytes were copied.
    assert truth["cuts"] == [1000, 10, 500]
    assert counted["cuts"][0] == {(SEND, "[unix]"): 1500, (RECEIVE, "[unix]"): 510}
    assert truth["ended"] == 0 and counted["ended"][1] == {(RECEIVE, "[tcp]"): 1}, "the end of a stream"
    assert scene.lost() == {}


def test_others_bytes_are_not_counted(profiler, start):
    other, scene = (Scene(profiler, start, EXCHANGE.format(
        pair=TCP, send="near.send(data)", receive="far.recv(size)", count=count)) for count in (50, 7))  # fmt: skip
    other.act()
    scene.act()
    assert other.weights() == {}
    assert scene.weights("gives") == {(SEND, "[tcp]"): 7000}

"""Reads java-symbols.bin as jvm_agent/format.h has it, by itself: what the tests compare with."""
import struct
from dataclasses import dataclass, field

NAME = "java-symbols.bin"
MAGIC = 0x736D79736176616A
METHOD, CODE, STUB, UNLOAD, LOST, END = range(1, 7)
BEFORE = 1


@dataclass
class Method:
    class_name: str
    name: str
    signature: str
    file: str


@dataclass
class Code:
    kind: int
    address: int
    size: int
    time_ns: int
    before: bool = False
    name: object = None  # Method, or a stub's text
    places: list = field(default_factory=list)  # (address, [(Method, line)…], leaf first)


@dataclass
class Symbols:
    pid: int
    rewrites: int
    methods: dict
    codes: list
    unloads: list
    lost: int
    ended: bool
    whole: bool


def check(record):
    total = 0x9E3779B97F4A7C15
    for at in range(0, len(record), 8):
        (word,) = struct.unpack_from("<Q", record, at)
        if at == 0:
            word &= 0xFFFFFFFF
        total = (total ^ word) * 0xFF51AFD7ED558CCD & 0xFFFFFFFFFFFFFFFF
        total ^= total >> 32
    return total & 0xFFFFFFFF


def varints(data, at, count):
    values = []
    for _ in range(count):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        values.append(value)
    return values, at


def places_of(record, address, nodes, places, methods):
    values, at = varints(record, 48, 3 * nodes)
    tree = [values[i : i + 3] for i in range(0, 3 * nodes, 3)]
    values, _ = varints(record, at, 2 * places)
    found, pc = [], address
    for i in range(0, 2 * places, 2):
        pc += values[i]
        node, chain = values[i + 1], []
        while node:
            node, method, line = tree[node - 1]
            chain.append((methods[method], line))
        found.append((pc, chain))
    return found


def read(path):
    data = path.read_bytes()
    magic, version, begin, pid, rewrites, _ = struct.unpack_from("<QIIIIQ", data)
    assert magic == MAGIC and version == 1
    symbols = Symbols(pid, rewrites, {}, [], [], 0, False, True)
    at = begin
    while at < len(data):
        size, told, kind, flags, number, time_ns = struct.unpack_from("<IIHHIQ", data, at)
        record = data[at : at + size]
        if len(record) < size or check(record) != told:
            symbols.whole = False
            break
        at += size
        if kind == METHOD:
            lengths, texts, start = struct.unpack_from("<4H", record, 24), [], 32
            for length in lengths:
                texts.append(record[start : start + length].decode())
                start += length
            symbols.methods[number] = Method(*texts)
        elif kind == END:
            symbols.ended = True
        else:
            address, size_, nodes, places, _ = struct.unpack_from("<QIIII", record, 24)
            code = Code(kind, address, size_, time_ns, bool(flags & BEFORE))
            if kind == UNLOAD:
                symbols.unloads.append(code)
                continue
            if kind == LOST:
                symbols.lost += 1
                continue
            if kind == CODE:
                code.name = symbols.methods[number]
                code.places = places_of(record, address, nodes, places, symbols.methods)
            else:
                code.name = record[48 : 48 + nodes].decode()
            symbols.codes.append(code)
    return symbols

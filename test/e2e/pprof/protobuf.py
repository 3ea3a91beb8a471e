"""Protobuf's wire format both ways, by tables {number: Field} of a message's fields.

The reader is stricter than protobuf asks: a field that isn't in the table, or is there twice, is an error.
"""

from typing import NamedTuple

UINT, INT, BOOL, BYTES = "uint", "int", "bool", "bytes"
LIMIT = {UINT: 1 << 64, INT: 1 << 64, BOOL: 2}
NOTHING = {UINT: 0, INT: 0, BOOL: 0, BYTES: b""}


class Field(NamedTuple):
    name: str
    kind: object  # one of the above, or the table of a message
    many: bool = False

    @property
    def is_number(self):
        return self.kind in (UINT, INT, BOOL)


class Broken(ValueError):
    """These bytes aren't such a message."""


def varint(data, at):
    """(value, where the next begins). Padded ones are fine, as protobuf has it."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                raise Broken("a varint of more than 64 bits")
            return value, at
        shift += 7
        if shift == 70:
            raise Broken("a varint of more than ten bytes")
    raise Broken("the end is inside of a varint")


def pieces(data):
    """(number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value = data[at : at + size]
            if len(value) < size:
                raise Broken(f"the end is inside of field {number}")
            at += size
        else:
            raise Broken(f"field {number} has wire type {wire}")
        yield number, value


def packed(data):
    """All varints of it. Most bytes of a profile are these: those of one byte or two take a shorter way."""
    found, at, end = [], 0, len(data)
    while at < end:
        value = data[at]
        if value < 0x80:
            at += 1
        elif at + 1 < end and data[at + 1] < 0x80:
            value += (data[at + 1] << 7) - 0x80
            at += 2
        else:
            value, at = varint(data, at)
        found.append(value)
    return found


def scalar(value, field):
    if not isinstance(value, int):
        raise Broken(f"{field.name} is no number")
    if value >= LIMIT[field.kind]:
        raise Broken(f"{field.name} is {value}")
    return value - (1 << 64) if field.kind == INT and value >> 63 else value


def values_of(value, field):
    """All that one field on the wire holds: several where numbers are packed."""
    if field.is_number:
        if field.many and isinstance(value, bytes):
            several = packed(value)
            return several if field.kind == UINT else [scalar(one, field) for one in several]
        return [scalar(value, field)]
    if not isinstance(value, bytes):
        raise Broken(f"{field.name} is a number")
    return [value if field.kind == BYTES else decode(value, field.kind)]


def decode(data, table):
    """{name: value} with all names of the table. A message that isn't there is None."""
    found = {
        field.name: [] if field.many else None if isinstance(field.kind, dict) else NOTHING[field.kind]
        for field in table.values()
    }
    seen = set()
    for number, value in pieces(bytes(data)):
        if number not in table:
            raise Broken(f"field {number} is unknown")
        field = table[number]
        if field.many:
            found[field.name] += values_of(value, field)
            continue
        if number in seen:
            raise Broken(f"{field.name} is there twice")
        seen.add(number)
        (found[field.name],) = values_of(value, field)
    return found


def encoded_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encoded_bytes(number, value):
    return encoded_varint(number << 3 | 2) + encoded_varint(len(value)) + value


def encode(values, table, pack=True):
    """The bytes of {name: value}. What isn't named is left out; nothing is checked."""
    out = []
    for number, field in table.items():
        if values.get(field.name) is None:
            continue
        several = values[field.name] if field.many else [values[field.name]]
        if field.is_number and field.many and pack:
            if several:
                out.append(encoded_bytes(number, b"".join(map(encoded_varint, several))))
        elif field.is_number:
            out += [encoded_varint(number << 3) + encoded_varint(one) for one in several]
        elif field.kind == BYTES:
            out += [encoded_bytes(number, one) for one in several]
        else:
            out += [encoded_bytes(number, encode(one, field.kind, pack)) for one in several]
    return b"".join(out)

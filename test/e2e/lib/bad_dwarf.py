"""Copies of a program whose debug information is harmed, and a program in whose own it goes round in circles."""
import random
import re
import subprocess

SECTIONS = ("abbrev", "info", "line")
OTHERS = ("line_str", "str", "rnglists")

# main() spins. Each of its DIEs has the next one for its child and for its sibling as well: what follows all of
# them goes 2^200 ways. The last ones have themselves for a sibling and for what they come from.
CIRCULAR = """
	.text
	.globl main
	.type main, @function
main:	.cfi_startproc
1:	jmp 1b
	.cfi_endproc
.Lend:	.size main, . - main
	.section .debug_abbrev, "", @progbits
	.byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0			# unit: low_pc, high_pc
	.byte 2, 0x2e, 1, 0x01, 0x13, 0x11, 1, 0x12, 7, 0, 0		# subprogram: sibling
	.byte 3, 0x1d, 0, 0x01, 0x13, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0	# inlined: sibling, abstract_origin
	.byte 0
	.section .debug_info, "", @progbits
.Lunit:	.long .Lunit_end - .Lhead
.Lhead:	.short 4
	.long 0
	.byte 8
	.byte 1
	.quad main, .Lend - main
	.rept 200
	.byte 2
	.long . + 4 + 16 - .Lunit
	.quad main, .Lend - main
	.endr
.Linl:	.byte 3
	.long .Linl - .Lunit, .Linl - .Lunit
	.quad main, .Lend - main
	.byte 0, 0
.Lunit_end:
	.section .note.GNU-stack, "", @progbits
"""


def circular(path):
    path.with_suffix(".s").write_text(CIRCULAR)
    subprocess.run(["gcc", "-o", path, path.with_suffix(".s")], check=True)
    return path


def sections(path):
    """{name: (where its head stands, offset, bytes)} of the debug sections that are there."""
    told = subprocess.run(["readelf", "-SW", "-h", path], capture_output=True, check=True, text=True).stdout
    heads = int(re.search(r"Start of section headers: +(\d+)", told)[1])
    rows = re.findall(r"\[ *(\d+)\] \.debug_(\w+) +\w+ +\w+ (\w+) (\w+)", told)
    return {name: (heads + 64 * int(number), int(at, 16), int(size, 16)) for number, name, at, size in rows}


def harmed(path):
    """{name: the bytes of a copy}"""
    rng = random.Random(1)
    whole, found = path.read_bytes(), sections(path)
    copies = {}

    def put(name, at, piece):
        copies[name] = whole[:at] + piece + whole[at + len(piece) :]

    for section in SECTIONS:
        head, at, size = found[section]
        put(f"ff-{section}", at, b"\xff" * size)
        put(f"rnd-{section}", at, rng.randbytes(size))
        put(f"cut-{section}", head + 32, (size // 2).to_bytes(8, "little"))
        put(f"big-{section}", head + 32, (2**62).to_bytes(8, "little"))
    for section in OTHERS:
        _, at, size = found[section]
        put(f"rnd-{section}", at, rng.randbytes(size))
    _, at, size = found["info"]
    for number in range(4):
        piece = bytearray(whole[at : at + size])
        for _ in range(number + 1):
            piece[rng.randrange(size)] = rng.randrange(256)
        put(f"flip-{number}", at, bytes(piece))
    return copies

# SPDX-License-Identifier: GPL-2.0-or-later
"""What readelf says of a file's CFI, in the shape in which build/test/cfi/dump prints rows."""
import re
import struct
import subprocess

X86_64, ARM64, I386 = 62, 183, 3
PADDING = 16
NAMES = {
    X86_64: {n: i for i, n in enumerate(
        'rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15'.split())},
    ARM64: {**{'x%d' % i: i for i in range(31)}, 'sp': 31},
    # by x86-64's numbers, as rules have them
    I386: {n: i for i, n in enumerate('eax edx ecx ebx esi edi ebp esp'.split())},
}
I386_ORDER = 'eax ecx edx ebx esp ebp esi edi'.split()
FP = {X86_64: 6, ARM64: 29, I386: 5}
RA = {X86_64: 16, ARM64: 30, I386: 8}
SP = {X86_64: 'rsp', ARM64: 'sp', I386: 'esp'}
BX = {X86_64: 3, ARM64: -1, I386: 3}
FOLLOWED = {X86_64: ('rbp', 'rbx'), ARM64: ('x29', None), I386: ('ebp', 'ebx')}
WORD = {X86_64: 8, ARM64: 8, I386: 4}
PLT = {
    X86_64: ['breg7 (rsp): 8', 'breg16 (rip): 0', 'lit15', 'and', None, 'ge', 'lit3', 'shl', 'plus'],
    I386: ['breg4 (esp): 4', 'breg8 (eip): 0', 'lit15', 'and', None, 'ge', 'lit2', 'shl', 'plus'],
}


class Elf:
    """Class, machine, type and executable segments of an ELF file; machine 0: none for us."""

    def __init__(self, path):
        self.machine, self.segments = 0, []
        with open(path, 'rb') as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] not in (b'\x7fELF\x02\x01', b'\x7fELF\x01\x01'):
                return
            wide = head[4] == 2
            self.type, machine = struct.unpack_from('<HH', head, 16)
            phoff, = struct.unpack_from('<Q' if wide else '<I', head, 32 if wide else 28)
            size, count = struct.unpack_from('<HH', head, 54 if wide else 42)
            if count == 0 or size != (56 if wide else 32) or wide != (machine != I386) or machine not in NAMES:
                return
            file.seek(phoff)
            table = file.read(size * count)
            for i in range(len(table) // size):
                if wide:
                    kind, flags, _, address, _, bytes_, _, _ = struct.unpack_from('<IIQQQQQQ', table, i * size)
                else:
                    kind, _, address, _, bytes_, _, flags, _ = struct.unpack_from('<IIIIIIII', table, i * size)
                if kind == 1 and flags & 1:
                    self.segments.append((address, address + bytes_))
            self.machine = machine

    def segment(self, address):
        return next((s for s in self.segments if s[0] <= address < s[1]), None)


class Fde:
    def __init__(self, offset, cie, start, end):
        self.offset, self.cie, self.start, self.end = offset, cie, start, end
        self.rows = []   # (address, cfa, fp, ra, bx, sp) as readelf writes them
        self.looked = None


HEAD = re.compile(r'([0-9a-f]{8,16}) [0-9a-f]{8,16} [0-9a-f]{8,16} '
                  r'(CIE "(.*)"|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))')
REG = re.compile(r'r(\d+)')
REG_NAME = re.compile(r' \(\w+\)')


def lines_of(path, what):
    run = subprocess.Popen(['readelf', '-W', '-wN', '--debug-dump=' + what, path], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, errors='replace')
    with run.stdout:
        yield from run.stdout
    run.wait()


def sections_of(path, what):
    """(name, lines) of each section; the lines have to be read before the next."""
    name, lines = None, []
    for line in lines_of(path, what):
        if line.startswith('Contents of the '):
            if name:
                yield name, lines
            name, lines = line.split()[3], []
        else:
            lines.append(line)
    if name:
        yield name, lines


def read_interp(lines, machine):
    """FDEs, and CIEs {offset: (augmentation, row)}."""
    fdes, cies, entry, columns = [], {}, None, []
    fp, bx = FOLLOWED[machine]
    link, sp = 'ra', SP[machine]
    for line in lines:
        if line[:1] not in '0123456789abcdef ' or line == '\n':
            continue
        words = (REG_NAME.sub('', line) if '(' in line else line).split()
        if line.startswith('   LOC'):
            at = {word: i for i, word in enumerate(words)}
            columns = [at.get(fp), at.get(link, at.get('x30')), at.get(bx), at.get(sp)]
            continue
        if len(words) > 3 and words[3] in ('CIE', 'FDE'):
            head = HEAD.match(line)
            if not head:
                continue
            if words[3] == 'CIE':
                entry = [head.group(3), None]
                cies[int(head.group(1), 16)] = entry
            else:
                entry = Fde(int(head.group(1), 16), int(head.group(4), 16),
                            int(head.group(5), 16), int(head.group(6), 16))
                fdes.append(entry)
            continue
        if entry is None or len(words) < 2 or len(words[0]) < 8 or words[1] == 'ZERO':
            continue
        row = (int(words[0], 16), words[1],
               *['u' if i is None or i >= len(words) else words[i] for i in columns])
        if isinstance(entry, list):
            entry[1] = row
        elif entry.rows and entry.rows[-1][0] == row[0]:
            entry.rows[-1] = row
        else:
            entry.rows.append(row)
    return fdes, cies


def tokens(expression):
    return [op.strip().replace('DW_OP_', '') for op in expression.split(';')]


def address_of(expression):
    """(reg, offset, deref, post) of an expression, or None."""
    ops, reg = tokens(expression), None
    match = re.fullmatch(r'breg(\d+) \([^)]*\): (-?\d+)', ops[0]) or \
        re.fullmatch(r'bregx: (\d+) \([^)]*\) (-?\d+)', ops[0])
    if not match:
        return None
    reg, sums, deref, i = int(match.group(1)), [int(match.group(2)), 0], 0, 1
    while i < len(ops):
        if ops[i] == 'deref' and not deref:
            deref = 1
        elif ops[i].startswith('plus_uconst: '):
            sums[deref] += int(ops[i].split()[1])
        else:
            number = re.fullmatch(r'lit(\d+)|const\w+: (-?\d+)', ops[i])
            i += 1
            if not number or i == len(ops) or ops[i] not in ('plus', 'minus'):
                return None
            value = int(number.group(1) or number.group(2))
            sums[deref] += value if ops[i] == 'plus' else -value
        i += 1
    return reg, sums[0], deref, sums[1]


def indexed_of(expression):
    """Of *(reg + offset + 8 * index) + post, as a row has it, or None."""
    match = re.fullmatch(r'breg(\d+) \(\w+\): (-?\d+); breg(\d+) \(\w+\): 0; lit8; mul; plus; '
                         r'deref; plus_uconst: (\d+)', '; '.join(tokens(expression)))
    return match and '*(r%d%+d+8*r%d)%+d' % tuple(map(int, match.groups()))


def plt_of(expression, machine):
    ops = tokens(expression)
    shape = PLT.get(machine, [])
    if len(ops) != len(shape) or any(s and s != o for s, o in zip(shape, ops)):
        return None
    return ops[4].replace('lit', '')


class Look:
    """The second look: expressions and DW_CFA_undefined, which the rows don't tell."""

    def __init__(self, machine, state=None):
        self.regs = {FP[machine]: 0, RA[machine]: 1, BX[machine]: 2}
        self.initial = dict(state or {})
        self.now = dict(self.initial)
        self.stack, self.at, self.rows = [], 0, {}

    def run(self, line):
        op, _, rest = line.strip().partition(' ')
        op = op.rstrip(':').replace('DW_CFA_', '')
        if op.startswith(('advance_loc', 'set_loc', 'MIPS_advance')):
            self.rows[self.at] = dict(self.now)
            self.at = int(line.split()[-1], 16)
        elif op == 'remember_state':
            self.stack.append(dict(self.now))
        elif op == 'restore_state':
            self.now = self.stack.pop() if self.stack else {}
        elif op == 'def_cfa_expression':
            self.now['cfa'] = rest.strip()[1:-1]
        elif op.startswith('def_cfa'):
            self.now.pop('cfa', None)
        elif (reg := REG.match(rest)) and int(reg.group(1)) in self.regs:
            key = self.regs[int(reg.group(1))]
            self.now.pop(key, None)
            if op == 'undefined':
                self.now[key] = 'undefined'
            elif op == 'expression':
                self.now[key] = re.match(r'r\d+ \([^)]*\) \((.*)\)$', rest.strip()).group(1)
            elif op.startswith('restore') and key in self.initial:
                self.now[key] = self.initial[key]

    def end(self):
        self.rows[self.at] = dict(self.now)
        return self.rows


def look_again(path, section, machine, fdes):
    """Fills fde.looked: {address: {'cfa': expression, 0: fp's, 1: ra's, 2: bx's}}."""
    wanted, cies, look, done = {f.offset: f for f in fdes}, {}, None, None
    for name, lines in sections_of(path, 'frames'):
        if name != section:
            continue
        for line in lines:
            head = HEAD_RAW.match(line)
            if head:
                if look:
                    done(look.end())
                offset = int(head.group(1), 16)
                look = None
                if head.group(2).startswith('CIE'):
                    look = Look(machine)

                    def done(rows, offset=offset):
                        cies[offset] = rows[0]
                elif offset in wanted:
                    fde = wanted[offset]
                    look = Look(machine, cies.get(fde.cie))
                    look.at = fde.start

                    def done(rows, fde=fde):
                        fde.looked = rows
            elif look and line.startswith('  DW_CFA_'):
                look.run(line)
    if look:
        done(look.end())


HEAD_RAW = re.compile(r'([0-9a-f]{8,16}) [0-9a-f]{8,16} [0-9a-f]{8,16} (CIE|FDE)')


class Describer:
    """A row in the shape of build/test/cfi/dump."""

    def __init__(self, machine):
        self.names, self.machine, self.known = NAMES[machine], machine, {}

    def number(self, reg):
        """The number that rules have for a register."""
        if self.machine != I386:
            return reg
        return self.names[I386_ORDER[reg]] if reg < len(I386_ORDER) else reg

    def address_of(self, expression):
        address = address_of(expression)
        return address and (self.number(address[0]), *address[1:])

    def saved(self, word, look, cfa_reg, is_ra):
        if look == 'undefined':
            return 'lost'
        if word in ('u', 's'):
            return ('r30' if self.machine == ARM64 else 'bad') if is_ra else 'u'
        if word.startswith('c'):
            return word
        if word == 'exp' and look:
            address = self.address_of(look)
            if address and not address[2] and address[0] == cfa_reg:
                return 'a%+d' % address[1]
        if is_ra:
            reg = REG.fullmatch(word)
            return 'r%d' % self.number(int(reg.group(1))) if reg else 'bad'
        return 'lost'

    def row(self, cfa, fp, ra, bx, sp, signal, look):
        if look.get(1) == 'undefined' or (ra == 'u' and self.machine != ARM64):
            return 'end'
        if cfa == 'exp':
            plain = fp in 'us' and ra == 'c-%d' % WORD[self.machine] and not signal
            expression = look.get('cfa', '')
            plt = plt_of(expression, self.machine)
            if plt and plain:
                return 'plt' + plt
            address, where = self.address_of(expression), indexed_of(expression)
            if not address and not where:
                return 'unsupported:cfa-expression'
            reg, offset, deref, post = address or (int(REG.search(where).group(1)), 0, 0, 0)
            where = where or ('*(r%d%+d)%+d' % (reg, offset, post) if deref
                              else 'r%d%+d' % (reg, offset))
        else:
            name, sign, offset = re.match(r'(\w+)([+-])(\d+)', cfa).groups()
            if name not in self.names:
                return 'unsupported:cfa-register'
            reg = self.names[name]
            where = 'r%d%s%d' % (reg, sign, int(offset))
        if sp not in ('u', 'v+0') and not (sp == cfa == 'exp' and signal):
            return 'unsupported:sp'
        ra = self.saved(ra, look.get(1), reg, True)
        if ra == 'bad':
            return 'unsupported:ra'
        return '%s %s %s %s%s' % (where, self.saved(fp, look.get(0), reg, False), ra,
                                  self.saved(bx, look.get(2), reg, False),
                                  ' signal' if signal else '')

    def plain(self, row, signal):
        """Without a second look, remembered: a file has few distinct rows."""
        key = row[1:] + (signal,)
        text = self.known.get(key)
        if text is None:
            text = self.known[key] = self.row(*row[1:], signal, {})
        return text


def needs_look(fde):
    return any('exp' in row[1:] for row in fde.rows)


def rows_of(path, elf, undefined=False):
    """[(address, text)] of a file, merged; FDEs used, left out. `undefined`: also look at what may
    be undefined rather than unspecified."""
    for name, lines in sections_of(path, 'frames-interp'):
        fdes, cies = read_interp(lines, elf.machine)
        if fdes:
            break
    else:
        return [], 0, 0
    for fde in fdes:
        if not fde.rows:
            row = cies[fde.cie][1]
            fde.rows = [(fde.start,) + row[1:]]
    again = fdes if undefined or elf.machine == ARM64 else [f for f in fdes if needs_look(f)]
    if again:
        look_again(path, name, elf.machine, again)
    describe = Describer(elf.machine)
    out, last, end, used, left = [], 'none', elf.segments and min(elf.segments)[0] or 0, 0, 0

    def put(address, text):
        nonlocal last
        if text != last:
            out.append((address, text))
            last = text

    for fde in sorted(fdes, key=lambda f: (f.start, f.offset)):
        segment = elf.segment(fde.start)
        if not segment or not fde.start < fde.end <= segment[1] or fde.start < end:
            left += 1
            continue
        used += 1
        if fde.start - end >= PADDING or elf.segment(end) != segment:
            put(end, 'none')
        signal = 'S' in cies[fde.cie][0]
        for row in fde.rows:
            if row[0] >= fde.end:
                break
            if fde.looked is None:
                put(row[0], describe.plain(row, signal))
            else:
                put(row[0], describe.row(*row[1:], signal, fde.looked.get(row[0], {})))
        end = fde.end
    put(end, 'none')
    return out, used, left

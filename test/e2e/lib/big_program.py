"""A C++ program with a symbol table like a browser's: 300,000 functions with long mangled names and
100 MB of debug data. Made by the assembler, for a compiler takes minutes. What lies in the debug
sections is filler: nothing reads it, it only makes the file what such files are."""
import shutil
import subprocess

FUNCTIONS = 300_000
CALLED_EVERY = 300  # of these one in so many is called
DEBUG_MIB = {".debug_info": 48, ".debug_str": 30, ".debug_line": 14, ".debug_loclists": 8}

# main() goes round the table; each function counts down and returns.
MAIN = """
extern "C" { extern void (*const table[])(); extern const unsigned long table_count; }
int main()
{
	for (unsigned long i = 0;; i = (i + 7919) % table_count)
		table[i]();
}
"""


def mangled(number):
    """A name as templates give: Shop<…>::Basket<…>::count…(…), different for each number."""
    part = f"Compartment{number:06d}"
    return (
        f"_ZN4shop9inventory6detail17{part}INS_6BasketISt4pairIKmdEEELm{number}EE"
        f"7restockERKSt6vectorIS6_SaIS6_EEm"
    )


def assembler():
    yield '.section .text,"ax",@progbits\n'
    for number in range(FUNCTIONS):
        name = mangled(number)
        yield (
            f".globl {name}\n.type {name},@function\n{name}:\n"
            "push %rbp\nmov %rsp,%rbp\nmov $2000,%ecx\n1:dec %ecx\njnz 1b\npop %rbp\nret\n"
            f".size {name},.-{name}\n"
        )
    called = range(0, FUNCTIONS, CALLED_EVERY)
    yield '.section .data.rel.ro,"aw",@progbits\n.globl table,table_count\ntable:\n'
    yield from (f".quad {mangled(number)}\n" for number in called)
    yield f"table_count: .quad {len(called)}\n"
    for section, mib in DEBUG_MIB.items():
        yield f'.section {section},"",@progbits\n.fill {mib << 17},8,0x0102030405060708\n'
    yield '.section .note.GNU-stack,"",@progbits\n'


def build(folder, name="bigcxx"):
    """Makes the program; None where there is no C++ compiler."""
    if not shutil.which("g++"):
        return None
    (folder / "main.cc").write_text(MAIN)
    target = folder / name
    functions = folder / "functions.o"
    with subprocess.Popen(["as", "-o", functions, "-"], stdin=subprocess.PIPE, text=True) as made:
        made.stdin.writelines(assembler())
    assert made.returncode == 0
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id"]
    subprocess.run(["g++", *flags, "-o", target, folder / "main.cc", functions], check=True)
    functions.unlink()
    return target


if __name__ == "__main__":
    import sys
    from pathlib import Path

    build(Path(sys.argv[1]))

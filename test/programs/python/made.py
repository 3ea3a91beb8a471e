"""Code that is made, run and thrown away in a loop, so that its memory is another's at once. Each has its
own number, in the names, the file and the lines: a stack in which two numbers meet is wrong. The second
argument is how many are kept before they are thrown away."""
import collections
import sys

import truth

SOURCE = """
def inner_{n}(number):
    for _ in range(300):
        number = (number * 31 + 7) % 1009
    return number
def outer_{n}():
    return inner_{n}({n}) + inner_{n}(2)
def run_{n}():
    outer_{n}()
run_{n}()
"""

BLANK = 97  # blank lines before the code: its number modulo this
kept = collections.deque(maxlen=int(sys.argv[2]))
made = 0
truth.extra["serial"] = BLANK


def run(code):
    names = {}
    kept.append((code, names))
    exec(code, names)


def turn():
    global made
    made += 1
    text = "\n" * (made % BLANK) + SOURCE.format(n=made)
    run(compile(text, "<made_%d>" % made, "exec"))
    run(compile("sum(range(%d))" % (made % 1000), "<string>", "eval"))


truth.loop(turn)

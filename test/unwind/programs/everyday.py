# SPDX-License-Identifier: GPL-2.0-or-later
"""everyday SECONDS: what programs in Python do: calls, sorting with a key in Python, JSON, regular
expressions, decimals, compression, hashing, exceptions, generators, garbage."""
import decimal
import hashlib
import json
import re
import sys
import time
import zlib


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers(n):
    for i in range(n):
        yield i * 7919 % 1009


def refuse(depth):
    if depth == 0:
        raise ValueError("deep down")
    return refuse(depth - 1)


def turn():
    words = [f"word{i}" for i in numbers(3000)]
    words.sort(key=lambda word: (len(word), word[::-1]))
    text = json.dumps({word: list(numbers(5)) for word in words})
    found = re.sub(r"w(o)r(d)(\d+)", lambda match: match.group(3) + match.group(1), text)
    packed = zlib.compress(found.encode(), 6)
    total = sum(decimal.Decimal(i) / 7 for i in range(1, 300))
    try:
        refuse(50)
    except ValueError:
        total += 1
    return hashlib.sha256(packed).hexdigest(), total, fibonacci(16), json.loads(text)


def main():
    end = float(sys.argv[1])
    while time.process_time() < end:
        turn()


main()

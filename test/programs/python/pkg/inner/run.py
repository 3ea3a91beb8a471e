"""The same module, imported and run."""
import json

import truth
from pkg import shared

TEXT = json.dumps([{"a": [number] * 9} for number in range(9)], indent=1)


def turn():
    shared(1)
    json.dumps(json.loads(TEXT), indent=1)


if __name__ == "__main__":
    truth.loop(turn)

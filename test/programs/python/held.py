"""Memory that two functions hold, allocated some lines apart; more comes slowly."""
import time

held = []


def keep(size):
    held.append(bytearray(size))
    held.append(bytearray(2 * size))


def main():
    while True:
        keep(100_000)
        time.sleep(0.01)


main()

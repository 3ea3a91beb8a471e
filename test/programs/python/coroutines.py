"""asyncio: tasks that await each other, sleep(0), gather, an asynchronous generator and a context."""
import asyncio

import truth


def work(amount):
    total = 0
    for number in range(amount):
        total += number
    return total


async def leaf(amount):
    await asyncio.sleep(0)
    return work(amount)


async def middle(amount):
    return await leaf(amount) + await leaf(amount)


async def produce(count):
    for number in range(count):
        await asyncio.sleep(0)
        yield work(300 + number)


class Context:
    async def __aenter__(self):
        return work(500)

    async def __aexit__(self, *_):
        work(700)


async def turn():
    async with Context():
        await middle(2000)
    async for _ in produce(5):
        work(1000)
    await asyncio.gather(middle(1500), leaf(1000), middle(500))


async def main():
    turns = 0
    truth.begin()
    while True:
        await turn()
        turns += 1
        if turns == truth.TURNS:
            truth.end()


asyncio.run(main())

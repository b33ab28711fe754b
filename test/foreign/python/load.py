"""Counters that one client increments while the cluster is in trouble, and what must be true of them."""

import asyncio

KEYS = 32
PAUSE_SECONDS = 0.005
LOOPS = 2


class Load:
    """`incr(key)` and `get(key)` are asynchronous; each loop has counters of its own."""

    def __init__(self, name, incr, get):
        self.name = name
        self.incr = incr
        self.get = get
        self.acknowledged = {}
        self.failures = []
        self.wrong = []
        self.stopped = False
        self.loops = []

    def start(self):
        self.failures, self.stopped = [], False
        self.loops = [asyncio.ensure_future(self._loop(i)) for i in range(LOOPS)]

    async def stop(self):
        self.stopped = True
        await asyncio.gather(*self.loops)

    async def _loop(self, loop):
        n = 0
        while not self.stopped:
            n += 1
            await self._once(f"{self.name}:{loop}:{n % KEYS}")
            await asyncio.sleep(PAUSE_SECONDS)

    async def _once(self, key):
        before = self.acknowledged.get(key, (0, 0))
        try:
            value = int(await self.incr(key))
        except Exception as error:  # whatever a library makes of a lost node
            self.failures.append(f"{type(error).__name__}: {error}"[:300])
            return
        if value <= before[1]:
            self.wrong.append(f"{key} went from {before[1]} to {value}")
        self.acknowledged[key] = (before[0] + 1, value)

    async def answers(self):
        """What it has acknowledged, and what is counted."""
        acknowledged = sum(count for count, _ in self.acknowledged.values())
        counted = 0
        for key, (_, last) in self.acknowledged.items():
            value = int(await self.get(key))
            if value < last:
                self.wrong.append(f"{key} was {last} and is {value}")
            counted += value
        return acknowledged, counted

    async def judge(self, may_repeat):
        """Says what is wrong, or nothing."""
        acknowledged, counted = await self.answers()
        if self.wrong:
            return self.wrong[0]
        if counted < acknowledged:
            return f"{acknowledged} acknowledged, {counted} counted"
        if counted > acknowledged + may_repeat:
            return f"{acknowledged} acknowledged, {counted} counted, {may_repeat} may be unknown"
        return None

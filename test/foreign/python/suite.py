"""redis-py, coredis and Valkey GLIDE against a cluster: what users do with them, then counters while
leaders move and nodes die.

Not tried, because kvorum has none of it: functions, client tracking and caches,
SELECT of a database that nobody has made.
"""

import asyncio
import functools
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import checks
import redis_py
import redis_py_asyncio
import trouble
import with_coredis
import with_glide
from checks import say

TRANSFERS_SECONDS = 15
# of each client and killed node: what was on its way may have been carried out, and sent again
MAY_REPEAT = 4


async def main():
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))
    for module in (redis_py, redis_py_asyncio, with_coredis, with_glide):
        await module.checks()
    clients = with_coredis.clients()
    async with clients["cluster"], clients["gateway"]:
        loads = [*redis_py.loads(), *redis_py_asyncio.loads(), *with_coredis.loads(clients)]
        loads += await with_glide.loads()
        await leaders_move(loads)
        await nodes_die(loads)
        await during(loads, lambda: time.sleep(2))
        for load in loads:
            say(f"{load.name} goes on afterwards", unhurt(load))


async def during(loads, job):
    for load in loads:
        load.start()
    await asyncio.to_thread(job)
    await asyncio.gather(*(load.stop() for load in loads))


async def leaders_move(loads):
    """A transfer breaks no connection: nothing fails, and what was acknowledged is what was counted."""
    await during(loads, lambda: trouble.transfer_leaders(TRANSFERS_SECONDS))
    for load in loads:
        say(f"{load.name} while leaders move", unhurt(load) or await load.judge(0))


async def nodes_die(loads):
    may_repeat = dict.fromkeys(loads, 0)
    for node in trouble.NODES:
        await during(loads, functools.partial(trouble.kill, node))
        for load in loads:
            may_repeat[load] += MAY_REPEAT + len(load.failures)
    for load in loads:
        print(load.name, len(load.acknowledged), "counters,", may_repeat[load], "may be unknown")
        say(f"{load.name} while nodes die", await load.judge(may_repeat[load]))


def unhurt(load):
    return load.failures[0] if load.failures else None


asyncio.run(main())
sys.exit(checks.failed)

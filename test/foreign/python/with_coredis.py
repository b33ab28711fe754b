"""coredis, which speaks RESP3 only."""

import asyncio

import coredis
from coredis.connection import TCPLocation

from checks import check, same
from load import Load
from places import CLUSTER, GATEWAYS
from streams_py import coredis_streams


def clients():
    """By name; each is to be entered by `async with`."""
    host, port = GATEWAYS[0]
    nodes = [TCPLocation(*place) for place in CLUSTER]
    return {
        "cluster": coredis.RedisCluster(startup_nodes=nodes, decode_responses=True),
        "gateway": coredis.Redis(host, port, decode_responses=True),
    }


async def checks():
    for name, client in clients().items():
        async with client:
            for what in (commands, pipelines, channels, scripts, coredis_streams):
                title = f"coredis {name}: {what.__name__.replace('_', ' ')}"
                await check(title, _bound(what, client))


def _bound(function, client):
    async def call():
        await function(client)

    return call


async def commands(c):
    await c.delete(["{co}h", "{co}z", "{co}l"])
    await c.mset({"co:1": "1", "co:2": "2"})
    same(await c.mget(["co:1", "co:2", "co:none"]), ("1", "2", None))
    await c.hset("{co}h", {"a": "1"})
    same(await c.hgetall("{co}h"), {"a": "1"})
    await c.zadd("{co}z", {"x": 1.5})
    same([tuple(one) for one in await c.zrange("{co}z", 0, -1, withscores=True)], [("x", 1.5)])
    await c.rpush("{co}l", ["a"])
    same(list(await c.blpop(["{co}l"], 1)), ["{co}l", "a"])
    await asyncio.gather(*(c.incr(f"co:n{i}") for i in range(500)))
    found = {key async for key in c.scan_iter(match="co:n*", count=20)}
    same(len(found), 500)


async def pipelines(c):
    for transaction in (False, True):
        await c.delete(["{co}n"])
        async with c.pipeline(transaction=transaction) as line:
            answers = [line.incr("{co}n") for _ in range(50)]
        same(list(await asyncio.gather(*answers)), list(range(1, 51)))


async def channels(c):
    async with c.pubsub(channels=["co:news"], ignore_subscribe_messages=True) as heard:
        await asyncio.sleep(0.3)
        await c.publish("co:news", "1")
        message = None
        while message is None:
            message = await heard.get_message(timeout=5)
        same(message["data"], "1")


async def scripts(c):
    await c.delete(["{co}x"])
    add = c.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    same([await add(["{co}x"], [2]), await add(["{co}x"], [3])], [2, 5])
    same(await c.eval("return KEYS[1]", ["{co}x"]), "{co}x")


def loads(entered):
    """Clients that count while leaders move and nodes die."""
    for name, client in entered.items():
        yield Load(f"coredis {name}", client.incr, client.get)

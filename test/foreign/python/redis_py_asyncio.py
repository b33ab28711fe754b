"""redis-py's asyncio half."""

import asyncio

import redis
import redis.asyncio as aio
from redis.asyncio.cluster import ClusterNode, RedisCluster

from checks import check, refused_later, same
from load import Load
from places import CLUSTER, GATEWAYS

# it opens a connection for each of them, 100 at most
AT_ONCE = 80


def cluster(**options):
    nodes = [ClusterNode(host, port) for host, port in CLUSTER]
    return RedisCluster(startup_nodes=nodes, decode_responses=True, **options)


def gateway(**options):
    host, port = GATEWAYS[0]
    return aio.Redis(host=host, port=port, decode_responses=True, **options)


async def checks():
    for protocol in (2, 3):
        for name, client in (
            ("cluster", cluster(protocol=protocol)),
            ("gateway", gateway(protocol=protocol)),
        ):
            where = f"redis-py asyncio {name}, RESP{protocol}"
            await check(f"{where}: many at once", bound(many, client))
            await check(f"{where}: pipelines", bound(pipelines, client))
            await check(f"{where}: transactions", bound(transactions, client))
            await check(f"{where}: scripts and locks", bound(locks, client))
            await client.aclose()
    await check("redis-py asyncio gateway: channels", channels)
    await check("redis-py asyncio gateway: cancelled waits", cancelled)


def bound(function, client):
    async def call():
        await function(client)

    return call


async def many(c):
    names = [f"pya:many:{i}" for i in range(AT_ONCE)]
    await asyncio.gather(*(c.delete(name) for name in names))
    for _ in range(10):
        await asyncio.gather(*(c.incr(name) for name in names))
    same(await asyncio.gather(*(c.get(name) for name in names)), ["10"] * AT_ONCE)


async def pipelines(c):
    line = c.pipeline(transaction=False)
    for i in range(200):
        line.set(f"pya:{i}", i)
    same(await line.execute(), [True] * 200)
    line = c.pipeline(transaction=False)
    for i in range(200):
        line.get(f"pya:{i}")
    same(await line.execute(), [str(i) for i in range(200)])


async def transactions(c):
    await c.set("{pya}t", 0)
    line = c.pipeline(transaction=True)
    same(await line.incr("{pya}t").get("{pya}t").execute(), [1, "1"])
    line = c.pipeline(transaction=True)
    await line.watch("{pya}t")
    await c.set("{pya}t", "theirs")
    line.multi()
    line.set("{pya}t", "mine")
    await refused_later(redis.WatchError, "", line.execute())


async def locks(c):
    """Each adds to what it read: what it does without the lock's help is lost."""
    await c.set("{pya}sum", 0)

    async def add():
        async with c.lock("{pya}lock", timeout=60):
            value = int(await c.get("{pya}sum"))
            await c.set("{pya}sum", value + 1)

    await asyncio.gather(*(add() for _ in range(20)))
    same(await c.get("{pya}sum"), "20")
    script = c.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    same(await script(["{pya}sum"], [2]), 22)


async def channels():
    c = gateway(protocol=3)
    async with c.pubsub(ignore_subscribe_messages=True) as heard:
        await heard.subscribe("pya:news")
        same(await c.publish("pya:news", "1"), 1)
        async with asyncio.timeout(5):
            message = None
            while message is None:
                message = await heard.get_message(timeout=1)
        same(message["data"], "1")


async def cancelled():
    """Whoever gave up to wait is given nothing."""
    c = gateway()
    waiting = asyncio.ensure_future(c.blpop(["pya:queue"], 0))
    await asyncio.sleep(0.3)
    waiting.cancel()
    await asyncio.sleep(0.3)
    await c.rpush("pya:queue", "job")
    same(await c.lpop("pya:queue"), "job")


def loads():
    """Clients that count while leaders move and nodes die. By default each fifth MOVED has redis-py close all
    its connections, and send again what was on its way there: an INCR is carried out twice then."""
    for name, client in (
        ("redis-py asyncio cluster RESP2", cluster(protocol=2, reinitialize_steps=0)),
        ("redis-py asyncio cluster RESP3", cluster(protocol=3, reinitialize_steps=0)),
        ("redis-py asyncio gateway", gateway()),
    ):
        yield Load(name, client.incr, client.get)

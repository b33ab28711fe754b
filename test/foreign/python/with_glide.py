"""Valkey GLIDE. Its own limit for an answer is 250 ms, in which no election fits: here it is given more."""

import asyncio
import time

import glide
from glide import ProtocolVersion, ReadFrom

from checks import check, same
from load import Load
from places import CLUSTER, GATEWAYS

ANSWER_MS = 10_000
PROTOCOLS = {"RESP2": ProtocolVersion.RESP2, "RESP3": ProtocolVersion.RESP3}


async def cluster(**options):
    places = [glide.NodeAddress(*place) for place in CLUSTER]
    options = {"request_timeout": ANSWER_MS, **options}
    return await glide.GlideClusterClient.create(glide.GlideClusterClientConfiguration(places, **options))


async def gateway(**options):
    places = [glide.NodeAddress(*GATEWAYS[0])]
    options = {"request_timeout": ANSWER_MS, **options}
    return await glide.GlideClient.create(glide.GlideClientConfiguration(places, **options))


async def checks():
    glide.Logger.set_logger_config(glide.LogLevel.OFF)
    for protocol, version in PROTOCOLS.items():
        for name, opened in (("cluster", cluster), ("gateway", gateway)):
            client = await opened(protocol=version)
            for what in (commands, batches, watches, scripts):
                title = f"GLIDE {name}, {protocol}: {what.__name__.replace('_', ' ')}"
                await check(title, _bound(what, client))
            await client.close()
    await check("GLIDE cluster: scan", scan)
    await check("GLIDE cluster: channels", channels)
    await check("GLIDE cluster: replicas", replicas)


def _bound(function, client):
    async def call():
        await function(client)

    return call


async def commands(c):
    await c.delete(["{gl}h", "{gl}z", "{gl}l"])
    await c.mset({"gl:1": "1", "gl:2": "2"})
    same(await c.mget(["gl:1", "gl:2", "gl:none"]), [b"1", b"2", None])
    await c.hset("{gl}h", {"a": "1"})
    same(await c.hgetall("{gl}h"), {b"a": b"1"})
    await c.zadd("{gl}z", {"x": 1.5})
    same(await c.zrange_withscores("{gl}z", glide.RangeByIndex(0, -1)), {b"x": 1.5})
    await c.rpush("{gl}l", ["a"])
    same(await c.blpop(["{gl}l"], 1), [b"{gl}l", b"a"])
    large = "x" * (4 << 20)
    await c.set("gl:large", large)
    same(await c.get("gl:large") == large.encode(), True)


def batch(c, atomic):
    clustered = isinstance(c, glide.GlideClusterClient)
    return glide.ClusterBatch(atomic) if clustered else glide.Batch(atomic)


async def batches(c):
    line = batch(c, atomic=False)
    for i in range(100):
        line.set(f"gl:b{i}", str(i))
    same(await c.exec(line, raise_on_error=True), ["OK"] * 100)
    line = batch(c, atomic=True)
    line.set("{gl}t", "1")
    line.incr("{gl}t")
    same(await c.exec(line, raise_on_error=True), ["OK", 2])


async def watches(c):
    other = await gateway()
    await c.watch(["{gl}w"])
    await other.set("{gl}w", "theirs")
    line = batch(c, atomic=True)
    line.set("{gl}w", "mine")
    same(await c.exec(line, raise_on_error=True), None)
    same(await c.get("{gl}w"), b"theirs")
    await other.close()


async def scripts(c):
    await c.delete(["{gl}x"])
    script = glide.Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    for sum in (2, 4):
        same(await c.invoke_script(script, keys=["{gl}x"], args=["2"]), sum)


async def scan():
    c = await cluster()
    cursor, found = glide.ClusterScanCursor(), set()
    while not cursor.is_finished():
        cursor, keys = await c.scan(cursor, match="gl:b*", count=9)
        found.update(keys)
    same(len(found), 100)


async def channels():
    settings = glide.GlideClusterClientConfiguration
    modes = settings.PubSubChannelModes
    names = {modes.Exact: {"gl:news"}, modes.Sharded: {"{1}gl", "{2}gl", "{3}gl"}}
    wanted = settings.PubSubSubscriptions(names, None, None)
    heard = await cluster(protocol=ProtocolVersion.RESP3, pubsub_subscriptions=wanted)
    c = await cluster()
    expected = {name.encode() for some in names.values() for name in some}
    seen = set()
    end = time.monotonic() + 20
    while seen != expected and time.monotonic() < end:  # it subscribes when it likes
        await c.publish("1", "gl:news")
        for name in names[modes.Sharded]:
            await c.publish("1", name, sharded=True)
        await asyncio.sleep(0.2)
        while (message := heard.try_get_pubsub_message()) is not None:
            seen.add(message.channel)
    same(seen, expected)


async def replicas():
    """What a follower answers may be up to ten seconds old."""
    c = await cluster(read_from=ReadFrom.PREFER_REPLICA)
    for i in range(20):
        await c.set(f"gl:r{i}", "1")
    for i in range(20):
        while await c.get(f"gl:r{i}") != b"1":
            await asyncio.sleep(0.1)


async def loads():
    """Clients that count while leaders move and nodes die."""
    opened = {
        "GLIDE cluster RESP2": cluster(protocol=ProtocolVersion.RESP2),
        "GLIDE cluster RESP3": cluster(protocol=ProtocolVersion.RESP3),
        "GLIDE gateway": gateway(),
    }
    clients = {name: await client for name, client in opened.items()}
    return [Load(name, client.incr, client.get) for name, client in clients.items()]

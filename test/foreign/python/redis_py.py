"""redis-py with threads: RedisCluster, and Redis at a gateway."""

import asyncio
import threading
import time

import redis
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster
from redis.exceptions import LockError
from redis.maint_notifications import MaintNotificationsConfig

from checks import check, refused, same
from load import Load
from places import CLUSTER, GATEWAYS
from since_7_py import caches, fields, functions
from streams_py import claims, groups, streams, waits


def cluster(**options):
    nodes = [ClusterNode(host, port) for host, port in CLUSTER]
    return RedisCluster(startup_nodes=nodes, decode_responses=True, **options)


def gateway(**options):
    host, port = GATEWAYS[0]
    return redis.Redis(host, port, decode_responses=True, **options)


async def checks():
    for protocol in (2, 3):
        for name, client in (
            ("cluster", cluster(protocol=protocol)),
            ("gateway", gateway(protocol=protocol)),
        ):
            where = f"{name}, RESP{protocol}"
            await check(f"redis-py {where}: commands", lambda: commands(client))
            await check(f"redis-py {where}: pipelines", lambda: pipelines(client))
            await check(f"redis-py {where}: transactions", lambda: transactions(client))
            await check(f"redis-py {where}: scans", lambda: scans(client))
            await check(f"redis-py {where}: channels", lambda: channels(client))
            await check(f"redis-py {where}: scripts", lambda: scripts(client))
            await check(f"redis-py {where}: locks", lambda: locks(client))
            for what in (streams, groups, claims, waits):
                await check(f"redis-py {where}: streams, {what.__name__}", lambda: what(client))
            await check(f"redis-py {where}: functions", lambda: functions(client))
            await check(f"redis-py {where}: deadlines of fields", lambda: fields(client))
            client.close()
    await check("redis-py cluster: a client that caches", lambda: caches(cluster))
    await check("redis-py gateway: a client that caches", lambda: caches(gateway))
    await check("redis-py cluster: shard channels", shard_channels)
    await check("redis-py cluster: replicas", replicas)
    await check("redis-py gateway: pool of blocking clients", blocking)
    await check("redis-py: users", users)
    await check("redis-py gateway: timeouts", timeouts)


def commands(c):
    c.delete("{py}h", "{py}l", "{py}z", "{py}s")
    same(c.set("{py}a", "1", ex=100, get=True) in (None, "1"), True)
    c.hset("{py}h", mapping={"a": 1, "b": 2})
    same(c.hexpire("{py}h", 100, "a"), [1])
    same(c.hgetall("{py}h"), {"a": "1", "b": "2"})
    c.zadd("{py}z", {"x": 1.5, "y": 2})
    same([list(pair) for pair in c.zrange("{py}z", 0, -1, withscores=True)], [["x", 1.5], ["y", 2.0]])
    c.rpush("{py}l", *"abc")
    same(list(c.blpop(["{py}l"], 1)), ["{py}l", "a"])
    same(c.blmove("{py}l", "{py}l", 1, "LEFT", "RIGHT"), "b")
    same(c.lrange("{py}l", 0, -1), ["c", "b"])
    c.sadd("{py}s", 1, 2, 3)
    same(c.smembers("{py}s"), {"1", "2", "3"})
    large = "x" * (4 << 20)
    c.set("{py}large", large)
    same(c.get("{py}large") == large, True)
    refused(redis.ResponseError, "WRONGTYPE", lambda: c.incr("{py}h"))
    refused(redis.ResponseError, "value-bytes-max", lambda: c.set("py", "x" * (17 << 20)))


def pipelines(c):
    line = c.pipeline(transaction=False)
    for i in range(200):
        line.set(f"py:{i}", i)
    for i in range(200):
        line.get(f"py:{i}")
    same(line.execute()[200:], [str(i) for i in range(200)])


def transactions(c):
    c.set("{py}t", 0)
    line = c.pipeline(transaction=True)
    same(line.incr("{py}t").get("{py}t").lpush("{py}t", 1).execute(raise_on_error=False)[:2], [1, "1"])
    c.transaction(lambda line: (line.multi(), line.incr("{py}t")), "{py}t")
    same(c.get("{py}t"), "2")
    line = c.pipeline(transaction=True)
    line.watch("{py}t")
    c.set("{py}t", "theirs")
    line.multi()
    line.set("{py}t", "mine")
    refused(redis.WatchError, "", line.execute)
    same(c.get("{py}t"), "theirs")
    across = c.pipeline(transaction=True)
    crossed = (redis.RedisError, redis.exceptions.RedisClusterException)
    refused(crossed, "slot", lambda: across.set("py:1", 1).set("py:2", 2).execute())


def scans(c):
    same(len(set(c.scan_iter(match="py:*", count=7))), 200)
    c.sadd("{py}set", *range(1_000))
    same(len(set(c.sscan_iter("{py}set"))), 1_000)


def channels(c):
    heard = c.pubsub(ignore_subscribe_messages=True)
    heard.subscribe("py:news")
    heard.psubscribe("py:more*")
    heard.get_message(timeout=5), heard.get_message(timeout=5)
    same((c.publish("py:news", 1), c.publish("py:more1", 2)), (1, 1))
    same({read(heard.get_message), read(heard.get_message)}, {"1", "2"})
    heard.close()


def read(get_message):
    for _ in range(100):
        message = get_message(timeout=0.1)
        if message is not None and message["type"].endswith("message"):
            return message["data"]
    raise AssertionError("no message came")


def scripts(c):
    """A script that a partition does not know is sent by its body, by the client itself."""
    add = c.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1]) --" + str(time.time_ns()))
    for i in range(20):
        c.delete(f"py-script:{i}")
        same((add([f"py-script:{i}"], [2]), add([f"py-script:{i}"], [3])), (2, 5))
    refused(redis.ResponseError, "my own", lambda: c.eval("return {err='ERR my own'}", 1, "{py}x"))
    across = (redis.ResponseError, redis.exceptions.RedisClusterException)
    refused(across, "slot", lambda: c.eval("return 1", 2, "py:1", "py:2"))
    same(c.eval_ro("return {1, ARGV[1], {2.9}}", 1, "{py}x", "a"), [1, "a", [2]])


def locks(c):
    """Taken by SET, and extended and given back by scripts."""
    c.delete("{py}lock")
    lock = c.lock("{py}lock", timeout=20)
    same(lock.acquire(blocking=False), True)
    same(c.lock("{py}lock", timeout=20).acquire(blocking=False), False)
    lock.extend(100)
    same(c.pttl("{py}lock") > 100_000, True)
    lock.reacquire()
    same(c.pttl("{py}lock") <= 20_000, True)
    lock.release()
    same(c.exists("{py}lock"), 0)
    lock = c.lock("{py}lock", timeout=20)
    lock.acquire()
    c.set("{py}lock", "theirs")
    refused(LockError, "", lock.release)


def shard_channels():
    c = cluster(protocol=3)
    heard = c.pubsub()
    names = ["{1}py", "{2}py", "{3}py"]
    for name in names:
        heard.ssubscribe(name)
    for name in names:
        same(c.spublish(name, name), 1)
    same({read(heard.get_sharded_message) for _ in names}, set(names))


def replicas():
    """What a follower answers may be up to ten seconds old."""
    for strategy in (LoadBalancingStrategy.ROUND_ROBIN, LoadBalancingStrategy.RANDOM_REPLICA):
        c = cluster(load_balancing_strategy=strategy)
        for i in range(20):
            c.set(f"py:r{i}", strategy.value)
        for i in range(20):
            while c.get(f"py:r{i}") != strategy.value:
                time.sleep(0.1)


def blocking():
    c = gateway(connection_pool=None, max_connections=60)
    waiting = [threading.Thread(target=c.blpop, args=(["py:queue"], 20)) for _ in range(50)]
    for thread in waiting:
        thread.start()
    time.sleep(0.5)
    for i in range(50):
        c.rpush("py:queue", i)
    for thread in waiting:
        thread.join()
    same(c.llen("py:queue"), 0)


def users():
    c = gateway()
    c.acl_setuser("guido", enabled=True, passwords=["+snake"], commands=["+@all"], keys=["py:*"])
    for open_client in (cluster, gateway):
        theirs = open_client(username="guido", password="snake")
        same(theirs.set("py:user", 1), True)
        refused(redis.exceptions.NoPermissionError, "", lambda: theirs.set("other", 1))
    refused(redis.AuthenticationError, "", lambda: gateway(username="guido", password="x").ping())
    c.acl_deluser("guido")


def timeouts():
    """A reply that comes too late is never taken for that of the next command."""
    c = gateway(socket_timeout=1, retry=None, single_connection_client=True)
    refused(redis.TimeoutError, "", lambda: c.blpop(["py:none"], 3))
    same((c.echo("next"), c.ping()), ("next", True))


def loads():
    """Clients that count while leaders move and nodes die."""
    notified = MaintNotificationsConfig(enabled=True)
    for name, client in (
        ("redis-py cluster RESP2", cluster(protocol=2)),
        ("redis-py cluster RESP3", cluster(protocol=3)),
        ("redis-py cluster told of moves", cluster(protocol=3, maint_notifications_config=notified)),
        ("redis-py gateway", gateway()),
    ):
        yield Load(name, in_a_thread(client.incr), in_a_thread(client.get))


def in_a_thread(function):
    return lambda key: asyncio.to_thread(function, key)

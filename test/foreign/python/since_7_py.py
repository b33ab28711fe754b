"""redis-py with what Redis has had since version 7: functions, deadlines of fields, and caching clients."""

import time

import redis
from redis.cache import CacheConfig
from redis.cluster import RedisCluster

from checks import refused, same

LIBRARY = """#!lua name=python
redis.register_function('py_add', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)
redis.register_function{function_name = 'py_none', callback = function() return 'none' end, flags = {'no-writes'}}
"""


def functions(c):
    """RedisCluster loads into all nodes, and sends what names no key to any of them."""
    c.function_load(LIBRARY, replace=True)
    c.delete("{py}f")
    same([c.fcall("py_add", 1, "{py}f", 5), c.fcall("py_add", 1, "{py}f", 2)], [5, 7])
    same([c.fcall_ro("py_none", 0) for _ in range(20)], ["none"] * 20)
    refused(redis.ResponseError, "not found", lambda: c.fcall("py_other", 1, "{py}f"))
    c.function_delete("python")
    refused(redis.ResponseError, "not found", lambda: c.fcall("py_add", 1, "{py}f", 5))


def fields(c):
    key = "{py}fields"
    c.delete(key)
    c.hset(key, mapping={"a": 1, "b": 2, "c": 3})
    same([c.hexpire(key, 100, "a", "none"), c.hpexpire(key, 100_000, "b", nx=True)], [[1, -2], [1]])
    same([min(left, 80) for left in c.httl(key, "a", "b", "c")], [80, 80, -1])
    same([c.hpersist(key, "a"), c.hexpireat(key, 4_102_444_800, "a")], [[1], [1]])
    same(c.hexpiretime(key, "a"), [4_102_444_800])
    same([c.hgetdel(key, "c"), c.hgetex(key, "a", ex=50), c.hsetex(key, "d", 4, px=50)], [["3"], ["1"], 1])
    while c.hlen(key) > 2:
        time.sleep(0.02)
    same(c.hgetall(key), {"a": "1", "b": "2"})


def caches(open_client):
    """A client that caches answers by itself until it is told of another's write."""
    mine, other = open_client(protocol=3, cache_config=CacheConfig()), open_client()
    for at in range(20):
        key = f"py:cached:{at}"
        other.set(key, "1")
        same([mine.get(key), mine.get(key)], ["1", "1"])
    cache = mine.nodes_manager._cache if isinstance(mine, RedisCluster) else mine.get_cache()
    same(cache.size, 20)
    for at in range(20):
        other.set(f"py:cached:{at}", "2")
    for at in range(20):
        while mine.get(f"py:cached:{at}") != "2":
            time.sleep(0.02)
    mine.close(), other.close()

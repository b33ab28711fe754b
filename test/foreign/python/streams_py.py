"""redis-py and coredis with streams: who appends, a group of two consumers, who waits, claims and trims."""

import asyncio
import threading

import coredis
import redis

from checks import refused, same

ENTRIES = 200


def streams(c):
    key = "{py}stream"
    c.delete(key)
    append(c, key)
    ids = [id for id, _ in c.xrange(key)]
    same(len(ids), 4)
    same(c.xrevrange(key, count=1), [(ids[3], {"n": "3"})])
    same(c.xrange(key, min=f"({ids[1]}", max=ids[2]), [(ids[2], {"n": "2"})])
    same(entries(c.xread({key: ids[2]})), [(ids[3], {"n": "3"})])
    same(c.xdel(key, ids[0], "1-1"), 1)
    same(c.xtrim(key, maxlen=2, approximate=False), 1)
    same(c.xtrim(key, minid=ids[3], approximate=False), 1)
    same(c.xlen(key), 1)
    info = c.xinfo_stream(key)
    same([info[field] for field in ("length", "last-generated-id", "entries-added")], [1, ids[3], 4])
    same([info["first-entry"], info["max-deleted-entry-id"]], [(ids[3], {"n": "3"}), ids[0]])
    refused(redis.ResponseError, "equal or smaller", lambda: c.xadd(key, {"n": 1}, id="1-1"))
    same(c.xadd(key, {"n": 1}, id="9999999999999-7"), "9999999999999-7")
    same(c.xadd("{py}none", {"n": 1}, nomkstream=True), None)
    same(c.xtrim(key, maxlen=0, approximate=False), 2)
    same([c.exists(key), c.xlen(key), c.type(key)], [1, 0, "stream"])


def append(c, key):
    for n in range(4):
        c.xadd(key, {"n": n})


def entries(reply):
    """Of one stream; RESP3 answers with a map."""
    if not reply:
        return []
    if isinstance(reply, dict):
        (batches,) = reply.values()
        return batches[0] if batches and isinstance(batches[0], list) else batches
    return reply[0][1]


def groups(c):
    """Two consumers get each entry once, while two others append them."""
    key = "{py}work"
    c.delete(key)
    same(c.xgroup_create(key, "g", "$", mkstream=True), True)
    refused(redis.ResponseError, "BUSYGROUP", lambda: c.xgroup_create(key, "g"))
    seen = {"one": [], "two": []}
    consumers = [threading.Thread(target=consume, args=(c, key, name, seen)) for name in seen]
    producers = [threading.Thread(target=produce, args=(c, key, n)) for n in range(2)]
    for thread in consumers + producers:
        thread.start()
    for thread in consumers + producers:
        thread.join()
    same(sorted(seen["one"] + seen["two"]), sorted(f"{n}-{i}" for n in range(2) for i in range(ENTRIES)))
    same(c.xpending(key, "g")["pending"], 0)
    (group,) = c.xinfo_groups(key)
    same([group["name"], group["consumers"], group["lag"]], ["g", 2, 0])
    same(group["entries-read"], 2 * ENTRIES)
    same(sorted(each["name"] for each in c.xinfo_consumers(key, "g")), ["one", "two"])
    same([c.xgroup_delconsumer(key, "g", "one"), c.xgroup_destroy(key, "g")], [0, 1])


def produce(c, key, n):
    for i in range(ENTRIES):
        c.xadd(key, {"n": f"{n}-{i}"})


def consume(c, key, name, seen):
    while True:
        batch = entries(c.xreadgroup("g", name, {key: ">"}, count=10, block=2_000))
        if not batch:
            return
        seen[name] += [fields["n"] for _, fields in batch]
        same(c.xack(key, "g", *(id for id, _ in batch)), len(batch))


def claims(c):
    """What a consumer has not acknowledged is pending, and may be claimed by another."""
    key = "{py}claims"
    c.delete(key)
    append(c, key)
    c.xgroup_create(key, "g", "0")
    batch = entries(c.xreadgroup("g", "dead", {key: ">"}, count=3))
    ids = [id for id, _ in batch]
    same(len(ids), 3)
    same(entries(c.xreadgroup("g", "dead", {key: "0"})), batch)
    pending = c.xpending(key, "g")
    same([pending["pending"], pending["min"], pending["max"]], [3, ids[0], ids[2]])
    same(pending["consumers"], [{"name": "dead", "pending": 3}])
    same(c.xclaim(key, "g", "heir", 60_000, [ids[0]]), [])
    same(c.xclaim(key, "g", "heir", 0, [ids[0]]), batch[:1])
    same(c.xclaim(key, "g", "heir", 0, [ids[1]], justid=True), [ids[1]])
    ranged = c.xpending_range(key, "g", "-", "+", 10, consumername="heir")
    same([(each["message_id"], each["times_delivered"]) for each in ranged], [(ids[0], 3), (ids[1], 2)])
    c.xdel(key, ids[2])
    cursor, claimed, deleted = c.xautoclaim(key, "g", "other", 0, count=10)
    same([cursor, claimed, deleted], ["0-0", batch[:2], [ids[2]]])
    same(c.xack(key, "g", *ids), 2)
    same(c.xgroup_setid(key, "g", "0"), True)
    same(len(entries(c.xreadgroup("g", "other", {key: ">"}, noack=True))), 3)
    same(c.xpending(key, "g")["pending"], 0)
    full = c.xinfo_stream(key, full=True)
    same([len(full["entries"]), len(full["groups"])], [3, 1])
    refused(redis.ResponseError, "NOGROUP", lambda: c.xreadgroup("none", "a", {key: ">"}))


def waits(c):
    """Who waits is answered by the next XADD; who waits in vain, after its time."""
    key = "{py}waits"
    c.delete(key)
    same(c.xread({key: "$"}, block=100) or [], [])
    timer = threading.Timer(0.5, lambda: c.xadd(key, {"n": "late"}))
    timer.start()
    (entry,) = entries(c.xread({key: "$", "{py}none": "$"}, block=20_000))
    same(entry[1], {"n": "late"})
    timer.join()


async def coredis_streams(c):
    key = "{co}stream"
    await c.delete([key])
    ids = [await c.xadd(key, {"n": str(n)}) for n in range(3)]
    same(await c.xlen(key), 3)
    same([entry.identifier for entry in await c.xrange(key)], ids)
    same([entry.identifier for entry in await c.xrevrange(key, count=1)], ids[2:])
    same(await c.xgroup_create(key, "g", "0"), True)
    batch = (await c.xreadgroup("g", "one", {key: ">"}, count=2))[key]
    same([entry.identifier for entry in batch], ids[:2])
    same((await c.xpending(key, "g")).pending, 2)
    claimed = await c.xclaim(key, "g", "two", 0, ids[:1])
    same([entry.identifier for entry in claimed], ids[:1])
    cursor, claimed, _ = await c.xautoclaim(key, "g", "three", 0, "0-0")
    same([len(claimed), cursor], [2, "0-0"])
    same(await c.xack(key, "g", ids), 2)
    same((await c.xinfo_stream(key))["length"], 3)
    same(len(await c.xinfo_groups(key)), 1)
    same(len(await c.xinfo_consumers(key, "g")), 3)
    waiting = asyncio.ensure_future(c.xread({key: "$"}, block=20_000))
    await asyncio.sleep(0.5)
    late = await c.xadd(key, {"n": "late"})
    same([entry.identifier for entry in (await waiting)[key]], [late])
    same(await c.xtrim(key, coredis.PureToken.MAXLEN, 0), 4)

"""What runs Lua scripts: locks, counters, and limits that caches and web frameworks build with them."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import aiocache
import flask
import flask_limiter
from flask_limiter.util import get_remote_address
from place import HOST, PORT, SPREAD_URL, case, client, expect


def script_cases():
    from django.core.cache import caches

    cache = caches["django-redis"]
    case("django-redis counts", lambda: django_redis_counts(cache))
    case("django-redis locks", lambda: django_redis_locks(cache))
    case("aiocache's RedLock", lambda: asyncio.run(aiocache_locks()))
    case("aiocache's optimistic lock", lambda: asyncio.run(aiocache_optimistic()))
    for strategy in ("fixed-window", "moving-window", "sliding-window-counter"):
        case(f"flask-limiter, {strategy}", lambda strategy=strategy: flask_limits(strategy))


def django_redis_counts(cache):
    cache.set("count", 1)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cache.incr("count"), range(100)))
    expect([cache.get("count"), cache.decr("count", 1)], [101, 100])
    try:
        cache.incr("none")
    except ValueError:
        return
    raise AssertionError("what is not there was counted")


def django_redis_locks(cache):
    """Threads add to what they read: what they do without the lock's help is lost."""
    cache.set("shared", 0)

    def add(_):
        with cache.lock("lock", timeout=30):
            value = cache.get("shared")
            time.sleep(0.002)
            cache.set("shared", value + 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(24)))
    expect(cache.get("shared"), 24)


async def aiocache_locks():
    """Of those who miss at once, one asks, and the others are given what it found."""
    async with aiocache.Cache(aiocache.Cache.REDIS, endpoint=HOST, port=int(PORT)) as cache:
        await cache.delete("once")
        asked = []

        async def one(i):
            async with aiocache.lock.RedLock(cache, "once", lease=20):
                found = await cache.get("once")
                if found is not None:
                    return found
                asked.append(i)
                await cache.set("once", f"by {i}")
                return f"by {i}"

        answers = await asyncio.gather(*[one(i) for i in range(10)])
        expect([len(asked), len(set(answers))], [1, 1])


async def aiocache_optimistic():
    async with aiocache.Cache(aiocache.Cache.REDIS, endpoint=HOST, port=int(PORT)) as cache:
        await cache.set("seen", "old")
        async with aiocache.lock.OptimisticLock(cache, "seen") as lock:
            expect(await lock.cas("new"), True)
        async with aiocache.lock.OptimisticLock(cache, "seen") as lock:
            await cache.set("seen", "theirs")
            try:
                await lock.cas("mine")
            except aiocache.lock.OptimisticLockError:
                return
        raise AssertionError("what has changed was written over")


def flask_limits(strategy):
    app = flask.Flask(f"limited-{strategy}")
    flask_limiter.Limiter(
        get_remote_address,
        app=app,
        default_limits=["5 per hour"],
        storage_uri=SPREAD_URL,
        strategy=strategy,
        key_prefix=strategy,
    )

    @app.get("/")
    def page():
        return "page"

    browser = app.test_client()
    expect([browser.get("/").status_code for _ in range(8)], [200] * 5 + [429] * 3)

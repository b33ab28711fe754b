"""
Caches and sessions of Django, Flask and aiocache. What is one key works in any namespace; what sets
many is a transaction, and wants one of one partition.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import aiocache
import django
import flask
import flask_caching
import flask_session
from django.conf import settings
from place import HOST, ONE_PARTITION, PORT, SPREAD_URL, URL, case, client, expect

DJANGO = "django.core.cache.backends.redis.RedisCache"
DJANGO_REDIS = "django_redis.cache.RedisCache"
ZLIB = {"COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor"}

settings.configure(
    CACHES={
        "default": {"BACKEND": DJANGO, "LOCATION": SPREAD_URL},
        "default-one": {"BACKEND": DJANGO, "LOCATION": URL},
        "django-redis": {"BACKEND": DJANGO_REDIS, "LOCATION": SPREAD_URL, "OPTIONS": ZLIB},
        "django-redis-one": {"BACKEND": DJANGO_REDIS, "LOCATION": URL, "OPTIONS": ZLIB},
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
)
django.setup()


def cache_cases():
    from django.core.cache import caches

    client(0).flushdb()
    for name in ("default", "django-redis"):
        cache = caches[name]
        case(f"django {name} keeps values", lambda cache=cache: django_values(cache))
        case(f"django {name} keeps many", lambda one=caches[f"{name}-one"]: django_many(one))
        case(f"django {name} deadlines", lambda cache=cache: django_deadlines(cache))
        case(f"django {name} adds once", lambda cache=cache: django_adds_once(cache))
    case("django default counts", lambda: django_counts(caches["default"]))
    case("django-redis finds keys", lambda: django_finds(caches["django-redis-one"]))
    case("django sessions", django_sessions)
    case("django clears", lambda: django_clears(caches["default"]))
    case("flask-session", flask_sessions)
    case("flask-caching", flask_caches)
    case("aiocache", lambda: asyncio.run(aiocache_values()))


def django_many(cache):
    values = {f"key:{i}": {"i": i, "text": "x" * i * 100} for i in range(100)}
    cache.set_many(values)
    expect(cache.get_many(values), values)
    cache.delete_many(values)
    expect(cache.get_many(values), {})


def django_values(cache):
    values = {f"key:{i}": {"i": i, "text": "x" * i * 100} for i in range(100)}
    for key, value in values.items():
        cache.set(key, value)
    expect(cache.get_many(values), values)
    expect(cache.get("none", "default"), "default")
    cache.set("big", b"\x00\xff" * 2_000_000)
    expect(cache.get("big"), b"\x00\xff" * 2_000_000)
    cache.delete_many(values)
    expect(cache.get_many(values), {})


def django_deadlines(cache):
    cache.set("soon", 1, timeout=1)
    cache.set("later", 1, timeout=1)
    expect(cache.touch("later", 100), True)
    time.sleep(1.5)
    expect([cache.get("soon"), cache.get("later")], [None, 1])
    cache.set("gone", 1, timeout=0)
    expect(cache.get("gone"), None)


def django_adds_once(cache):
    cache.delete("once")
    with ThreadPoolExecutor(8) as threads:
        expect(sum(threads.map(lambda i: bool(cache.add("once", i)), range(32))), 1)


def django_counts(cache):
    cache.set("count", 1)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cache.incr("count"), range(100)))
    expect(cache.get("count"), 101)
    expect(cache.decr("count", 1), 100)


def django_finds(cache):
    for i in range(50):
        cache.set(f"find:{i}", i, timeout=None)
    expect(len(list(cache.iter_keys("find:*"))), 50)
    expect(cache.ttl("find:1"), None)
    expect(cache.delete_pattern("find:*"), 50)


def django_sessions():
    from django.contrib.sessions.backends.cache import SessionStore

    session = SessionStore()
    session["user"] = 7
    session.save()
    expect(SessionStore(session.session_key)["user"], 7)
    old = session.session_key
    session.cycle_key()
    expect([SessionStore(old).load(), SessionStore(session.session_key)["user"]], [{}, 7])


def django_clears(cache):
    cache.set("a", 1)
    cache.clear()
    expect([cache.get("a"), client(0).dbsize()], [None, 0])


def flask_sessions():
    app = flask.Flask("suite")
    app.config.update(SESSION_TYPE="redis", SESSION_REDIS=client(0))
    flask_session.Session(app)

    @app.get("/")
    def visits():
        flask.session["visits"] = flask.session.get("visits", 0) + 1
        return str(flask.session["visits"])

    browser = app.test_client()
    expect([browser.get("/").text for _ in range(3)], ["1", "2", "3"])
    expect(len(client(0).keys("session:*")), 1)


def flask_caches():
    app = flask.Flask("suite")
    cache = flask_caching.Cache(
        app, config={"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": SPREAD_URL}
    )
    asked = []

    @cache.memoize(60)
    def square(n):
        asked.append(n)
        return n * n

    with app.app_context():
        expect([square(3), square(3), square(4)], [9, 9, 16])
        cache.delete_memoized(square)
        expect([square(3), asked], [9, [3, 4, 3]])
        expect(cache.clear(), True)


async def aiocache_values():
    place = {"endpoint": HOST, "port": int(PORT), "db": ONE_PARTITION}
    async with aiocache.Cache(aiocache.Cache.REDIS, namespace="aio:", **place) as cache:
        expect(await cache.multi_set([("a", "1"), ("b", "2")], ttl=100), True)
        expect(await cache.multi_get(["a", "b", "c"]), ["1", "2", None])
        await cache.set("n", 1)
        expect(await cache.increment("n", 4), 5)
        expect(await asyncio.gather(*[cache.exists("a") for _ in range(50)]), [True] * 50)
        expect(await cache.delete("a"), 1)
        expect(await cache.clear(namespace="aio:"), True)

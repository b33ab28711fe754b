"""What Huey's worker runs."""

from huey import RedisExpireHuey, RedisHuey
from place import URL, client

huey = RedisHuey("suite", url=URL)
expiring = RedisExpireHuey("expiring", url=URL)


@huey.task()
def huey_add(a, b):
    return a + b


@huey.task(retries=2)
def huey_third(key):
    if client().incr(key) < 3:
        raise ValueError("again")


@huey.task()
def huey_note(name):
    client().sadd("noted", name)


@huey.lock_task("one")
def huey_locked():
    return huey.is_locked("one")


@huey.task(retries=1, retry_delay=1)
def huey_second(key):
    if client().incr(key) < 2:
        raise ValueError("again")

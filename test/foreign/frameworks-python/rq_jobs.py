"""What RQ's worker runs."""

from place import client


def add(a, b):
    return a + b


def third_time():
    tries = client().incr("rq-tries")
    if tries < 3:
        raise ValueError("as it should")
    return tries


def note(name):
    client().sadd("rq-noted", name)


def fails():
    raise ValueError("as it should")

"""Celery and Dramatiq with their queues in kvorum."""

import time

import celery
import dramatiq
from dramatiq.brokers.redis import RedisBroker
from jobs import app, celery_add, celery_again, celery_sum
from place import URL, Program, case, eventually, expect

# What runs at a time, runs then or after some looks at the clock.
LATER_SECONDS = 2


def broker_cases():
    flags = ["-c", "2", "-Q", "scripted", "--prefetch-multiplier", "1"]
    with Program("celery", "-A", "jobs", "worker", *flags):
        case("celery's broker runs tasks", celery_many)
        case("celery runs a chord", celery_chord)
        case("celery runs a task at its time", celery_later)
        case("celery tries again", lambda: expect(celery_again.delay().get(timeout=60), 3))
        case("celery's worker answers", celery_control)
    case("celery's broker empties", lambda: expect(app.control.purge() >= 0, True))
    case("dramatiq's broker runs messages", dramatiq_broker)


def celery_many():
    results = [celery_add.delay(i, i) for i in range(50)]
    expect(sum(result.get(timeout=60) for result in results), 2450)


def celery_chord():
    chord = celery.chord(celery_add.s(i, i) for i in range(20))(celery_sum.s())
    expect(chord.get(timeout=60), 380)


def celery_later():
    began = time.monotonic()
    result = celery_add.apply_async((1, 2), countdown=LATER_SECONDS)
    expect(result.get(timeout=60), 3)
    expect(time.monotonic() - began >= LATER_SECONDS - 0.5, True)


def celery_control():
    expect(len(app.control.inspect(timeout=10).ping()), 1)


def dramatiq_broker():
    broker = RedisBroker(url=URL, namespace="dramatiq-suite")
    ran = []

    @dramatiq.actor(broker=broker, min_backoff=100, max_retries=3)
    def note(name):
        ran.append(name)
        if name == "twice" and ran.count(name) < 2:
            raise ValueError("again")

    worker = dramatiq.Worker(broker, worker_threads=2, worker_timeout=100)
    worker.start()
    try:
        began = time.monotonic()
        note.send_with_options(args=("late",), delay=LATER_SECONDS * 1_000)
        for i in range(20):
            note.send(i)
        note.send("twice")
        eventually(lambda: sorted(map(str, ran)) == wanted(), 60)
        expect(time.monotonic() - began >= LATER_SECONDS - 0.5, True)
        broker.join(note.queue_name, timeout=20_000)
    finally:
        worker.stop()
        broker.close()


def wanted():
    return sorted([*map(str, range(20)), "late", "twice", "twice"])

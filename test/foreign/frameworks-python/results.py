"""Celery's and Dramatiq's results, and Dramatiq's rate limiters. Their brokers are elsewhere here: in files, or in memory."""

from concurrent.futures import ThreadPoolExecutor

import celery
import dramatiq
from dramatiq.brokers.stub import StubBroker
from dramatiq.rate_limits import BucketRateLimiter, ConcurrentRateLimiter, WindowRateLimiter
from dramatiq.rate_limits.backends import RedisBackend as LimitsBackend
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as ResultsBackend
from place import FOLDER, SPREAD_URL, URL, Program, case, expect

FILES = FOLDER / ".venv" / "celery"
app = celery.Celery("results", broker="filesystem://", backend=URL)
app.conf.broker_transport_options = {
    name: str(FILES) for name in ("data_folder_in", "data_folder_out", "control_folder")
}


@app.task
def add(a, b):
    return a + b


@app.task
def fail():
    raise ValueError("as it should")


def celery_cases():
    FILES.mkdir(exist_ok=True)
    for file in FILES.iterdir():
        file.unlink()
    with Program(
        "celery", "-A", "results", "worker", "-c", "2", "--without-mingle", "--without-gossip"
    ):
        case("celery keeps results", lambda: expect(add.delay(1, 2).get(timeout=60), 3))
        case(
            "celery runs a chain",
            lambda: expect((add.s(1, 2) | add.s(3)).delay().get(timeout=60), 6),
        )
        case("celery runs a group", celery_group)
        case("celery keeps failures", celery_failure)
        case("celery forgets", celery_forgets)
    dramatiq_cases()


def celery_group():
    group = celery.group(add.s(i, i) for i in range(50))()
    expect(sum(group.get(timeout=60)), 2450)


def celery_failure():
    result = fail.delay()
    result.get(timeout=60, propagate=False)
    expect([result.state, str(result.result)], ["FAILURE", "as it should"])


def celery_forgets():
    result = add.delay(1, 1)
    result.get(timeout=60)
    result.forget()
    expect(app.AsyncResult(result.id).state, "PENDING")


def dramatiq_cases():
    broker = StubBroker()
    broker.add_middleware(Results(backend=ResultsBackend(url=SPREAD_URL)))
    dramatiq.set_broker(broker)
    actor = dramatiq.actor(store_results=True)(lambda n: n * n)
    worker = dramatiq.Worker(broker)
    worker.start()
    case("dramatiq keeps results", lambda: dramatiq_results(actor))
    worker.stop()
    limits = LimitsBackend(url=URL)
    case("dramatiq's window limits", lambda: dramatiq_window(limits))
    case("dramatiq's mutex holds", lambda: dramatiq_mutex(limits))
    case("dramatiq's bucket limits", lambda: dramatiq_bucket(limits))


def dramatiq_results(actor):
    messages = [actor.send(n) for n in range(20)]
    expect(
        [message.get_result(block=True, timeout=30_000) for message in messages],
        [n * n for n in range(20)],
    )


def acquired(limiter):
    with limiter.acquire(raise_on_failure=False) as got:
        return got


def dramatiq_window(limits):
    limiter = WindowRateLimiter(limits, "window", limit=10, window=60)
    with ThreadPoolExecutor(4) as threads:
        expect(sum(threads.map(lambda _: acquired(limiter), range(25))), 10)


def dramatiq_mutex(limits):
    limiter = ConcurrentRateLimiter(limits, "mutex", limit=1)
    with limiter.acquire():
        expect(acquired(limiter), False)
    expect(acquired(limiter), True)


def dramatiq_bucket(limits):
    limiter = BucketRateLimiter(limits, "bucket", limit=3, bucket=60_000)
    expect(sum(acquired(limiter) for _ in range(6)), 3)

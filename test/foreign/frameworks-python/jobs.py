"""What Celery's worker runs, that has its queue in kvorum."""

import celery
from place import URL, client

app = celery.Celery("jobs", broker=URL, backend=URL)
app.conf.update(
    task_default_queue="scripted",
    broker_connection_retry_on_startup=True,
    redis_backend_health_check_interval=None,
)


@app.task
def celery_add(a, b):
    return a + b


@app.task
def celery_sum(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=5)
def celery_again(self):
    tries = client().incr("celery-tries")
    if tries < 3:
        raise self.retry(countdown=0.2)
    return tries

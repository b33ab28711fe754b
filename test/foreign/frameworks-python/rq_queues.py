"""RQ, whose workers keep the results of jobs in streams."""

import time
from datetime import timedelta

import rq
import rq_jobs
from place import URL, Program, case, client, eventually, expect
from rq.group import Group
from rq.job import JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry
from workers import kill_datanode


def rq_cases():
    client().delete("rq-tries", "rq-noted")
    queue = rq.Queue("suite", connection=client())
    with worker():
        case("rq runs a job, and keeps its result", lambda: answers(queue))
        case("rq keeps each result of a job", lambda: keeps(queue))
        case("rq tries again", lambda: tries_again(queue))
        case("rq tells of a failure", lambda: fails(queue))
        case("rq runs a job after others", lambda: depends(queue))
        case("rq runs a group of jobs", lambda: group(queue))
        case("rq runs a job at its time", lambda: later(queue))
        case("rq repeats a job", lambda: repeats(queue))
        case("rq waits for a result", lambda: waits(queue))
    case("rq's jobs outlive a datanode", lambda: outlive(queue))


def worker():
    return Program("rq", "worker", "--url", URL, "--with-scheduler", "--quiet", "suite")


def finished(job, status=JobStatus.FINISHED):
    eventually(lambda: job.get_status(refresh=True) == status, 60)
    return job


def answers(queue):
    jobs = [queue.enqueue(rq_jobs.add, i, i) for i in range(20)]
    expect(sum(finished(job).return_value() for job in jobs), 380)
    expect(all(job.id in FinishedJobRegistry(queue=queue) for job in jobs), True)
    expect(client().xlen(f"rq:results:{jobs[0].id}"), 1)


def keeps(queue):
    job = finished(queue.enqueue(rq_jobs.add, 1, 2))
    queue.enqueue_job(job)
    eventually(lambda: len(job.results()) == 2)
    expect([result.return_value for result in job.results()], [3, 3])


def tries_again(queue):
    job = queue.enqueue(rq_jobs.third_time, retry=rq.Retry(max=3))
    expect(finished(job).return_value(refresh=True), 3)


def fails(queue):
    job = finished(queue.enqueue(rq_jobs.fails), JobStatus.FAILED)
    result = job.latest_result()
    expect([result.type.name, "as it should" in result.exc_string], ["FAILED", True])
    expect(job.id in FailedJobRegistry(queue=queue), True)


def depends(queue):
    first = [queue.enqueue(rq_jobs.add, i, i) for i in range(3)]
    last = queue.enqueue(rq_jobs.add, 1, 1, depends_on=first)
    expect(finished(last).return_value(), 2)
    expect([job.get_status() for job in first], [JobStatus.FINISHED] * 3)


def group(queue):
    datas = [rq.Queue.prepare_data(rq_jobs.add, (i, 1)) for i in range(5)]
    made = Group.create(connection=client())
    jobs = made.enqueue_many(queue, datas)
    expect(len(made.get_jobs()), 5)
    expect(sorted(finished(job).return_value() for job in jobs), [1, 2, 3, 4, 5])


def later(queue):
    began = time.monotonic()
    expect(finished(queue.enqueue_in(timedelta(seconds=2), rq_jobs.add, 1, 2)).return_value(), 3)
    expect(time.monotonic() - began >= 1.5, True)


def repeats(queue):
    job = queue.enqueue(rq_jobs.add, 2, 2, repeat=rq.Repeat(times=2, interval=1))
    eventually(lambda: len(job.results()) == 3, 60)


def waits(queue):
    """XREAD BLOCK of the job's results."""
    job = queue.enqueue_in(timedelta(seconds=1), rq_jobs.add, 4, 4)
    expect(job.latest_result(timeout=60).return_value, 8)


def outlive(queue):
    """A worker whose connection is refused may end, and is started again, by its supervisor elsewhere."""
    with worker():
        jobs = [queue.enqueue(rq_jobs.note, f"job{i}") for i in range(10)]
        kill_datanode("datanode1")
        eventually(lambda: client().ping(), 60)
    jobs += [queue.enqueue(rq_jobs.note, f"later{i}") for i in range(10)]
    with worker():
        # one may have been taken from its list and lost, as beside any Redis
        go_on(len(jobs) - 1)


def go_on(wanted):
    """Each job is a process of its own, which takes seconds on a busy machine: so one after the other."""
    for count in range(1, wanted + 1):
        eventually(lambda: client().scard("rq-noted") >= count, 60)

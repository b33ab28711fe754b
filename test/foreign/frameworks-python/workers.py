"""Huey: a worker that runs tasks, while a datanode is killed too."""

import json
import os
import signal
import time
from pathlib import Path

import tasks
from place import Program, case, client, eventually, expect


def huey_cases():
    with Program("huey_consumer", "tasks.huey", "-w", "2", "-q"):
        case("huey runs a task", lambda: expect(answer(tasks.huey_add(1, 2)), 3))
        case("huey tries again", tries_again)
        case("huey runs a pipeline", pipeline)
        case("huey runs many", many)
        case("huey runs a task at its time", later)
        case("huey tries again later", tries_later)
        case("huey goes on while a datanode is killed", killed)
    case("huey locks", lambda: expect(tasks.huey_locked(), True))
    case("huey revokes", revokes)
    case("huey's results expire", expires)


def answer(result):
    return result.get(blocking=True, timeout=30)


def tries_again():
    # Its failures are its results until the last try, so these say nothing.
    tasks.huey_third("tries")
    eventually(lambda: client().get("tries") == b"3")


def pipeline():
    task = tasks.huey_add.s(1, 2).then(tasks.huey_add, 10)
    expect([answer(result) for result in tasks.huey.enqueue(task)], [3, 13])


def many():
    results = [tasks.huey_add(i, 0) for i in range(50)]
    expect(sum(answer(result) for result in results), 1225)


def later():
    began = time.monotonic()
    result = tasks.huey_add.schedule((1, 2), delay=2)
    expect(answer(result), 3)
    expect(time.monotonic() - began >= 1.5, True)


def tries_later():
    tasks.huey_second("later-tries")
    eventually(lambda: client().get("later-tries") == b"2")


def killed():
    """Kills the node that the worker is connected to: what it took may be lost with it, what waits is not."""
    enqueued = [enqueue(f"task{i}") for i in range(100)]
    kill_datanode("datanode1")
    eventually(lambda: client().ping(), 60)
    enqueued += [enqueue(f"later{i}") for i in range(100)]
    eventually(lambda: tasks.huey.storage.queue_size() == 0, 60)
    # Two workers, each with a task on its way at most.
    eventually(lambda: client().scard("noted") >= len(enqueued) - 2, 60)


def enqueue(name):
    tasks.huey_note(name)
    return name


def kill_datanode(name):
    if "KVORUM_DIRECTORY" not in os.environ:
        return
    file = Path(os.environ["KVORUM_DIRECTORY"]) / "run" / f"{name}.json"
    os.kill(json.loads(file.read_text())["pid"], signal.SIGKILL)


def revokes():
    result = tasks.huey_add(1, 1)
    result.revoke()
    expect(result.is_revoked(), True)
    tasks.huey.flush()


def expires():
    storage = tasks.expiring.storage
    storage.put_data("a", b"value", is_result=True)
    expect(client().ttl(storage.result_key("a")) > 0, True)
    expect(storage.pop_data("a"), b"value")

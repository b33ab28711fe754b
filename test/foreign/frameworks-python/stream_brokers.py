"""What sends messages over streams: taskiq, FastStream and walrus."""

import asyncio

import walrus
from faststream.redis import RedisBroker, StreamSub
from place import HOST, PORT, SPREAD_URL, case, client, expect
from taskiq.receiver import Receiver
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

MESSAGES = 100
# It claims in a transaction with a lock, whose key has the name of the queue in it.
QUEUE = "{taskiq}"


def stream_cases():
    c = client(db=0)
    c.delete(QUEUE, "faststream", "walrus")
    case("taskiq runs tasks of a stream", lambda: asyncio.run(taskiq_tasks()))
    case("FastStream's subscribers", lambda: asyncio.run(faststream_messages()))
    case("walrus' consumer groups", walrus_groups)


async def taskiq_tasks():
    broker = broker_of(QUEUE)

    @broker.task(task_name="double")
    async def double(n):
        return 2 * n

    await broker.startup()
    await broker_serves(broker)
    tasks = [await double.kiq(n) for n in range(MESSAGES)]
    results = [await task.wait_result(timeout=60) for task in tasks]
    expect([result.return_value for result in results], [2 * n for n in range(MESSAGES)])
    expect(client(db=0).xpending(QUEUE, "taskiq")["pending"], 0)
    await broker.shutdown()


def broker_of(queue):
    broker = RedisStreamBroker(SPREAD_URL, queue_name=queue, xread_block=500)
    return broker.with_result_backend(RedisAsyncResultBackend(SPREAD_URL))


async def broker_serves(broker):
    """As `taskiq worker` does, within this process."""
    broker.is_worker_process = True
    receiver = Receiver(broker, run_startup=False)
    broker.serving = asyncio.create_task(receiver.listen(asyncio.Event()))


async def faststream_messages():
    """Two subscribers of one group share the messages; one of another group gets them all."""
    broker = RedisBroker(SPREAD_URL, logger=None)
    shared, all_of_them = [], []
    for name in ("one", "two"):
        sub = StreamSub("faststream", group="shared", consumer=name, polling_interval=200)

        @broker.subscriber(stream=sub)
        async def of_group(n: int):
            shared.append(n)

    @broker.subscriber(stream=StreamSub("faststream", group="all", consumer="c", polling_interval=200))
    async def of_all(n: int):
        all_of_them.append(n)

    async with broker:
        await broker.start()
        for n in range(MESSAGES):
            await broker.publish(n, stream="faststream", maxlen=1_000)
        for _ in range(600):
            if len(shared) >= MESSAGES and len(all_of_them) >= MESSAGES:
                break
            await asyncio.sleep(0.1)
    expect([sorted(shared), sorted(all_of_them)], [list(range(MESSAGES))] * 2)


def walrus_groups():
    database = walrus.Database(host=HOST, port=int(PORT), db=0)
    database.delete("{walrus}a", "{walrus}b")
    group = database.consumer_group("g", ["{walrus}a", "{walrus}b"])
    group.create()
    group.set_id("$")
    ids = [database.xadd(key, {"n": n}) for n, key in enumerate(("{walrus}a", "{walrus}b"))]
    read = group.read(count=10, block=1_000)
    expect(sorted((key, len(entries)) for key, entries in read), [(b"{walrus}a", 1), (b"{walrus}b", 1)])
    stream = database.Stream("{walrus}a")
    expect([stream[ids[0]][1], len(stream)], [{b"n": b"0"}, 1])
    expect(group.streams["{walrus}a"].pending()[0]["message_id"], ids[0])
    expect(group.streams["{walrus}a"].claim(ids[0])[0][0], ids[0])
    expect(group.streams["{walrus}a"].ack(ids[0]), 1)
    group.destroy()

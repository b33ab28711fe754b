"""Asks all the time through redis-py until standard input ends, and says what came of each request.

ask-redis-py.py cluster|replicas|gateway PORT...

The first line is "ready VERSION"; then one line per request: "read", "write", "error TEXT" (a node
answered with an error), "unknown TEXT" (UNKNOWNOUTCOME), "lost TEXT" (no answer).
"""

import collections
import logging
import os
import sys
import threading
import time

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import AskError

LOOPS = 2
KEYS = 32
PAUSE_SECONDS = 0.005
# Error replies that redis-py makes connection errors of.
REPLIES = (redis.ResponseError, redis.BusyLoadingError, redis.AuthenticationError)

running = True


class Steps(logging.Handler):
    """What the library logs of its last steps, thread by thread: it raises without saying why."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.last = collections.defaultdict(lambda: collections.deque(maxlen=36))

    def emit(self, record):
        failure = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() if failure is None else f"{type(failure).__name__} {failure}"
        self.last[threading.get_ident()].append(text.rpartition(": ")[2])

    def told(self):
        return ", ".join(self.last[threading.get_ident()])


steps = Steps()
logging.getLogger().addHandler(steps)
logging.getLogger().setLevel(logging.DEBUG)


def open_client(mode, ports):
    if mode == "gateway":
        return redis.Redis(port=ports[0])
    nodes = [ClusterNode("127.0.0.1", port) for port in ports]
    return RedisCluster(startup_nodes=nodes, read_from_replicas=mode == "replicas")


def say(line):
    # one write per line: threads do not mix theirs
    os.write(1, (line.replace("\n", " ") + "\n").encode())


def kind_of(failure):
    """An error reply may be the reason of what the library raises; MOVED is what it follows."""
    seen = failure if isinstance(failure, redis.RedisError) else None
    while seen is not None:
        if str(seen).startswith("UNKNOWNOUTCOME"):
            return "unknown"
        if "TTL exhausted" in str(seen):
            return "error"
        if isinstance(seen, REPLIES) and not isinstance(seen, AskError):
            return "error"
        seen = seen.__cause__ or seen.__context__
    return "lost"


def ask(client, mode, number):
    turn = 0
    while running:
        key = f"matrix:redis-py:{mode}:{number}:{turn % KEYS}"
        try:
            if turn % 4 == 0:
                client.set(key, turn)
                say("write")
            else:
                client.get(key)
                say("read")
        except Exception as failure:
            # what follows is the reason of a long sentence about CLUSTER SLOTS
            reason = str(failure).rpartition(" error: ")[2]
            text = f"{type(failure).__name__}: {reason}"
            if "TTL exhausted" in text:
                text = f"{text} {steps.told()}"
            say(f"{kind_of(failure)} {text}")
        turn += 1
        time.sleep(PAUSE_SECONDS)


def main():
    global running
    mode, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
    # one each: threads that share a cluster's client change its map of slots under each other
    clients = [open_client(mode, ports) for _ in range(LOOPS)]
    for client in clients:
        client.get("matrix:redis-py")
    say(f"ready {redis.__version__}")
    threads = [
        threading.Thread(target=ask, args=(client, mode, number), daemon=True)
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    running = False
    for thread in threads:
        thread.join(timeout=5)
    os._exit(0)


main()

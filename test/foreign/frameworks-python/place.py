"""Where the cluster is, and how its cases are told."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import redis

HOST, PORT = os.environ["KVORUM_GATEWAYS"].split(",")[0].split(":")

# Frameworks that change keys of any names in one transaction are given a namespace of one partition.
ONE_PARTITION = 1
URL = f"redis://{HOST}:{PORT}/{ONE_PARTITION}"
SPREAD_URL = f"redis://{HOST}:{PORT}/0"

FOLDER = Path(__file__).parent
failed = 0


def client(db=ONE_PARTITION, **options):
    return redis.Redis(host=HOST, port=int(PORT), db=db, **options)


def make_namespace():
    """Makes `db1`, of one partition; beside a redis-server (no KVORUM_HTTP) there is nothing to make."""
    if "KVORUM_HTTP" not in os.environ:
        return
    request = urllib.request.Request(
        f"http://{os.environ['KVORUM_HTTP']}/v1/namespaces",
        json.dumps({"name": f"db{ONE_PARTITION}", "partitions": 1, "replicas": 3}).encode(),
        {"content-type": "application/json"},
        method="POST",
    )
    try:
        urllib.request.urlopen(request, timeout=30).read()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
    eventually(lambda: client().set("ready", 1), 60)


def case(name, does):
    """Tries one thing; it fails when it raises."""
    global failed
    try:
        does()
        print(f"ok {name}", flush=True)
    except Exception as error:  # whatever it is, the next case is tried
        failed += 1
        print(
            f"not ok {name}: {type(error).__name__} {str(error)[:300]}".replace("\n", " "),
            flush=True,
        )


def expect(what, wanted):
    if what != wanted:
        raise AssertionError(f"{what!r} instead of {wanted!r}")


def eventually(is_so, seconds=30):
    """Waits until `is_so` returns something that is true, and returns it."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = is_so()
        except redis.RedisError as error:
            last = error
        if last and not isinstance(last, Exception):
            return last
        time.sleep(0.1)
    raise AssertionError(f"not after {seconds} s: {last!r}")


class Program:
    """A program of the virtual environment, which is ended when its block is left."""

    def __init__(self, *command):
        self.command = [str(Path(sys.executable).parent / command[0]), *command[1:]]

    def __enter__(self):
        self.log = open(FOLDER / ".venv" / f"{Path(self.command[0]).name}.log", "w")
        self.process = subprocess.Popen(self.command, cwd=FOLDER, stdout=self.log, stderr=self.log)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()
        self.log.close()

"""What happens to the cluster while clients work: leaders are transferred, nodes are killed."""

import itertools
import json
import os
import signal
import time
import urllib.error
import urllib.request

HTTP = os.environ["KVORUM_HTTP"]
DIRECTORY = os.environ["KVORUM_DIRECTORY"]
NODES = ("datanode1", "datanode2", "datanode3")
CALM_SECONDS = 60


def partitions():
    url = f"http://{HTTP}/v1/namespaces/default/partitions"
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)["partitions"]


def transfer_leaders(seconds):
    """Hands the leader of one partition after the other to another node."""
    end = time.monotonic() + seconds
    for turn in itertools.count():
        for partition in partitions():
            if time.monotonic() > end:
                return
            transfer(partition["partition"], NODES[(partition["partition"] + turn) % 3])
            time.sleep(0.1)


def transfer(partition, node):
    request = urllib.request.Request(
        f"http://{HTTP}/v1/namespaces/default/partitions/{partition}/transfer-leader",
        json.dumps({"to": node}).encode(),
        {"content-type": "application/json"},
    )
    try:
        urllib.request.urlopen(request, timeout=5).close()
    except urllib.error.HTTPError as refused:  # it leads already, or is not ready to
        refused.close()


def kill(node):
    """kill -9, and returns when the supervisor has it back and all is as it should be."""
    dead = process_of(node)
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: process_of(node) not in (dead, None))
    wait_until(is_calm)


def process_of(node):
    """Its process id, and none while it has no process."""
    try:
        with open(os.path.join(DIRECTORY, "run", f"{node}.json"), encoding="utf-8") as file:
            return json.load(file)["pid"]
    except (OSError, ValueError):
        return None


def wait_until(holds):
    end = time.monotonic() + CALM_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the cluster does not come to rest")
        time.sleep(0.2)


def is_calm():
    """Every node is there, every partition led by the first of its replicas."""
    try:
        with urllib.request.urlopen(f"http://{HTTP}/v1/nodes", timeout=5) as answer:
            nodes = json.load(answer)["nodes"]
        return all(node["alive"] for node in nodes) and all(
            one["settled"] and (one["leader"] or {}).get("node") == one["wanted"][0]["node"]
            for one in partitions()
        )
    except OSError:
        return False

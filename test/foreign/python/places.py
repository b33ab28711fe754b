"""Where the cluster is."""

import os


def _of(name):
    pairs = (place.split(":") for place in os.environ[name].split(","))
    return [(host, int(port)) for host, port in pairs]


GATEWAYS = _of("KVORUM_GATEWAYS")
CLUSTER = _of("KVORUM_CLUSTER")

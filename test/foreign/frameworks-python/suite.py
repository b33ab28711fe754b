"""Python frameworks that people run beside Redis, with the namespace that each of them needs."""

import sys

import place
from brokers import broker_cases
from caches import cache_cases
from results import celery_cases
from rq_queues import rq_cases
from scripted import script_cases
from stream_brokers import stream_cases
from workers import huey_cases

place.make_namespace()
place.client().flushdb()
cache_cases()
script_cases()
broker_cases()
celery_cases()
huey_cases()
rq_cases()
stream_cases()
sys.exit(1 if place.failed else 0)

"""
Python frameworks that people run beside Redis, with the namespace that each of them needs.

Not tried, since they run Lua scripts: Celery's broker and chords, Dramatiq's broker, Huey's scheduled
tasks, Flask-Limiter, redis-py's `lock` (so django-redis' `cache.lock`, and its `incr`), aiocache's
RedLock. Nor RQ, whose workers keep results in streams.
"""

import sys

import place
from caches import cache_cases
from results import celery_cases
from workers import huey_cases

place.make_namespace()
place.client().flushdb()
cache_cases()
celery_cases()
huey_cases()
sys.exit(1 if place.failed else 0)

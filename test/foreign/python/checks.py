"""What is printed of each thing that was tried."""

import asyncio
import inspect

SECONDS = 40
failed = False


async def check(name, what):
    """`what`, a function or a coroutine function, raises if it is not as it should be."""
    try:
        job = what() if inspect.iscoroutinefunction(what) else asyncio.to_thread(what)
        await asyncio.wait_for(job, SECONDS)
        say(name)
    except Exception as error:
        say(name, f"{type(error).__name__}: {error}")


def say(name, why=None):
    global failed
    failed = failed or why is not None
    text = f"ok {name}" if why is None else f"not ok {name}: {why}".replace("\n", " ")
    print(text, flush=True)


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def refused(error, words, what):
    """`what` raises `error`, and says `words`."""
    try:
        answer = what()
    except error as raised:
        if words not in str(raised):
            raise AssertionError(f"it says {raised}") from raised
        return
    raise AssertionError(f"it is answered: {answer!r}")


async def refused_later(error, words, answer):
    """The same of what is awaited."""
    try:
        answer = await answer
    except error as raised:
        return refused(error, words, lambda: _raise(raised))
    raise AssertionError(f"it is answered: {answer!r}")


def _raise(error):
    raise error

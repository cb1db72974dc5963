"""The same command against a store, and through a front that has it."""

from __future__ import annotations

import re
import subprocess

from tests.support.commands import Commands
from tests.support.serving import Front

APP = """
from noria import Noria, Snooze

app = Noria()

@app.cron("0 0 1 1 *", args={"a": 7}, name="yearly", overlap="queue_all")
@app.cron("0 0 29 2 *", args={"a": 8}, name="leap", tz="Asia/Shanghai")
@app.task(safe=True)
async def add(a: int, b: int = 1) -> int:
    "Add two numbers."
    return a + b

@app.task(queue="mail", attempts=1)
async def fail(why: str = "no") -> None:
    raise ValueError(f"bad {why}")

@app.task
async def shout(text: str, times: int | None = None) -> str:
    return text.upper()
"""
KEY = "a-key-of-enough-letters"
_SPANS = re.compile(r"\d+(?:\.\d+)? ?(?:ms|s|m)\b")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def through(
    noria: Commands, front: Front, *words: str, key: str = KEY, input: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command that has nothing but the URL of the front."""
    return noria.run(
        *words, input=input, NORIA_URL=f"http://127.0.0.1:{front.port}", NORIA_API_KEY=key, NORIA_APP=""
    )


def same(text: str) -> str:
    """Without what the time between two looks changes, and the width of columns with it."""
    return re.sub(r"  +", " ", _SPANS.sub("TIME", text))


def without_ids(text: str) -> str:
    """With the ids of jobs alike."""
    return _ID.sub("ID", text)

"""The settle on Redis: one script, `settle.lua`."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import hiredis

from bench.sketch.process import processor_time
from bench.sketch.work import BODY, LIMIT, RESULT, SESSION, Batch, Found, Job

_PREFIX: Final = b"{sketch}:"
_SCRIPT: Final = Path(__file__).with_name("settle.lua")


class RedisEngine:
    """A server of this machine."""

    name = "Redis"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()
        told = dict(line.split(":", 1) for line in self._ask(["INFO"]).decode().splitlines() if ":" in line)
        self._pid = int(told["process_id"])
        self._digest = self._ask(["SCRIPT", "LOAD", _SCRIPT.read_bytes()])
        self.about = f"Redis {told['redis_version']}, AOF everysec, hiredis {hiredis.__version__}"

    def fill(self, batch: Batch) -> None:
        commands: list[list[Any]] = []
        for job in batch.held:
            commands.append(self._head(job, batch.queue, 3, SESSION))
            commands.append(["SADD", _PREFIX + b"held:" + SESSION.encode(), job.id])
            if job.unique:
                commands.append(["HSET", _PREFIX + b"live", job.unique, job.id])
            if job.group:
                commands.append(["HSET", _PREFIX + b"taken", job.group, LIMIT])
        for job in batch.waiting:
            commands.append(self._head(job, batch.queue, 4, ""))
            commands.append(["ZADD", _PREFIX + b"w:" + job.group.encode(), job.rank, job.id])
        commands += [["HSET", _PREFIX + b"body", job.id, BODY] for job in batch.held + batch.waiting]
        self._all(commands)

    def settle(self, batch: Batch) -> str:
        words: list[Any] = ["EVALSHA", self._digest, 1, _PREFIX, SESSION]
        follow_ups = [job.id for job in batch.follow_ups] or [""] * len(batch.held)
        for job, follow_up in zip(batch.held, follow_ups, strict=True):
            words += (job.id, RESULT, follow_up, BODY if follow_up else "")
        verdicts: bytes = self._ask(words)
        return verdicts.decode()

    def look(self, batch: Batch) -> Found:
        ids = [job.id for job in batch.held]
        groups = sorted({job.group for job in batch.held if job.group})
        held = self._all([["SISMEMBER", _PREFIX + b"held:" + SESSION.encode(), id] for id in ids])
        heads = self._all([["HGET", _PREFIX + b"head", id] for id in ids])
        results = self._all([["HGET", _PREFIX + b"result", id] for id in ids])
        ready = [id.decode() for id in self._ask(["ZRANGE", _PREFIX + b"q:" + batch.queue.encode(), 0, -1])]
        taken = self._all([["HGET", _PREFIX + b"taken", group] for group in groups])
        keys = self._all([["HEXISTS", _PREFIX + b"live", job.unique] for job in batch.held])
        return Found(
            ended=sum(h[0] == 10 and r == RESULT.encode() for h, r in zip(heads, results, strict=True)),
            held=sum(held),
            ready=Counter(ready),
            stored=sum(self._all([["HEXISTS", _PREFIX + b"body", id] for id in ready])),
            keys=sum(keys),
            taken={group: int(n) for group, n in zip(groups, taken, strict=True)},
            waiting=sum(self._all([["ZCARD", _PREFIX + b"w:" + group.encode()] for group in groups])),
        )

    def server_cpu(self) -> float:
        return processor_time(self._pid)

    def _head(self, job: Job, queue: str, state: int, session: str) -> list[Any]:
        texts = b"".join(text.encode() + b"\0" for text in (session, queue, job.group, job.unique))
        return ["HSET", _PREFIX + b"head", job.id, struct.pack("<BI", state, 1) + texts]

    def _ask(self, words: Sequence[Any]) -> Any:
        return self._all([words])[0]

    def _all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        pack: Any = hiredis.pack_command
        self._socket.sendall(b"".join(pack(tuple(words)) for words in commands))
        answers: list[Any] = []
        while len(answers) < len(commands):
            if (answer := self._reader.gets()) is False:
                self._reader.feed(self._socket.recv(1 << 20))
            elif isinstance(answer, hiredis.ReplyError):
                raise answer
            else:
                answers.append(answer)
        return answers

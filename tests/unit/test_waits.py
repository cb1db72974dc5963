"""Every wait of a backend on something outside it has an end: a peer may be silent for ever.

An await is fine

- inside `async with aio.bounded(…)` or `asyncio.timeout(…)` of the same function, or
- if it awaits `aio.happened(…)`, `aio.sleep(…)` or `asyncio.wait_for(…)` with a limit, or
- in a function that has armed `loop.call_later(…)`, which ends it without the cost of a task, or
- if it awaits a coroutine function of Noria's own, whose own awaits are judged where it is defined.

A method two steps away (`self._engine.lease()`) is taken for our own if a backend defines that name, unless
it is one of the words that asyncio uses for its own waits (`self._inbox.get()`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.support.source import Names, Source, functions, read_package, sample

_SCOPES = {"asyncio.timeout", "asyncio.timeout_at", "noria.aio.bounded"}
_BOUNDED_CALLS = {"noria.aio.happened", "noria.aio.sleep", "asyncio.wait_for"}
_WAITING_WORDS = {"acquire", "drain", "get", "join", "put", "read", "readexactly", "readline", "recv", "wait"}


def unbounded_waits(sources: Iterable[Source]) -> list[str]:
    """Awaits in a backend that nothing ends."""
    sources = list(sources)
    own = {node.name for s in sources for node in functions(s.tree) if isinstance(node, ast.AsyncFunctionDef)}
    return [
        f"{source.path}:{node.lineno}: nothing ends `await {ast.unparse(node.value)[:50]}`"
        for source in sources
        for node in _waits(source.tree, Names(source), own, bounded=False)
    ]


def _waits(tree: ast.AST, names: Names, own: set[str], *, bounded: bool) -> Iterator[ast.Await]:
    for node in ast.iter_child_nodes(tree):
        inside = bounded
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = _arms_a_timer(node)
        elif isinstance(node, ast.AsyncWith):
            inside = bounded or any(_is_call_of(item.context_expr, names, _SCOPES) for item in node.items)
        elif isinstance(node, ast.Await) and not (bounded or _ends(node.value, names, own)):
            yield node
        yield from _waits(node, names, own, bounded=inside)


def _arms_a_timer(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "call_later"
        for node in ast.walk(function)
    )


def _is_call_of(node: ast.AST, names: Names, wanted: set[str]) -> bool:
    """A call of one of these with a limit given: `asyncio.timeout(None)` bounds nothing."""
    if not isinstance(node, ast.Call) or names.resolve(node.func) not in wanted:
        return False
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return bool(values) and not any(
        isinstance(value, ast.Constant) and value.value is None for value in values
    )


def _ends(value: ast.expr, names: Names, own: set[str]) -> bool:
    if not isinstance(value, ast.Call):
        return False  # a future, a task: whoever finishes it may be gone
    if _is_call_of(value, names, _BOUNDED_CALLS):
        return True
    name = names.resolve(value.func)
    if name is not None and name.startswith("noria."):
        return not name.startswith("noria.aio.")
    owner, _, method = (name or "").rpartition(".")
    if name is not None and owner in {"", "self", "cls"}:
        return method in own
    called = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if called == "happened" and value.args:
        return True  # of an `aio.Signal`
    return called in own - _WAITING_WORDS


def test_every_wait_in_a_backend_has_an_end() -> None:
    backends = [s for s in read_package() if s.path.startswith("src/noria/backends/")]
    assert unbounded_waits(s for s in backends if not s.path.endswith("/contract.py")) == []


def test_check_sees_endless_waits() -> None:
    def waits(body: str) -> list[str]:
        imports = "import asyncio\nfrom noria import aio\n"
        text = f"{imports}async def get(self):\n    {body}\nasync def lease(self): ..."
        return unbounded_waits([sample(text, "src/noria/backends/sqlite/sample.py")])

    bad = ["await future", "await self._event.wait()", "await self._inbox.get()", "await asyncio.gather(f())"]
    bad += ["await asyncio.wait_for(future, None)", "await aio.happened(event, None)", "await writer.drain()"]
    bad += ["async with asyncio.timeout(None):\n        await future"]
    bad += ["async with asyncio.timeout(1):\n        async def inner():\n            await future"]
    for body in bad:
        assert len(waits(body)) == 1, body
    good = [
        "await self.get()",
        "await lease(self)",
        "await self._engine.lease()",
        "await aio.happened(event, seconds)",
    ]
    good += [
        "async with asyncio.timeout(1):\n        await future",
        "async with aio.bounded(2):\n        await future",
        "loop.call_later(2, give_up)\n    await future",
    ]
    for body in good:
        assert waits(body) == [], body

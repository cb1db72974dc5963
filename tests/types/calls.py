"""What users' editors say about enqueueing: which calls are refused, and what the others give.

A line with `type: ignore` must be refused; a needless one is an error for both checkers.
"""

# A job may be enqueued and left alone, although it can be awaited.
# mypy: disable-error-code="unused-awaitable"

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, assert_type

from noria import Backoff, Context, Draft, Job, JobStatus, Noria, Pending, Task, Workflow, chain, gather

app = Noria()


@app.task
async def send_mail(to: str, subject: str, *, copies: int = 1) -> str:
    return f"{to} {subject} {copies}"


@app.task(queue="mail", attempts=3, timeout=30, retry=Backoff(base=1, never=(ValueError,)))
async def login(ctx: Context, phone: str) -> bytes:
    return f"{ctx.job_id} {phone}".encode()


@app.task
def render(url: str) -> int:
    return len(url)


@app.task(name="other", executor="thread")
def compress(ctx: Context, data: bytes) -> bytes:
    return data


@app.task
def tidy() -> None: ...


@app.task
async def anything(value: Any) -> int:
    return len(str(value))


async def arguments_are_the_functions_own() -> None:
    assert_type(await send_mail.enqueue("a@b.c", subject="hi"), Job[str])
    assert_type(await send_mail.enqueue("a@b.c", "hi", copies=2), Job[str])
    await send_mail.enqueue(1, "hi")  # type: ignore[arg-type]  # the address is text
    await send_mail.enqueue("a@b.c")  # type: ignore[call-arg]  # a subject is missing
    await send_mail.enqueue("a@b.c", "hi", 2)  # type: ignore[call-arg]  # copies go by name
    await send_mail.enqueue("a@b.c", "hi", copy=2)  # type: ignore[call-arg]  # no such parameter
    assert_type(await tidy.enqueue(), Job[None])
    await tidy.enqueue(1)  # type: ignore[call-arg]  # it takes nothing


async def the_context_is_no_argument() -> None:
    assert_type(await login.enqueue("138"), Job[bytes])
    assert_type(await compress.enqueue(b"x"), Job[bytes])
    await login.enqueue(phone=138)  # type: ignore[arg-type]  # the phone is text
    await login.enqueue()  # type: ignore[call-arg]  # a phone is missing


async def a_first_argument_of_any_type_stays() -> None:
    length: int = await (await anything.enqueue({"a": 1}))
    print(length)


async def values_are_known(job: Job[str]) -> None:
    assert_type(await job, str)
    assert_type(await job.result(timeout=1), str)
    assert_type(await job.status(), JobStatus)
    assert_type(await (await login.enqueue("138")), bytes)
    number: int = await job  # type: ignore[assignment]  # the value is text
    print(number)


async def options_keep_the_types() -> None:
    later = send_mail.options(delay=60, priority=5, unique="a@b.c", at=datetime.now(UTC))
    assert_type(await later.enqueue("a@b.c", subject="later"), Job[str])
    await later.enqueue(1, subject="later")  # type: ignore[arg-type]  # the address is text
    send_mail.options(prioritty=5)  # type: ignore[call-arg]  # a misspelt option
    send_mail.options(delay="60")  # type: ignore[arg-type]  # seconds are a number


async def many_at_once() -> None:
    assert_type(send_mail.job("a@b.c", "hi"), Draft[str])
    assert_type(await app.enqueue_many([send_mail.job("a@b.c", "hi")]), list[Job[str]])
    assert_type(await app.enqueue_many(render.options(delay=1).job(each) for each in "ab"), list[Job[int]])
    send_mail.job(1, "hi")  # type: ignore[arg-type]  # the address is text
    await app.enqueue_many([("a@b.c", "hi")])  # type: ignore[arg-type]  # arguments are no draft


def without_a_loop() -> None:
    job = app.sync.enqueue(send_mail, "a@b.c", subject="hi")
    assert_type(job, Job[str])
    assert_type(app.sync.result(job, 5), str)
    assert_type(app.sync.enqueue(login, "138"), Job[bytes])
    assert_type(app.sync.enqueue(send_mail.options(delay=1), "a@b.c", "hi"), Job[str])
    app.sync.enqueue(send_mail, 1, subject="hi")  # type: ignore[arg-type]  # the address is text
    app.sync.enqueue(send_mail, "a@b.c")  # type: ignore[call-arg]  # a subject is missing


async def a_task_is_called_like_its_function(ctx: Context) -> None:
    running = send_mail("a@b.c", "hi")
    assert_type(await running, str)
    assert_type(render("u"), int)
    assert_type(await login(ctx, "138"), bytes)
    assert_type(compress(ctx, b"x"), bytes)
    await login("138")  # type: ignore[call-arg, arg-type]  # the function itself needs its context


def a_follow_up_is_typed_like_a_job(ctx: Context) -> None:
    assert_type(ctx.enqueue(send_mail, "a@b.c", subject="hi"), Pending[str])
    assert_type(ctx.enqueue(login.options(delay=1), "138"), Pending[bytes])
    assert_type(ctx.enqueue(render, "u"), Pending[int])
    ctx.enqueue(send_mail, 1, subject="hi")  # type: ignore[arg-type]  # the address is text
    ctx.enqueue(send_mail, "a@b.c")  # type: ignore[call-arg]  # a subject is missing


async def a_workflow_has_the_type_of_its_last_job() -> None:
    flow = gather([render.job("u"), chain(render.job("v"), send_mail)], then=render)
    assert_type(flow, Workflow[int])
    assert_type(await flow.enqueue(), Job[int])
    assert_type(gather([render.job("u")], then=login.job("138"), on="complete"), Workflow[bytes])
    chain(render)  # type: ignore[arg-type]  # the first step has its arguments
    await render.options(after=flow.last, on="failure").enqueue("u")
    render.options(on="sometimes")  # type: ignore[arg-type]  # no such policy


def takes_any_task_of_a_url(task: Task[[str], int]) -> Draft[int]:
    return task.job("u")


takes_any_task_of_a_url(render)
takes_any_task_of_a_url(send_mail)  # type: ignore[arg-type]  # another task altogether


@app.task(queues="mail")  # type: ignore[call-overload, untyped-decorator]  # a misspelt option
def misspelt() -> None: ...

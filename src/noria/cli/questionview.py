"""Questions as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from noria.cli.escape import one_line
from noria.cli.quantities import age
from noria.front.shapes import Question

COLUMNS: Final = ("id", "job", "task", "queue", "until", "question")


def row(question: Question, now: float) -> tuple[str, ...]:
    """A question as a row of a table."""
    return (
        question.id,
        question.job_id[-8:],
        one_line(question.task),
        one_line(question.queue),
        age(question.expires_at.timestamp(), now),
        one_line(question.message),
    )


def details(question: Question, now: float) -> Iterator[str]:
    """A question with all that is known of it, line by line."""
    facts = {
        "id": question.id,
        "question": one_line(question.message),
        "name": one_line(question.name),
        "state": question.state,
        "job": question.job_id,
        "task": one_line(question.task),
        "queue": one_line(question.queue),
        "asked": age(question.created_at.timestamp(), now),
        "until": f"{age(question.expires_at.timestamp(), now)}, then: {question.on_expiry}",
        "secret": "yes: the answer is shown nowhere" if question.secret else "",
        "answer": "" if question.answer is None else one_line(msgspec.json.encode(question.answer).decode()),
        "by": one_line(question.answered_by or ""),
        "instead of": question.supersedes or "",
        "asked anew": question.following or "",
    }
    for name, text in facts.items():
        if text:
            yield f"{name:<12}{text}"
    for name, field in fields_of(question.schema).items():
        needed = "" if name in question.schema.get("required", (name,)) else ", may be left out"
        yield f"{'field':<12}{one_line(name)}  {one_line(kind_of(field))}{needed}"


def fields_of(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is asked for, by name; one plain value has the name `value`."""
    if schema.get("type") != "object":
        return {"value": schema}
    found: dict[str, dict[str, Any]] = schema.get("properties", {})
    return found


def kind_of(field: dict[str, Any]) -> str:
    """What a field takes, in a word or two."""
    if "anyOf" in field:
        return " or ".join(kind_of(each) for each in field["anyOf"])
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"some of {kind_of(field.get('items', {}))}, as JSON"
    extra = field.get("format") or field.get("pattern") or ""
    return " ".join(filter(None, (str(field.get("type", "any value")), extra)))

"""The page behind a link to a question: a form, what was answered, or why it cannot be. No script, nothing foreign.

Everything in it that others wrote, the message and the schema of the handler and the answer of the person, is escaped
as text. The page refers nowhere, so that no other site learns its address, which is what lets in.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from msgspec import UNSET
from starlette.responses import Response

from noria.clock import utc
from noria.front.answer_form import LONE, Field, fields_of, text_of
from noria.model.question import Question
from noria.model.wording import count

ACTION: Final = ":action"
"""Which button was pressed; no field of an answer has such a name."""
_POLICY: Final = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def form_page(
    question: Question,
    now: float,
    sent: Mapping[str, list[str]] | None = None,
    wrong: Mapping[str, str] | None = None,
) -> Response:
    """The form; after an answer that did not fit, with what was sent and what is wrong with it.

    Args:
        now: seconds since the epoch.
        sent: the texts of each field; those of secret answers are not shown again.
        wrong: what is wrong with each field.
    """
    wrong = wrong or {}
    parts = [f'<p class="asked" dir="auto">{escape(question.message)}</p>', _until(question.expires, now)]
    if wrong:
        parts.append('<p class="wrong" role="alert">This was not taken. Please look at what is marked.</p>')
    parts.append('<form method="post" accept-charset="utf-8">')
    fields = fields_of(question.schema)
    for number, field in enumerate(fields):
        given = None if sent is None or question.secret else sent.get(field.name, [])
        texts = field.default if given is None else tuple(given)
        parts += _control(field, f"f{number}", texts, wrong.get(field.name, ""), secret=question.secret)
    known = {field.name for field in fields}
    parts += [f'<p class="wrong">{escape(n)} {escape(w)}</p>' for n, w in wrong.items() if n not in known]
    parts.append(
        f'<p><button class="first" name="{ACTION}" value="accept">Send</button>'
        f'<button name="{ACTION}" value="decline" formnovalidate>I will not answer</button></p></form>'
    )
    return _page("A question for you", parts, 422 if wrong else 200)


def done_page(question: Question) -> Response:
    """What was answered; of a secret answer only that it was."""
    parts = [f'<p class="asked" dir="auto">{escape(question.message)}</p>']
    if question.state != "answered":
        return _page(
            "Declined", [*parts, "<p>You have not answered, and the job knows. You can close this page.</p>"]
        )
    if question.data is not UNSET:
        data = question.data if isinstance(question.data, dict) else {LONE: question.data}
        labels = {field.name: field.label for field in fields_of(question.schema)}
        told = [(labels.get(name, name), _shown(value)) for name, value in data.items()]
        rows = (f'<dt>{escape(name)}</dt><dd dir="auto">{escape(text)}</dd>' for name, text in told)
        parts.append(f"<dl>{''.join(rows)}</dl>")
    return _page("Thank you", [*parts, "<p>Your answer has arrived. You can close this page.</p>"])


def refusal_page(status: int, title: str, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Why there is no form, or why an answer was not taken."""
    return _page(title, [f"<p>{escape(text)}</p>"], status, headers)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(text_of, value)) or "–"
    return (
        {True: "Yes", False: "No"}[value]
        if isinstance(value, bool)
        else "–"
        if value is None
        else text_of(value)
    )


def _until(expires: float, now: float) -> str:
    left = max(0.0, expires - now)
    unit, name = next((each for each in _UNITS if left >= 2 * each[0]), (1, "second"))
    when, words = utc(expires), count(int(left / unit), name)
    time = f'<time datetime="{when:%Y-%m-%dT%H:%M:%SZ}">{when:%Y-%m-%d %H:%M} UTC</time>'
    return f'<p class="dim">You can answer for {words}, until {time}.</p>'


# -- controls ----------------------------------------------------------------------------------------------


def _control(field: Field, id: str, texts: tuple[str, ...], wrong: str, *, secret: bool) -> Iterator[str]:
    notes = [(f"{id}-hint", "dim", field.hint), (f"{id}-wrong", "wrong", wrong and f"It {wrong}.")]
    notes = [each for each in notes if each[2]]
    about = f' aria-describedby="{" ".join(each[0] for each in notes)}"' if notes else ""
    about += ' aria-invalid="true"' if wrong else ""
    told = "".join(f'<p class="{kind}" id="{name}">{escape(text)}</p>' for name, kind, text in notes)
    optional = "" if field.needed else ' <span class="dim">(may be left out)</span>'
    title = f'<span dir="auto">{escape(field.label)}</span>{optional}'
    if field.shape == "text":
        yield f'<div class="field"><label for="{id}">{title}</label>{told}'
        marks = _typed(field, texts, secret=secret) + about
        yield f'<input class="typed" id="{id}" name="{escape(field.name)}"{marks}></div>'
        return
    yield f'<fieldset class="field"{about}><legend>{title}</legend>{told}'
    for sent, words, _ in _with_nothing(field):
        kind = "checkbox" if field.shape == "some" else "radio"
        marks = (" checked" if sent in texts else "") + (
            " required" if field.needed and kind == "radio" else ""
        )
        control = f'<input type="{kind}" name="{escape(field.name)}" value="{escape(sent)}"{marks}>'
        yield f'<label class="choice">{control} <span dir="auto">{escape(words)}</span></label>'
    yield "</fieldset>"


def _with_nothing(field: Field) -> tuple[tuple[str, str, Any], ...]:
    """The choices; where one may be left out, that is one too, since a mark that was set cannot be taken back."""
    nothing = ("", "No choice", None)
    free = field.shape == "one" and not field.needed and all(sent for sent, _, _ in field.choices)
    return (*field.choices, nothing) if free else field.choices


def _typed(field: Field, texts: tuple[str, ...], *, secret: bool) -> str:
    whole = set(field.kinds) <= {"integer"}
    kind = "password" if secret else field.input
    marks = f' type="{kind}"'
    if kind == "number":
        marks += f' step="{1 if whole else "any"}"'
    if field.input == "number":
        marks += f' inputmode="{"numeric" if whole else "decimal"}"'
    marks += ' autocomplete="one-time-code"' if secret else ' autocomplete="off"'
    marks += " required" if field.needed and not field.null else ""
    return marks + (f' value="{escape(texts[0])}"' if texts and not secret else "")


# -- the page around it ------------------------------------------------------------------------------------


@cache
def _style() -> tuple[str, str]:
    """The style, and by what a browser knows that it is ours."""
    style = files("noria.front").joinpath("static", "answer.css").read_text()
    return style, b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _page(
    title: str, parts: list[str], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    style, digest = _style()
    policy = f"{_POLICY}; style-src 'sha256-{digest}'"
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{''.join(parts)}</main></body></html>\n"
    )
    safe = {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Frame-Options": "DENY",
        "X-Robots-Tag": "noindex, nofollow",
    }
    # A message may hold half of a surrogate pair no more (see `asked.question`); a schema may.
    return Response(
        text.encode("utf-8", "replace"), status, {**(headers or {}), **safe}, "text/html; charset=utf-8"
    )

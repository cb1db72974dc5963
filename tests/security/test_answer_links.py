"""S29: a link to a question cannot be guessed, opens one question once, and is told to who may have it alone."""

from __future__ import annotations

import base64
import logging
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated

import httpx
import msgspec
import pytest

from noria import ConfigError, Context, Noria
from noria.app.config import public_url
from noria.ids import IdSource, system_entropy, to_text
from noria.model.invitation import question_of, token_of
from noria.model.limits import MAX_ANSWER
from noria.model.question import CLOSED, OPEN
from noria.worker.answers import KIND, AnswerLinks
from tests.front.test_answer_links import BROWSER, SUBMISSION, asked, look, send
from tests.support.door import MASTER, Place, bearer, place
from tests.support.manual import ManualClock
from tests.support.workplace import Workplace, in_virtual_time

EVIL = "</p></title></style><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'&amp; onload='x' \ud800"
KEY = bytes(range(32))


def tasks(app: Noria) -> None:
    """Tasks that ask."""

    @app.task(attempts=1)
    async def login(ctx: Context) -> str:
        return await ctx.ask("The code?")

    @app.task(attempts=1)
    async def hostile(ctx: Context) -> str:
        shape = Annotated[str, msgspec.Meta(title=EVIL[:-1], description=EVIL[:-1], max_length=3)]
        return await ctx.ask(EVIL, schema=shape, name="x")


def some_id() -> str:
    return to_text(IdSource(ManualClock()).next())


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Note it."""
        self.text += data


# ---- the token


def test_a_token_is_good_for_the_question_it_was_made_for() -> None:
    id = some_id()

    token = token_of(KEY, id)

    assert question_of(KEY, token) == id
    assert len(token) == 43 and token.replace("-", "a").replace("_", "a").isalnum()


def test_no_other_text_is_a_token() -> None:
    token = token_of(KEY, some_id())
    told = base64.urlsafe_b64decode(token + "=")
    flipped = [
        base64.urlsafe_b64encode(told[:at] + bytes([told[at] ^ 1 << bit]) + told[at + 1 :])
        .decode()
        .rstrip("=")
        for at in range(len(told))
        for bit in range(8)
    ]
    last = [token[:-1] + each for each in "AEIMQUYcgkosw048BCD_-" if each != token[-1]]
    others = [
        "",
        token[:-1],
        token + "A",
        token + "=",
        f" {token}",
        f"{token}\n",
        "é" * 43,
        "A" * 43,
        token.swapcase(),
    ]

    assert [each for each in (*flipped, *last, *others) if question_of(KEY, each) is not None] == []


def test_a_token_of_another_store_is_none() -> None:
    assert question_of(KEY, token_of(KEY[::-1], some_id())) is None


@in_virtual_time
async def test_all_who_make_links_of_a_store_make_the_same_and_the_key_is_its_own() -> None:
    async with Workplace() as one, Workplace() as other:
        id = some_id()
        links = [AnswerLinks(each.store, system_entropy, lambda: 0.0) for each in (one, one, other)]

        first, second, foreign = [await each.url(id) for each in links]

        assert first == second != foreign
        assert [await each.question_of(first.rpartition("/")[2]) for each in links] == [id, id, None]


async def test_no_token_is_stored(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "login")
        token = question["answer_url"].rpartition("/")[2]
        await send(here, question["answer_url"], {"value": "1"})
        await here.ended(question["job_id"])

        stored = [doc.data for kind in (OPEN, CLOSED, KIND) for doc in await here.app.backend.scan(kind)]
        files = b"".join(path.read_bytes() for path in short_tmp.glob("door.db*"))
        assert stored and not [data for data in stored if token.encode() in data]
        assert token.encode() not in files and token[22:].encode() not in files


# ---- who gets in


async def test_a_link_opens_its_own_question_and_nothing_else(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, api_key=MASTER, worker=True) as here:
        first, second = [await asked(here, "login", bearer(MASTER)) for _ in range(2)]
        token = first["answer_url"].rpartition("/")[2]

        for path in (f"/v1/questions/{first['id']}", f"/v1/jobs/{first['job_id']}", "/v1/questions"):
            assert (await here.ask("GET", path, headers=bearer(token))).status_code == 401
            assert (await here.ask("GET", f"{path}?token={token}")).status_code == 401
        await send(here, first["answer_url"], {"value": "1"})
        assert (await here.ask("GET", second["links"]["self"], headers=bearer(MASTER))).json()[
            "state"
        ] == "open"


async def test_who_guesses_links_is_slowed_down_and_who_has_one_is_not(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, guesses=0.5, worker=True) as here:
        question = await asked(here, "login")
        tries = [
            await here.ask("GET", "/answer/" + token_of(KEY, some_id()), headers=BROWSER) for _ in range(8)
        ]

        assert [each.status_code for each in tries] == [404] * 5 + [429] * 3
        assert int(tries[-1].headers["retry-after"]) >= 1 and "Too many tries" in tries[-1].text
        assert (await look(here, question["answer_url"])).status_code == 200
        assert (await send(here, question["answer_url"], {"value": "1"})).status_code == 200


async def test_one_question_takes_only_so_many_answers_that_do_not_fit(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "hostile")

        tries = [await send(here, question["answer_url"], {"value": "too long"}) for _ in range(30)]

        assert {each.status_code for each in tries} == {422, 429}
        assert (await asked(here, "login"))["state"] == "open"


async def test_what_is_no_link_and_what_is_gone_look_alike(short_tmp: Path) -> None:
    async with place(short_tmp, tasks) as here:
        url = await here.front.desk.answers.url(some_id())
        pages = [await look(here, path) for path in (url, "/answer/" + "A" * 43, "/answer/x", "/answer/%00")]

        assert [page.status_code for page in pages] == [404] * 4
        assert len({page.text for page in pages}) == 1


# ---- what it tells, and to whom


async def test_no_token_is_logged_whatever_happens(short_tmp: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with place(short_tmp, tasks, worker=True) as here:
        url = (await asked(here, "login"))["answer_url"]
        token = url.rpartition("/")[2]
        await look(here, url)
        await send(here, url, {"value": "the-answer", "other": "x"})
        await here.ask("POST", url, {"action": "accept", "data": ["the-answer"]})
    async with place(short_tmp, tasks) as here:
        url = await here.front.desk.answers.url(some_id())
        token += url.rpartition("/")[2]
        await here.app.backend.aclose()
        for headers in (BROWSER, {}):
            down = await here.ask("GET", url, headers=headers)
            assert down.status_code == 503, down.text

    said = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert "GET /answer/{token}" in said
    assert "the page of a link" in said
    assert token[:43] not in said and token[43:] not in said and "the-answer" not in said


async def test_what_others_wrote_is_text_in_the_page(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        url = (await asked(here, "hostile"))["answer_url"]
        form = await look(here, url)
        wrong = await send(here, url, {"value": EVIL[:-1], EVIL[:-1]: EVIL[:-1]})
        pages = [Tags(page.text) for page in (form, wrong)]

        assert (form.status_code, wrong.status_code) == (200, 422)
        for page in pages:
            assert "alert(1)" in page.text
            assert not page.tags & {"script", "img", "a", "link", "iframe", "object"}
            assert not {
                name for name in page.attributes if name.startswith("on") or name in ("src", "href", "action")
            }


async def test_every_page_is_closed_to_scripts_frames_caches_and_other_sites(short_tmp: Path) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        url = (await asked(here, "login"))["answer_url"]
        pages = [
            await look(here, url), await send(here, url, {"x": "1"}), await send(here, url, {"value": "1"}),
            await look(here, url), await look(here, "/answer/x"),
        ]  # fmt: skip

        assert [page.status_code for page in pages] == [200, 422, 200, 409, 404]
        for page in pages:
            policy = page.headers["content-security-policy"]
            assert {
                "default-src 'none'",
                "form-action 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
            } <= set(policy.split("; "))
            assert "unsafe" not in policy and "script-src" not in policy
            assert (page.headers["referrer-policy"], page.headers["cache-control"]) == (
                "no-referrer",
                "no-store",
            )
            assert page.headers["x-frame-options"] == "DENY" and "noindex" in page.headers["x-robots-tag"]
            assert "set-cookie" not in page.headers


async def test_the_style_of_a_page_is_the_one_that_its_policy_allows(short_tmp: Path) -> None:
    from hashlib import sha256

    async with place(short_tmp, tasks) as here:
        page = await look(here, "/answer/x")
        style = page.text.partition("<style>")[2].partition("</style>")[0]

        digest = base64.b64encode(sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in page.headers["content-security-policy"]


# ---- what is sent


async def raw(here: Place, url: str, body: bytes, kind: str, **headers: str) -> httpx.Response:
    given = {**SUBMISSION, "content-type": kind, **headers}
    return await here.client.post(url, content=body, headers=given)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"value=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"value=\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=1" for _ in range(2_000)), "application/x-www-form-urlencoded", 400),
        (b"value=" + b"a" * 300_000, "application/x-www-form-urlencoded", 413),
        (b"value=" + b"a" * (MAX_ANSWER + 1), "application/x-www-form-urlencoded", 422),
        (b"", "application/x-www-form-urlencoded", 422),
        (b"value=%00", "application/x-www-form-urlencoded", 200),
        (b"value=1", "text/plain", 415),
        (b"{", "application/json", 415),
        (b"--x\r\n", "multipart/form-data; boundary=x", 415),
    ],
)
async def test_a_body_that_is_no_form_is_refused(
    short_tmp: Path, body: bytes, kind: str, status: int
) -> None:
    async with place(short_tmp, tasks, worker=True) as here:
        question = await asked(here, "login")

        answer = await raw(here, question["answer_url"], body, kind)

        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        stands = (await here.ask("GET", question["links"]["self"])).json()["state"]
        assert (stands == "open") == (status != 200)


@pytest.mark.parametrize(
    "address",
    [
        "jobs.example.com", "ftp://x", "https://", "https://user:secret@x", "https://x?y=1", "https://x#y",
        "https://x y", "javascript:alert(1)", "https://x/\n", "//x",
    ],
)  # fmt: skip
def test_a_public_address_that_is_none_is_refused_and_not_repeated(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_PUBLIC_URL", address)

    with pytest.raises(ConfigError, match="NORIA_PUBLIC_URL must be the address") as refused:
        public_url()

    assert "secret" not in str(refused.value)

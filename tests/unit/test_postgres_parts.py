"""The parts of the PostgreSQL backend that need no server: names, hints on their way, errors and their remedies."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from noria.backends.postgres.address import complete, shown
from noria.backends.postgres.backend import checked, settings_of
from noria.backends.postgres.channels import LARGEST, pack, unpack, wire_channel
from noria.backends.postgres.faults import Broken, Held, Refused, at_the_door, concerns_store, lost, translate
from noria.backends.postgres.patterns import Patterns
from noria.backends.postgres.statements import in_namespace, migrations, statement, statement_names
from noria.errors import ConfigError, Unavailable, Unknown
from noria.model.limits import MAX_HINT

SECRET = "s3cret"
HEAD = ("In: ", "Out: ", "-- Locks: ", "-- Safe to repeat: ")


# ---- names


@pytest.mark.parametrize("name", ["noria", "a", "_", "shop_2", "x" * 40])
def test_a_namespace_is_a_plain_name(name: str) -> None:
    assert checked(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "2a", "a-b", "a.b", 'a"b', "a b", "é", "public", "pg_temp", "x" * 41, "a\n"]
)
def test_a_namespace_that_could_mean_anything_else_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="the namespace cannot be"):
        checked(name)


@pytest.mark.parametrize(
    ("conninfo", "words"),
    [
        (f"postgresql://me:{SECRET}@db.example:6000/shop", "db.example:6000/shop"),
        (f"host=db dbname=shop user=me password={SECRET}", "db/shop"),
        ("postgresql:///shop", "on this machine/shop"),
        (f"postgresql://me:{SECRET}@h/shop?nonsense={SECRET}", "(a malformed URL)"),
    ],
)
def test_a_store_is_named_without_its_password(conninfo: str, words: str) -> None:
    assert shown(conninfo) == words


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:S3cret{}Word@127.0.0.1:5432/shop",
        "postgresql://shop:123{}Word@127.0.0.1:5432/shop",
        "postgresql://shop:{}S3cret=Word@127.0.0.1:5432/shop",
        "postgresql://S3cret{}Word:x@127.0.0.1/shop",
    ],
)
@pytest.mark.parametrize("special", ["#", "/", "?", "@", "[", "]"])
def test_a_password_with_a_character_that_ends_it_is_refused_and_no_piece_of_it_told(
    url: str, special: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        complete(url.format(special))

    told = f"{caught.value} {shown(url.format(special))}"
    assert "percent signs" in told
    assert not any(piece in told for piece in ("S3cret", "Word", "123", "127.0.0.1"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://shop:S3cret%23Word%40%2F%3F@h:1/shop?options=-c%20a%3Db&connect_timeout=3",
        "postgres://h1:1,h2:2/shop?target_session_attrs=read-write",
        "postgresql://me:a:b;c=d&e@[::1]:5432/shop",
        "postgresql://%2Fvar%2Frun/shop?user=me&password=a%40b",
        "postgresql://me@h/shop?password=a@b",
        "postgresql://",
    ],
)
def test_a_url_that_can_be_read_in_one_way_is_taken(url: str) -> None:
    assert complete(url)


def test_settings_do_not_show_the_password() -> None:
    assert SECRET not in repr(settings_of(f"postgresql://me:{SECRET}@h/shop", "noria"))


def test_the_schema_of_the_namespace_takes_the_place_of_noria_and_of_nothing_else() -> None:
    text = in_namespace("SELECT noria.hex(id), 'noria' FROM noria.jobs AS xnoria", "shop")

    assert text == 'SELECT "shop".hex(id), \'noria\' FROM "shop".jobs AS xnoria'


# ---- statements


@pytest.mark.parametrize("name", statement_names())
def test_a_statement_says_what_it_does(name: str) -> None:
    text = (files("noria.backends.postgres") / "sql" / f"{name}.sql").read_text("utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("--"))

    assert [word for word in HEAD if word not in head] == []


@pytest.mark.parametrize("name", statement_names())
def test_a_statement_names_its_tables_with_their_schema(name: str) -> None:
    text = statement(name, "elsewhere").decode()

    assert "noria." not in text


def test_every_step_of_the_schema_has_its_number() -> None:
    assert sorted(migrations()) == list(range(1, len(migrations()) + 1))


# ---- hints on their way


@given(st.text(max_size=40), st.binary(max_size=MAX_HINT))
def test_a_hint_arrives_as_it_was_sent(channel: str, payload: bytes) -> None:
    rows = pack("noria", "0123456789abcdef", [(channel, payload)])
    if not rows:
        # It does not fit: hints may be lost.
        return
    ((_, text),) = json.decode(rows)

    assert len(text.encode()) <= LARGEST
    assert unpack(text) == ("0123456789abcdef", (channel, payload))


@pytest.mark.parametrize(
    "payload", [b"x" * MAX_HINT, b'["' * (MAX_HINT // 2), b"\xff" * MAX_HINT, "é".encode() * 2_048]
)
def test_the_largest_hint_fits(payload: bytes) -> None:
    assert pack("noria", "0123456789abcdef", [("queue:" + "q" * 128, payload)]) != ""


@given(st.text())
def test_what_strangers_send_is_no_hint_or_a_strange_one(text: str) -> None:
    unpack(text)


def test_a_process_hears_of_outcomes_apart_and_all_of_work_on_one_channel() -> None:
    assert wire_channel("n", "queue:mail") == wire_channel("n", "session:5") == "n.work"
    assert wire_channel("n", "reply:0123456789abcdef") == "n.0123456789abcdef"
    assert wire_channel("n", 'reply:"; DROP') == wire_channel("n", "anything") == "n.other"


# ---- errors


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("53100", Unavailable, "its disk is full"),
        ("53300", Unavailable, "raise its max_connections"),
        ("57P01", Unavailable, "somebody ended our connection"),
        ("57P03", Unavailable, "starting up"),
        ("25006", Unavailable, "name the primary"),
        ("42501", Unavailable, "grant it the rights"),
        ("42P01", Unavailable, "run `noria db migrate`"),
        ("55P03", Held, "pg_stat_activity"),
        ("57014", Unavailable, "took too long"),
        ("3D000", ConfigError, "createdb"),
        ("28P01", ConfigError, "pg_hba.conf"),
        ("99999", Unavailable, "a statement failed"),
    ],
)
def test_an_error_of_the_server_comes_with_the_remedy(code: str, kind: type[Exception], words: str) -> None:
    error = translate(Refused(code, "what the server says", "push"), "PostgreSQL h/shop, namespace noria")

    assert type(error) is kind
    assert words in str(error)
    assert str(error).startswith("PostgreSQL h/shop, namespace noria: ")
    assert code in str(error)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('FATAL: password authentication failed for user "shop"', ConfigError),
        ('FATAL: no pg_hba.conf entry for host "h", user "u", database "d", no encryption', ConfigError),
        (
            'FATAL: permission denied for database "d" DETAIL: User does not have CONNECT privilege.',
            ConfigError,
        ),
        ("server does not support SSL, but SSL was required", ConfigError),
        ("FATAL: sorry, too many clients already", Unavailable),
        ("FATAL: remaining connection slots are reserved for superusers", Unavailable),
        ("FATAL: the database system is starting up", Unavailable),
        ("Connection refused Is the server running on that host?", Unavailable),
        ('could not translate host name "db" to address: Name or service not known', Unavailable),
    ],
)
def test_who_is_not_let_in_hears_whether_waiting_helps(text: str, kind: type[Exception]) -> None:
    found = at_the_door(f'connection to server at "h", port 5432 failed: {text}')
    error = lost(found, "store") if isinstance(found, Broken) else translate(found, "store")

    assert type(error) is kind
    assert text in str(error)


def test_who_is_not_let_in_for_want_of_room_hears_how_to_make_some() -> None:
    found = at_the_door("FATAL: sorry, too many clients already")

    assert isinstance(found, Refused)
    assert "raise its max_connections" in str(translate(found, "store"))


def test_a_connection_that_breaks_in_a_commit_leaves_it_unknown() -> None:
    assert type(lost(Broken("gone"), "store", committing=True)) is Unknown
    assert type(lost(Broken("gone"), "store")) is Unavailable


@pytest.mark.parametrize(
    ("code", "passing"), [("40P01", True), ("40001", True), ("23505", True), ("57014", False)]
)
def test_only_what_others_caused_is_tried_again(code: str, passing: bool) -> None:
    assert Refused(code, "", "push").passing is passing


def test_what_every_call_would_meet_is_not_tried_with_each() -> None:
    assert concerns_store(Broken("gone"))
    assert concerns_store(Refused("53100", "", "push"))
    assert not concerns_store(Refused("22P05", "", "push"))


# ---- what a search looks for


def test_signs_of_like_are_taken_as_they_are() -> None:
    patterns = Patterns()

    assert patterns.exactly(r"50%_\x") == r"50\%\_\\x"
    assert patterns.beginning("a_") == r"a\_%"
    assert patterns.containing("a%") == r"%a\%%"
    assert patterns.path("user.names.0") == '["user","names","0"]'
    assert patterns.path("") == "[]"

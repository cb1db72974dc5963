"""The reference of HTTP is complete and true: routes, problems, fields, settings."""

from __future__ import annotations

import dataclasses
import re

from noria.front import FrontSettings
from noria.front.listing import OTHERS
from noria.front.prefer import PARTS
from noria.front.principal import SCOPES
from noria.front.problem import CODES
from noria.front.query import NAMES, PARAMETERS
from noria.front.requests import JobWanted
from noria.front.roles import ROLES
from noria.front.routes import ROUTES
from tests.docs.test_reference import first_cells, page, rows, section

REST = "rest.md"


def test_every_endpoint_is_documented_with_its_scope() -> None:
    told = {
        row[0].strip("`"): row[1].strip("`").replace("–", "")
        for row in rows(section(page(REST), "Endpoints"))
    }

    assert told == {f"{route.method} {route.path}": route.scope or "" for route in ROUTES}


def test_every_problem_is_documented_with_its_status_and_title() -> None:
    told = {row[0].strip("`"): (int(row[1]), row[2]) for row in rows(section(page(REST), "Problems"))}

    assert told == CODES


def test_every_field_of_a_job_to_enqueue_is_documented() -> None:
    table = section(page(REST), "Enqueueing").partition("### ")[0]
    told = {name for row in rows(table) for name in re.findall(r"`(\w+)`", row[0])}

    assert told == set(JobWanted.__struct_fields__)


def test_every_parameter_and_word_of_a_list_is_documented() -> None:
    text = section(page(REST), "Lists and query words")
    told = {name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0])}

    assert told == {*PARAMETERS, *OTHERS}
    assert {name for name in NAMES if f"{name}:" not in text and f"`{name}`" not in text} == set()
    assert {part for part in PARTS if f"`{part}`" not in text} == set()


def test_every_scope_is_documented() -> None:
    assert {scope for scope in SCOPES if f"`{scope}`" not in section(page(REST), "Keys")} == set()


def test_every_front_setting_is_documented_with_its_default() -> None:
    table = section(page("settings.md"), "Front settings")
    words = {True: "yes", False: "no", None: "none", (): "none", ROLES: "all"}
    told = {row[0].strip("`"): row[1] for row in rows(table)}

    assert first_cells(table) == set(told)
    assert told == {
        field.name: words.get(field.default) or f"{field.default:g}"
        for field in dataclasses.fields(FrontSettings)
    }

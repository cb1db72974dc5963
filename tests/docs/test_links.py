"""No link of a page leads nowhere, and every promise names tests that live."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.source import ROOT

_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = sorted(
    [*map(ROOT.joinpath, _TOP), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|`[^`]*`)*\]\((?P<target>[^)\s]+)\)")
_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)(?:::(?P<test>\w+))?`")


def prose(text: str) -> str:
    """A page without its fenced blocks and inline code, which hold no links."""
    return re.sub(r"`[^`\n]+`", "`code`", re.sub(r"(?ms)^ *```.*?^ *```$", "", text))


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings get: lower case, spaces to hyphens, most signs left out."""
    found: list[str] = []
    counts: Counter[str] = Counter()
    for heading in re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^ *```.*?^ *```$", "", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(f"{slug}-{counts[slug]}" if counts[slug] else slug)
        counts[slug] += 1
    return set(found)


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    lost = []
    for found in _LINK.finditer(prose(text)):
        where, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", where):
            continue
        target = (page.parent / where).resolve() if where else page
        there = target.exists() and target.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors(target.read_text())):
            lost.append(found["target"])
    return lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    assert lost_tests(page.read_text()) == []


def lost_tests(text: str) -> list[str]:
    """The tests that a text names and that do not exist."""
    return [found[0] for found in _TEST.finditer(text) if not _is_test(found["file"], found["test"])]


def _is_test(file: str, test: str | None) -> bool:
    path = ROOT / file
    if not path.is_file() or test is None:
        return path.is_file()
    tree = ast.parse(path.read_text())
    return any(getattr(node, "name", None) == test for node in ast.walk(tree))


def test_every_page_of_the_docs_can_be_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    seen: set[Path] = set()
    ahead = [docs / "index.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        targets = (found["target"].partition("#")[0] for found in _LINK.finditer(prose(page.read_text())))
        ahead += [(page.parent / target).resolve() for target in targets if not re.match(r"[a-z]+:", target)]

    assert set(docs.rglob("*.md")) - seen == set()


def test_every_promise_names_a_test() -> None:
    text = (ROOT / "docs" / "promises.md").read_text()
    promises = re.split(r"(?m)^## ", text)[1:]

    assert len(promises) >= 6
    assert [promise.splitlines()[0] for promise in promises if not _TEST.search(promise)] == []


def test_what_is_lost_is_seen() -> None:
    page = ROOT / "docs" / "index.md"

    assert broken(page, "[a](nowhere.md) [b](tutorial.md#no-such) [c](tutorial.md) `[d](x)`") == [
        "nowhere.md",
        "tutorial.md#no-such",
    ]
    assert lost_tests("`tests/docs/test_links.py::no` `tests/no.py` `tests/docs/test_links.py`") == [
        "`tests/docs/test_links.py::no`",
        "`tests/no.py`",
    ]

"""Whatever the documentation shows as code runs, and does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import RUN, SHOWN, Block, commands, matches, pages, read_blocks, told
from tests.support.source import ROOT


def _parameter(page: Path) -> object:
    """Pages that start workers and kill them run one at a time, as all tests do that send signals."""
    text = "".join(block.text for block in read_blocks(page) if block.language == "console")
    marks = [pytest.mark.kill] if "kill " in text or "&\n" in text else []
    return pytest.param(page, id=page.relative_to(ROOT).as_posix(), marks=marks)


_RUN = [page for page in pages() if any(block.language in RUN for block in read_blocks(page))]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", [_parameter(page) for page in _RUN])
def test_every_page_does_what_it_shows(page: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, runtime = short_tmp / "page", short_tmp / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(runtime))
    with told(folder, runtime) as story:
        for block in read_blocks(page):
            story.run(block)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_block_escapes_the_run(page: Path) -> None:
    blocks = read_blocks(page)

    assert [block.place for block in blocks if block.language not in (*RUN, *SHOWN)] == []
    assert [block.place for block in blocks if block.title and not _used(block, blocks)] == []


def _used(file: Block, blocks: list[Block]) -> bool:
    """Whether a later block runs a file or imports it."""
    later = [block for block in blocks if block.line > file.line and block.language in RUN]
    return any(file.title.removesuffix(".py") in block.text for block in later)


# ---- the reader of pages itself


def test_blocks_are_read_with_language_title_and_line() -> None:
    page = ROOT / "README.md"
    text = "\n".join(["a", '```python title="t.py"', "x = 1", "```", "- b", "  ```text", "  c", "  ```"])

    first, second = read_blocks(page, text)

    assert (first.language, first.title, first.line, first.text) == ("python", "t.py", 2, "x = 1\n")
    assert (second.language, second.title, second.line, second.text) == ("text", "", 6, "c\n")


def test_commands_are_read_with_what_they_print() -> None:
    one, two = commands("$ a \\\n> b\nx\ny\n$ c\n")

    assert (one.line, one.shown) == ("a b", "x\ny")
    assert (two.line, two.shown) == ("c", "")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("", "", True),
        ("", "a\n", False),
        ("a", "a\n", True),
        ("a ... c", "a b b c\n", True),
        ("a\n...", "a\n", True),
        ("a\n...", "a\nb\nc\n", True),
        ("...\nc", "a\nb\nc\n", True),
        ("...\nc", "a\nb\n", False),
        ("a", "a\nb\n", False),
        ("(a)", "(a)\n", True),
    ],
)
def test_dots_stand_for_anything_and_nothing_else_does(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same


def test_a_page_that_is_wrong_fails(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(short_tmp)
    page = ROOT / "README.md"
    wrong = ["```python\nprint(1)  # 2\n```", "```python\nprint(1)\n```", "```console\n$ echo a\nb\n```"]
    wrong += ["```console\n$ false\n```", "```python\nraise ValueError\n```", "```python\nawait f()\n```"]
    right = [
        "```python\nimport asyncio\nprint(1)  # 1\n```",
        "```console\n$ echo a; false || echo b\na\nb\n```",
    ]
    right += ["```python\nawait asyncio.sleep(0)\n```", '```python title="m.py"\nx = 1\n```']
    right += ["```python\nimport m\nprint(m.x)  # ...\n```", "```console\n$ python m.py\n```"]
    with told(short_tmp, short_tmp / "run") as story:
        for text in right:
            story.run(read_blocks(page, text)[0])
        for text in wrong:
            with pytest.raises((AssertionError, ValueError, NameError)):
                story.run(read_blocks(page, text)[0])

"""Code is loaded by the command line alone (S22), and what goes wrong in it is shown as the user's own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noria.cli.exits import ImportFault
from noria.cli.loading import load
from tests.support.source import Names, read_package


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def fault(path: Path, text: str, name: str = "") -> ImportFault:
    path.write_text(text)
    with pytest.raises(ImportFault) as caught:
        load(name or str(path))
    return caught.value


def test_an_application_is_loaded_and_what_it_prints_is_no_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fine_app.py"
    path.write_text("from noria import Noria\nprint('hello')\napp = other = Noria()\n")
    assert load(str(path)) is load(f"{path}:other")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_the_traceback_begins_at_the_users_code(tmp_path: Path) -> None:
    found = fault(tmp_path / "broken_app.py", "def f():\n    raise OSError('no')\nf()\n")
    assert found.trace.count('File "') == 2
    assert found.trace.splitlines()[1].endswith('broken_app.py", line 3, in <module>')


def test_a_syntax_error_shows_its_place(tmp_path: Path) -> None:
    assert "line 2" in fault(tmp_path / "typo_app.py", "x = 1\ndef (:\n").trace


def test_an_import_that_is_missing_inside_is_the_users_matter(tmp_path: Path) -> None:
    assert "import not_there_at_all" in fault(tmp_path / "needs_app.py", "import not_there_at_all\n").trace


def test_a_module_that_exits_does_not_take_us_with_it(tmp_path: Path) -> None:
    found = fault(tmp_path / "exits_app.py", "import sys\nsys.exit(0)\n")
    assert "ended the program" in str(found)
    assert "sys.exit(0)" in found.trace


@pytest.mark.parametrize(
    "name", ["nowhere", "nowhere:app", "no where", "./nowhere.py", ":app", "os:path", "os"]
)
def test_what_is_not_there_needs_no_traceback(name: str) -> None:
    with pytest.raises(ImportFault) as caught:
        load(name)
    assert caught.value.trace == ""


LOADERS = {
    "importlib.import_module",
    "importlib.util.spec_from_file_location",
    "noria.app.locate.locate",
    "runpy.run_path",
}
PLACES = {
    "src/noria/app/locate.py",
    "src/noria/app/child.py",  # a process is told by its worker what the command line named
    "src/noria/cli/loading.py",
    "src/noria/cli/main.py",
}


def test_nothing_else_loads_code_by_name() -> None:
    found = {
        source.path
        for source in read_package()
        for names in [Names(source)]
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name | ast.Attribute) and names.resolve(node) in LOADERS
    }
    assert found <= PLACES
    assert found

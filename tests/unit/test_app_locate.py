"""Applications named on a command line."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noria import ConfigError, Noria
from noria.app.locate import locate

APP = "from noria import Noria\napp = Noria('sqlite:///located.db')\nother = app\n"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules into the current folder, and forgets them afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    "reference",
    ["located", "located:app", "located:other", "located.py", "./located.py:other", "in_a.package:app"],
)
def test_an_application_is_found_by_module_or_file(write: Write, reference: str) -> None:
    write("located.py", APP)
    write("in_a/package.py", APP)
    found = locate(reference)
    assert isinstance(found, Noria)
    assert found.url == "sqlite:///located.db"


def test_a_file_may_import_its_neighbours_and_have_any_name(write: Write) -> None:
    write("deep/neighbour.py", "NAME = 'sqlite:///n.db'")
    write("deep/my-app.py", "from noria import Noria\nfrom neighbour import NAME\napp = Noria(NAME)")
    assert locate("deep/my-app.py").url == "sqlite:///n.db"


@pytest.mark.parametrize("reference", ["shop/deep/tasks.py", "shop/deep/__init__.py:app", "shop.deep.tasks"])
def test_a_file_of_a_package_is_a_module_of_it(write: Write, reference: str) -> None:
    write("shop/__init__.py", "")
    write("shop/settings.py", "URL = 'sqlite:///shop.db'\n")
    write("shop/deep/__init__.py", "from .tasks import app\n")
    write("shop/deep/tasks.py", "from noria import Noria\nfrom ..settings import URL\napp = Noria(URL)\n")

    found = locate(reference)

    assert found.url == "sqlite:///shop.db"
    assert found is locate("shop.deep.tasks:app")


def test_a_file_of_a_package_may_have_any_name(write: Write) -> None:
    write("my-shop/__init__.py", "")
    write("my-shop/settings.py", "URL = 'sqlite:///shop.db'\n")
    write("my-shop/my-tasks.py", "from noria import Noria\nfrom .settings import URL\napp = Noria(URL)\n")

    assert locate("my-shop/my-tasks.py").url == "sqlite:///shop.db"


def test_an_error_in_a_file_of_a_package_names_its_module(write: Write) -> None:
    write("shop/__init__.py", "")
    write("shop/tasks.py", "import settings\n")

    with pytest.raises(
        ConfigError, match=r"tasks\.py, as module shop\.tasks of its package, cannot be imported"
    ):
        locate("shop/tasks.py")


def test_a_package_hidden_by_another_of_its_name_is_said(write: Write) -> None:
    write("json/__init__.py", "")
    path = write("json/decoder.py", APP)

    with pytest.raises(ConfigError, match=r"another json\.decoder is loaded, from .*decoder\.py") as caught:
        locate("json/decoder.py")

    assert str(path) in str(caught.value)
    assert "give the package another name" in str(caught.value)


def test_a_file_named_like_a_loaded_module_does_not_replace_it(write: Write) -> None:
    path = write("json.py", APP)
    assert locate(str(path)).url == "sqlite:///located.db"
    assert sys.modules["json"].__file__ != str(path)


def test_a_file_is_loaded_once(write: Write) -> None:
    write("located.py", APP)
    assert locate("located.py") is locate("located.py")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("", "names no application"),
        (":app", "names no application"),
        ("nowhere", "no module 'nowhere'"),
        ("nowhere.deep:app", "no module 'nowhere'"),
        ("no way:app", "is no module's name"),
        ("../up", "is no module's name"),
        ("missing.py", "no file 'missing.py'"),
        ("located:missing", "has no 'missing'; it has app"),
        ("located:number", "is int, no Noria; it has app"),
        ("empty:app", "it makes no application"),
    ],
)
def test_what_cannot_be_found_is_said(write: Write, reference: str, words: str) -> None:
    write("located.py", APP + "number = 5\n")
    write("empty.py", "")
    with pytest.raises(ConfigError) as caught:
        locate(reference)
    assert words in str(caught.value)


@pytest.mark.parametrize("reference", ["broken", "broken.py"])
def test_an_error_in_the_user_s_code_keeps_its_traceback(write: Write, reference: str) -> None:
    write("broken.py", "def fail():\n    return 1 / 0\nfail()\n")
    with pytest.raises(ConfigError, match=r"broken.* cannot be imported: ZeroDivisionError") as caught:
        locate(reference)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert cause.__traceback__ is not None


def test_a_missing_import_of_the_user_s_is_not_taken_for_the_module_itself(write: Write) -> None:
    write("importing.py", "import does_not_exist\n")
    with pytest.raises(
        ConfigError, match=r"importing cannot be imported: ModuleNotFoundError.*does_not_exist"
    ):
        locate("importing")

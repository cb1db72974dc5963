"""The repository itself: installable anywhere, from pinned files, and free of one machine's traces."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.source import ROOT

# In pieces, so that this file does not hold what it looks for.
_REGISTRIES = [
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("npmjs", "org"),
    ("npmjs", "com"),
    ("yarnpkg", "com"),
]
_REGISTRIES += [("deb.debian", "org"), ("crates", "io"), ("conda", "org"), ("proxy.golang", "org")]
_REGISTRY = re.compile("|".join(re.escape(".".join(pieces)) for pieces in _REGISTRIES))
_MACHINE_PATH = re.compile(r"(?<![\w.}$~-])/(?:" + "|".join(["work", "root", "home", "Users"]) + r")/[\w.]")


def repository_files() -> list[Path]:
    """What is, or is about to be, in version control; without git, everything outside dot folders."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        files = [ROOT / name for name in listed.split("\0") if name]
    else:
        files = [
            path
            for path in ROOT.rglob("*")
            if not any(part[0] == "." for part in path.relative_to(ROOT).parts)
        ]
    return [path for path in files if path.is_file()]


def matches(pattern: re.Pattern[str], texts: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"{name}:{number}: {found[0]}"
        for name, text in texts
        for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ]


def _texts() -> Iterator[tuple[str, str]]:
    for path in repository_files():
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")


def test_no_file_names_a_registry() -> None:
    assert matches(_REGISTRY, _texts()) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert matches(_MACHINE_PATH, _texts()) == []


def test_checks_see_registries_and_paths() -> None:
    bad = "https://" + ".".join(_REGISTRIES[0]) + "/simple\nsource = '/" + "home/ann/noria'\n"
    assert len(matches(_REGISTRY, [("a", bad)])) == 1
    assert len(matches(_MACHINE_PATH, [("a", bad)])) == 1
    assert matches(_MACHINE_PATH, [("a", "$HOME/" + "home/x example.org/" + "home/x")]) == []


# ---- requirements

_PINNED = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?==\S+(\s*;.*?)?(\s+--hash=sha256:[0-9a-f]{64})+")


def requirement_lines(text: str) -> list[str]:
    """The requirements of a file, each joined to one line, without comments."""
    text = re.sub(r"(?m)(^|\s)#.*$", "", text).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip()]


def unpinned(text: str) -> list[str]:
    return [line for line in requirement_lines(text) if not _PINNED.fullmatch(line)]


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").rglob("*.txt")), ids=lambda path: path.name)
def test_every_requirement_is_pinned_with_a_hash(path: Path) -> None:
    assert requirement_lines(path.read_text()) != []
    assert unpinned(path.read_text()) == []


def test_check_sees_loose_requirements() -> None:
    pinned = (
        "click==8.5.1 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "0" * 64 + "\n    # via noria\n"
    )
    loose = ["click>=8\n", "click==8.5.1\n", "--index-url x\n", "git+https://example.org/click\n"]
    assert unpinned(pinned) == []
    assert [unpinned(pinned + line) for line in loose] == [[line.strip()] for line in loose]


def test_every_dependency_is_in_the_pinned_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = (ROOT / "requirements/runtime.txt").read_text()
    names = [re.split(r"[^\w-]", dependency)[0] for dependency in project["dependencies"]]
    assert [name for name in names if f"{name}==" not in pinned] == [], "run tools/lock"


FLOORS = {
    "starlette": (
        "0.49.1",
        "s12: CVE-2025-62727 and CVE-2025-54121, ranges and forms that take quadratic time",
    ),
    "httptools": ("0.6.4", "s13: it reads requests; to be raised with each fault of it that becomes known"),
    "apsw": ("3.51.3", "older SQLite can damage a log that several connections write"),
}
"""The oldest versions that users may get, and why no older ones."""


def below(floor: str) -> str:
    """A version just older than this one."""
    *first, last = floor.split(".")
    return ".".join([*first, str(int(last) - 1), "999"])


@pytest.mark.parametrize("name", FLOORS)
def test_dependencies_with_known_faults_are_refused(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    [required] = [each for each in map(Requirement, declared) if each.name == name]
    floor, why = FLOORS[name]
    assert required.specifier.contains(floor), why
    assert not required.specifier.contains(below(floor)), why


def test_s13_the_parser_whose_framing_was_lenient_reads_no_request() -> None:
    """CVE-2025-43859 is h11's, which uvicorn brings along."""
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    assert not [text for text in sources if re.search(r"(?m)^\s*(?:import|from) h11\b|h11_impl", text)]


# ---- what people start with


def test_help_lists_every_target() -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run = subprocess.run(
        ["make", "help"], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    phony = re.search(r"(?m)^\.PHONY:(.*)$", (ROOT / "Makefile").read_text())
    assert phony is not None
    public = {name for name in phony[1].split() if not name.startswith("_")}
    assert {line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")} == public


def test_scripts_can_be_executed() -> None:
    scripts = [path for path in [*(ROOT / "tools").iterdir(), ROOT / ".ci/run"] if path.is_file()]
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []


def test_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src/noria").rglob("*") if path.is_file()]
    wanted = {path.as_posix() for path in files if path.suffix != ".pyc" and "/." not in path.as_posix()}
    assert (wanted | {"pytest_noria.py"}) - packed == set()

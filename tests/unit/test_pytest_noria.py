"""The pytest plugin, as a user's test run sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from noria import Noria
from noria.testing import Trial


def run_pytest(folder: Path, text: str) -> str:
    """What pytest says of one test file, in a folder and a process of its own."""
    (folder / "test_it.py").write_text(textwrap.dedent(text))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(folder),
            str(folder),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=50,
    )
    return done.stdout + done.stderr


def test_it_is_found_by_pytest() -> None:
    assert [each.value for each in entry_points(group="pytest11", name="noria")] == ["pytest_noria"]


def test_it_imports_nothing_of_noria_until_a_test_uses_it(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
        import sys

        def test_before():
            assert "pytest_noria" in sys.modules
            assert "noria" not in sys.modules

        def test_use(noria_run):
            assert "noria" in sys.modules
        """,
    )
    assert "2 passed" in output, output


async def test_noria_run_runs_an_application(
    noria_run: Callable[[Noria], AbstractAsyncContextManager[Trial]],
) -> None:
    app = Noria()

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    async with noria_run(app) as t:
        assert await (await double.options(delay=3600).enqueue(4)) == 8
        assert len(t.enqueued(double, n=4)) == 1


async def test_noria_url_is_a_store_of_the_tests_own(noria_url: str) -> None:
    app = Noria()

    @app.task
    def double(n: int) -> int:
        return 2 * n

    assert os.environ["NORIA_URL"] == noria_url
    async with app:
        job = await double.enqueue(4)
        await app.worker(burst=True).run()
        assert await job == 8


def test_it_leaves_nothing_behind(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
        import os
        from pathlib import Path

        seen = []

        def test_one(noria_url):
            seen.append(Path(noria_url.removeprefix("sqlite:///")).parent)
            assert seen[0].is_dir()

        def test_two():
            assert not seen[0].exists()
            assert "NORIA_URL" not in os.environ and "NORIA_RUNTIME_DIR" not in os.environ
        """,
    )
    assert "2 passed" in output, output


@pytest.mark.parametrize("how", ["asyncio.run", "threads"])
def test_run_needs_no_plugin_at_all(how: str, tmp_path: Path) -> None:
    call = {
        "asyncio.run": "asyncio.run(check())",
        "threads": "thread = threading.Thread(target=asyncio.run, args=(check(),)); thread.start(); thread.join()",
    }[how]
    output = run_pytest(
        tmp_path,
        f"""
        import asyncio
        import threading

        import noria.testing
        from noria import Noria

        app = Noria()
        values = []

        @app.task
        def double(n: int) -> int:
            return 2 * n

        async def check():
            async with noria.testing.run(app):
                values.append(await (await double.enqueue(4)))

        def test_it():
            {call}
            assert values == [8]
        """,
    )
    assert "1 passed" in output, output

"""The sketch of flow control is checked as it is measured: what it looks for is what would be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.child import BenchError
from bench.sketch.__main__ import check
from bench.sketch.sqlite import SqliteEngine
from bench.sketch.work import SHAPES, SIZE, Batch, Shape, batches, expected

ALL = SHAPES[-1]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_settle_does_all_of_its_shape_and_a_repeat_nothing(shape: Shape, tmp_path: Path) -> None:
    engine, batch = SqliteEngine(tmp_path), next(batches(shape))
    engine.fill(batch)

    assert engine.settle(batch) == "o" * SIZE
    assert engine.look(batch) == expected(batch)
    assert engine.settle(batch) == "a" * SIZE
    assert engine.look(batch) == expected(batch)


@pytest.mark.parametrize("left_out", ["_follow", "_refill"])
def test_an_engine_that_leaves_something_out_is_found(
    left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteEngine, left_out, lambda *words: None)
    engine, batch = SqliteEngine(tmp_path), next(batches(ALL))
    _settled(engine, batch)

    with pytest.raises(BenchError, match="ready"):
        check(engine, batch, again=False)


def test_jobs_of_another_session_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, batch = SqliteEngine(tmp_path), next(batches(ALL))
    engine.fill(batch)
    monkeypatch.setattr("bench.sketch.sqlite.SESSION", "another")

    assert engine.settle(batch) == "s" * SIZE
    assert engine.look(batch).held == SIZE


def _settled(engine: SqliteEngine, batch: Batch) -> None:
    engine.fill(batch)
    engine.settle(batch)

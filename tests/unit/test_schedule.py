"""What becomes of a timer's slots: each of them runs, waits, or is counted as skipped or missed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noria.model import schedule as timers
from noria.model.schedule import CHUNK, FAR_AHEAD, ON_TIME, Entry, Schedule, Standing, Step, Template
from noria.model.timetable import Cron, Every

START = 1_000_000.0
TEMPLATE = Template(task="t", queue="q", body=b"{}")


def schedule(**given: Any) -> Schedule:
    standing = given.pop("standing", None) or Standing(given.pop("last", START), job="j")
    return Schedule(rule=given.pop("rule", Every(10.0)), template=TEMPLATE, standing=standing, **given)


def step(of: Schedule, now: float, *, live: bool = False) -> Step:
    found = timers.step(of, now, live=live)
    assert found is not None
    return found


def test_before_its_slot_there_is_nothing_to_do() -> None:
    assert timers.step(schedule(), START + 9.9, live=False) is None


def test_at_its_slot_it_runs() -> None:
    found = step(schedule(), START + 10.0)
    assert (found.run, found.standing.last, found.cancel) == (START + 10.0, START + 10.0, False)


def test_skip_lets_the_slot_go_and_says_so() -> None:
    found = step(schedule(), START + 10.0, live=True)
    assert found.run is None
    assert found.standing.skipped == 1
    assert found.standing.log == (Entry(START + 10.0, START + 10.0, "skipped"),)


def test_queue_one_keeps_the_newest_slot_until_the_job_has_ended() -> None:
    one = step(schedule(overlap="queue_one"), START + 10.0, live=True).standing
    two = step(schedule(overlap="queue_one", standing=one), START + 20.0, live=True).standing
    assert (two.waiting, two.skipped) == ((START + 20.0,), 1)
    assert step(schedule(overlap="queue_one", standing=two), START + 21.0).run == START + 20.0


def test_queue_all_runs_every_slot_in_order_one_after_another() -> None:
    of = schedule(overlap="queue_all")
    ran = []
    for now, live in [(10, True), (20, True), (30, True), (31, False), (32, True), (33, False), (34, False)]:
        found = timers.step(of, START + now, live=live)
        if found is not None:
            of = replace(of, standing=found.standing)
            ran += [found.run] if found.run else []
    assert ran == [START + 10.0, START + 20.0, START + 30.0]
    assert of.standing.waiting == ()


def test_queue_all_holds_a_bounded_number_and_skips_the_rest() -> None:
    of = schedule(overlap="queue_all", standing=Standing(START, waiting=tuple(range(CHUNK))))
    found = step(of, START + 10.0, live=True)
    assert (len(found.standing.waiting), found.standing.skipped) == (CHUNK, 1)


def test_cancel_old_asks_for_the_end_of_the_last_run_and_runs_after_it() -> None:
    found = step(schedule(overlap="cancel_old"), START + 10.0, live=True)
    assert (found.cancel, found.run, found.standing.waiting) == (True, None, (START + 10.0,))
    after = step(schedule(overlap="cancel_old", standing=found.standing), START + 11.0)
    assert (after.run, after.cancel) == (START + 10.0, False)


@pytest.mark.parametrize("catch_up", ["latest", "none"])
def test_after_a_time_without_workers_a_slot_that_is_on_time_runs_and_those_before_are_missed(
    catch_up: Any,
) -> None:
    found = step(schedule(catch_up=catch_up), START + 3_600.0 + 3.0)
    assert (found.run, found.standing.missed) == (START + 3_600.0, 359)


def test_catch_up_latest_runs_the_latest_slot_however_late() -> None:
    found = step(schedule(rule=Every(10_000.0)), START + 19_999.0)
    assert (found.run, found.standing.missed) == (START + 10_000.0, 0)


def test_catch_up_none_runs_nothing_that_is_late() -> None:
    found = step(schedule(catch_up="none", rule=Every(100.0)), START + 100.0 + ON_TIME + 0.1)
    assert (found.run, found.standing.missed) == (None, 1)


def test_catch_up_all_runs_the_slots_of_its_window() -> None:
    found = step(schedule(catch_up="all", window=35.0, overlap="queue_all"), START + 100.0)
    assert found.run == START + 70.0
    assert found.standing.waiting == (START + 80.0, START + 90.0, START + 100.0)
    assert found.standing.missed == 6


def test_more_slots_than_one_step_can_hold_are_dealt_with_in_several() -> None:
    of, now, runs = schedule(rule=Every(1.0)), START + 2.5 * CHUNK, []
    while (found := timers.step(of, now, live=False)) is not None:
        of = replace(of, standing=found.standing)
        runs += [found.run] if found.run else []
    assert runs == [now]
    assert of.standing.missed == 2.5 * CHUNK - 1


def test_t4_a_clock_that_jumped_a_day_ahead_and_back_stops_nothing_and_runs_no_slot_twice() -> None:
    day = 86_400.0
    ahead = step(schedule(rule=Every(3_600.0), last=0.0), day)
    assert ahead.run == day
    standing = timers.ran(ahead.standing, day, "one")
    back = schedule(rule=Every(3_600.0), standing=standing)
    assert timers.wakes(back, 100.0, 1.0) == 100.0
    back = replace(back, standing=step(back, 100.0).standing)
    assert timers.wakes(back, 100.0, 1.0) == 3_600.0
    runs = []
    for hour in range(1, 25):
        found = timers.step(back, hour * 3_600.0, live=False)
        if found is not None:
            back = replace(back, standing=found.standing)
            runs += [found.run] if found.run else []
    assert day - FAR_AHEAD > 3_600.0
    assert day not in runs
    assert len(runs) == len(set(runs))
    assert runs[:3] == [3_600.0, 7_200.0, 10_800.0]


def test_the_log_is_bounded_and_puts_like_things_together() -> None:
    of = schedule(rule=Every(1.0))
    for n in range(1, 400):
        found = step(of, START + n, live=n % 4 != 0)
        standing = timers.ran(found.standing, found.run, f"{n}") if found.run else found.standing
        of = replace(of, standing=standing)
    assert len(of.standing.log) == timers.REMEMBERED
    assert of.standing.log[0] == Entry(START + 397, START + 399, "skipped", 3)
    assert (of.standing.ran, of.standing.skipped) == (99, 300)


moments = st.lists(st.tuples(st.floats(0.0, 90.0), st.booleans()), max_size=12)


@given(
    moments,
    st.sampled_from(["skip", "queue_one", "queue_all", "cancel_old"]),
    st.sampled_from(["none", "latest"]),
    st.sampled_from([Every(1.0), Every(7.0), Cron("* * * * *")]),
)
def test_every_slot_is_ran_skipped_missed_or_waiting_and_only_one_of_these(
    when: list[tuple[float, bool]], overlap: Any, catch_up: Any, rule: Any
) -> None:
    of, now = schedule(rule=rule, overlap=overlap, catch_up=catch_up), START
    for pause, live in when:
        now += pause
        found = timers.step(of, now, live=live)
        if found is None:
            continue
        assert not (found.run and live), "it overlaps"
        standing = timers.ran(found.standing, found.run, "job") if found.run else found.standing
        of = replace(of, standing=standing)
    there = _until(rule, now)
    standing = of.standing
    assert standing.ran + standing.skipped + standing.missed + len(standing.waiting) == len(there)


def _until(rule: Any, now: float) -> list[float]:
    found = []
    for slot in rule.slots(START):
        if slot > now:
            return found
        found.append(slot)
    return found


def test_a_declared_schedule_goes_on_where_the_stored_one_was() -> None:
    stored = schedule(standing=Standing(START + 50, job="j", ran=5))
    declared = schedule(last=START + 70, jitter=1.0)
    assert timers.renewed(stored, declared) == replace(declared, standing=stored.standing)
    assert timers.renewed(None, declared) == declared


def test_a_new_rule_begins_now_so_that_it_has_missed_nothing() -> None:
    stored = schedule(standing=Standing(START + 50, ran=5))
    declared = schedule(rule=Every(1.0), last=START + 700)
    assert timers.renewed(stored, declared).standing == Standing(START + 700, ran=5)


def test_a_job_gets_its_bounds_from_its_slot() -> None:
    template = replace(TEMPLATE, expires=30.0, deadline=60.0)
    job = timers.job_of(template, b"0" * 16, "nightly", START, START + 2.0)  # type: ignore[arg-type]  # any id
    assert (job.at, job.expires, job.deadline) == (START + 2.0, START + 30.0, START + 60.0)
    assert (job.extras.schedule, job.extras.slot) == ("nightly", START)

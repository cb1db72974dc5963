"""The commands as people use them: enqueue, run, look, mend."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import PROGRAM, Commands, commands, until

APP = """
import asyncio
from noria import Noria

print("the module speaks")
app = Noria()

@app.task
async def add(a: int, b: int = 1) -> int:
    return a + b

@app.task(queue="mail", attempts=1)
async def fail(why: str = "no") -> None:
    raise ValueError(f"bad {why}")

@app.task
async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"

@app.task
def shout(text: str) -> str:
    return text.upper()
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        yield made


def test_a_job_is_enqueued_run_by_a_worker_and_read(noria: Commands) -> None:
    done = noria.run("enqueue", "add", "a=3", "b=4")
    assert (done.returncode, done.stderr.strip()) == (0, "the module speaks")
    id = done.stdout.strip()
    assert [job["state"] for job in noria.json("jobs")] == ["queued"]

    assert noria.run("worker", "--burst").returncode == 0

    [job] = noria.json("jobs", "show", id)
    assert (job["id"], job["state"], job["args"], job["result"]) == (id, "succeeded", {"a": 3, "b": 4}, 7)
    shown = noria.run("jobs", "show", id[-8:])
    assert shown.returncode == 0
    assert "succeeded" in shown.stdout
    assert noria.run("jobs", "explain", id).stdout.startswith("succeeded")


def test_waiting_prints_the_value_and_its_exit_code_tells_how_it_went(noria: Commands) -> None:
    worker = noria.start("worker")
    worker.says("slots:", error=True)
    assert noria.run("enqueue", "add", "a=3", "--wait", "20").stdout == "4\n"
    assert noria.run("enqueue", "shout", "text=a=b", "--wait", "20").stdout == "A=B\n"
    [value] = noria.json("enqueue", "add", "--args", "[20, 22]", "--wait", "20")
    assert (value["state"], value["result"]) == ("succeeded", 42)

    failed = noria.run("enqueue", "fail", "--wait", "20")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "ValueError: bad no" in failed.stderr

    late = noria.run("enqueue", "nap", "seconds=60", "--wait", "0.3")
    assert late.returncode == 6
    [job] = noria.json("jobs", "show", late.stdout.strip())
    assert job["state"] in ("queued", "running")


def test_failures_of_enqueue_store_nothing(noria: Commands) -> None:
    for words, code, told in (
        (["nonsense"], 4, "nonsense"),
        (["ad", "a=1"], 4, "did you mean 'add'"),
        (["add", "a=x"], 2, "int"),
        (["add"], 2, "missing"),
        (["add", "a=1", "c=2"], 2, "no parameter 'c'"),
        (["add", "--args", "{"], 2, "no JSON"),
        (["add", "--args", "@nowhere.json"], 2, "cannot be read"),
        (["add", "a=1", "--priority", "12"], 2, "12"),
        (["add", "a=1", "--queue", "a b"], 2, "queue"),
    ):
        done = noria.run("enqueue", *words)
        assert (done.returncode, done.stdout) == (code, ""), (words, done.stderr)
        assert told in done.stderr
        assert "Traceback" not in done.stderr
    assert not (noria.folder / "test.db").exists()


def test_options_of_a_job_are_stored(noria: Commands) -> None:
    noria.write("args.json", '{"a": 1}')
    words = (
        "--delay 1h --priority 3 --queue other --tag vip --tag new --attempts 2 --unique k --correlation r5"
    )
    first = noria.run("enqueue", "add", "--args", "@args.json", *words.split())
    again = noria.run("enqueue", "add", "--args", "-", "--unique", "k", input="[5]")
    assert again.stdout == first.stdout
    assert "stands for it" in again.stderr
    [job] = noria.json("jobs", "list", "tag:vip", "queue:other", "state:scheduled", "correlation:r5")
    assert (job["priority"], job["tags"], job["max_attempts"], job["unique_key"]) == (
        3,
        ["vip", "new"],
        2,
        "k",
    )
    assert noria.json("jobs", "list", "tag:old") == []
    assert noria.run("jobs", "list", "tag:old", "--fail-empty").returncode == 8


def test_the_answer_says_what_became_of_a_unique_job(noria: Commands) -> None:
    words = ("enqueue", "add", "a=1", "--delay", "1h", "--unique", "k")
    [first] = noria.json(*words)
    [last] = noria.json(*words, "--on-conflict", "keep_last", "--at-most", "2h")
    [young] = noria.json(*words, "--on-conflict", "replace", "--unique-while", "live")
    refused = noria.run(*words, "--on-conflict", "reject")
    assert [each["enqueued"] for each in (first, last, young)] == ["created", "updated", "replaced"]
    assert (first["id"] == last["id"], young["created"]) == (True, True)
    assert (refused.returncode, young["id"] in refused.stderr) == (5, True)
    lines = noria.run("enqueue", "add", "-", "--unique", "k", "--on-conflict", "reject", input='{"a": 1}\n')
    assert (lines.returncode, young["id"] in lines.stderr) == (5, True)
    assert noria.json("enqueue", "add", "a=7", "--unique-by", "a", "--unique-within", "60")[0]["created"]
    for wrong in (["--on-conflict", "reject"], ["--unique", "k", "--max-items", "3"], ["--unique-by", "z"]):
        assert noria.run("enqueue", "add", "a=1", *wrong).returncode == 2


def test_many_jobs_come_from_lines(noria: Commands) -> None:
    lines = [json.dumps({"a": n}) for n in range(2_500)]
    lines[7] = "no json"
    lines[8] = '{"a": "x"}'
    lines[9] = "[1, 2, 3]"
    done = noria.run("enqueue", "add", "-", input="\n".join(lines) + "\n\n")
    assert done.returncode == 1
    assert len(set(done.stdout.split())) == 2_497
    assert "line 8:" in done.stderr and "line 9:" in done.stderr and "line 10:" in done.stderr
    assert "2,497 jobs enqueued, 3 lines refused" in done.stderr
    [queue] = noria.json("queues")
    assert queue["counts"] == {"queued": 2_497}


def test_commands_may_make_the_store_at_the_same_time(noria: Commands) -> None:
    started = [noria.start("enqueue", "add", f"a={n}") for n in range(5)]
    assert [running.ends() for running in started] == [0] * 5, started
    assert len(noria.json("jobs")) == 5


def test_lists_go_on_at_their_cursor(noria: Commands) -> None:
    noria.run("enqueue", "add", "-", input="\n".join(f"[{n}]" for n in range(25)))
    seen: list[str] = []
    cursor: list[str] = []
    for _ in range(3):
        done = noria.run("--json", "jobs", "list", "--limit", "10", *cursor)
        seen += [json.loads(line)["id"] for line in done.stdout.splitlines()]
        cursor = ["--cursor", done.stderr.split()[-1]] if "--cursor" in done.stderr else []
    assert cursor == []
    assert len(set(seen)) == len(seen) == 25
    assert seen == sorted(seen, reverse=True)


def test_dead_letters_are_seen_retried_and_discarded(noria: Commands) -> None:
    noria.run("enqueue", "fail", "-", input="\n".join(f'["{n}"]' for n in range(5)))
    noria.run("worker", "--burst")
    assert len(noria.json("dead")) == 5
    [group] = noria.json("dead", "list", "--group")
    assert (group["count"], group["task"]) == (5, "fail")
    assert "ValueError" in noria.run("dead", "list", "--group").stdout

    first, second, *_ = (job["id"] for job in noria.json("dead"))
    assert noria.run("dead", "retry", first).returncode == 0
    assert noria.run("dead", "discard", second).returncode == 0
    assert len(noria.json("dead")) == 3

    refused = noria.run("dead", "retry", "--all")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert noria.run("dead", "retry", "--all", input="n\n").returncode == 1
    assert len(noria.json("dead")) == 3
    [dealt] = noria.json("dead", "retry", "--all", "--yes")
    assert (dealt["matched"], dealt["done"]) == (3, 3)
    assert noria.run("dead", "discard", "--all", "--yes", "--fail-empty").returncode == 8


def test_jobs_are_changed_and_refusals_have_their_codes(noria: Commands) -> None:
    id = noria.run("enqueue", "add", "a=1").stdout.strip()
    gone = id[:-12] + "0" * 12
    assert noria.run("jobs", "retry", id).returncode == 5
    cancelled = noria.json("jobs", "cancel", id, "--note", "not needed")
    assert cancelled == [{"id": id, "action": "cancel", "status": "done", "state": "cancelled"}]
    assert noria.run("jobs", "retry", id).returncode == 0
    assert noria.run("jobs", "cancel", gone).returncode == 4
    assert noria.run("jobs", "show", gone).returncode == 4
    assert noria.run("jobs", "show", "f" * 8).returncode == 4
    assert noria.run("jobs", "cancel", id, gone).returncode == 4
    assert noria.run("jobs", "show", "what").returncode == 2


def test_a_running_job_is_cancelled_through_its_worker(noria: Commands) -> None:
    worker = noria.start("worker")
    worker.says("slots:", error=True)
    id = noria.run("enqueue", "nap", "seconds=60").stdout.strip()
    until(lambda: noria.json("jobs", "show", id)[0]["state"] == "running")
    done = noria.run("jobs", "cancel", id, "--note", "the customer left")
    assert done.returncode == 0
    until(lambda: noria.json("jobs", "show", id)[0]["state"] == "cancelled")
    assert noria.json("jobs", "show", id)[0]["error"]["message"] == "the customer left"


def test_tables_are_for_people_and_json_for_programs(noria: Commands) -> None:
    noria.run("enqueue", "add", "a=1")
    plain = noria.run("jobs")
    assert plain.stdout.splitlines()[0].split() == ["id", "state", "task", "age", "attempts", "error"]
    assert "\x1b" not in plain.stdout + plain.stderr
    assert "\x1b[" in noria.run("jobs", "--color", "always").stdout
    assert noria.run("jobs", "--quiet").stderr == ""


def on_terminal(noria: Commands, *words: str, **environment: str) -> str:
    """What a command shows on a terminal."""
    near, far = pty.openpty()
    env = {**noria.environment, "TERM": "xterm", **environment}
    with subprocess.Popen([*PROGRAM, *words], cwd=noria.folder, env=env, stdout=far, stderr=far) as process:
        os.close(far)
        text = b""
        try:
            while data := os.read(near, 4096):
                text += data
        except OSError:
            pass  # the other side has closed
        os.close(near)
        assert process.wait(20) == 0
    return text.decode()


def test_a_terminal_gets_colour_unless_no_color_is_set(noria: Commands) -> None:
    noria.run("enqueue", "add", "a=1")

    assert "\x1b[" in on_terminal(noria, "jobs")
    assert "\x1b[" not in on_terminal(noria, "jobs", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(noria, "jobs", TERM="dumb")
    assert "\x1b[" in on_terminal(noria, "jobs", NO_COLOR="1", NORIA_COLOR="always")


@pytest.mark.parametrize("columns", ["20", "40", "60"])
def test_a_narrow_terminal_shows_whole_ids(noria: Commands, columns: str) -> None:
    id = noria.run("enqueue", "fail", "why=" + "x" * 80).stdout.strip()
    noria.run("worker", "--burst")

    assert f"{id[-8:]}\r\n" in on_terminal(noria, "jobs", COLUMNS=columns, NO_COLOR="1")
    assert id in on_terminal(noria, "jobs", "show", id, COLUMNS=columns, NO_COLOR="1")


def test_the_doctor_finds_what_is_wrong_and_says_the_fix(noria: Commands) -> None:
    noria.run("enqueue", "fail")
    noria.run("worker", "--burst")
    noria.run("enqueue", "add", "a=1")
    healthy = noria.run("doctor", "shop.py")
    assert healthy.returncode == 0, healthy.stdout
    assert "no live worker serves" in healthy.stdout
    assert "noria dead list --group" in healthy.stdout
    findings = {each["check"]: each["status"] for each in noria.json("doctor")}
    assert findings["integrity"] == findings["journal mode"] == findings["sqlite"] == "ok"

    os.chmod(noria.folder / "test.db", 0o666)
    noria.write("broken.py", "import nowhere_to_be_found\n")
    ill = noria.run("doctor", "broken.py")
    assert ill.returncode == 1
    assert "chmod go-w" in ill.stdout
    assert "nowhere_to_be_found" in ill.stderr


def test_the_doctor_sees_a_damaged_store(noria: Commands) -> None:
    noria.run("enqueue", "add", "-", input="\n".join(f"[{n}]" for n in range(3_000)))
    store = noria.folder / "test.db"
    data = bytearray(store.read_bytes())
    for page in range(4, len(data) // 4096 - 1):
        data[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    store.write_bytes(bytes(data))
    done = noria.run("doctor", "--app", "shop.py")
    assert done.returncode == 1, done.stdout
    assert "damaged" in done.stdout or "cannot be read" in done.stdout


@pytest.mark.slow
def test_a_benchmark_reads_back_every_result_and_leaves_nothing(noria: Commands) -> None:
    noria.run("enqueue", "add", "a=1")
    before = {path.name for path in noria.folder.iterdir()}
    [report] = noria.json("bench", "--jobs", "100")
    assert report["wrong"] == 0
    assert report["jobs"] == 4 * 100
    assert {
        "processor",
        "cores",
        "python",
        "sqlite",
        "journal_mode",
        "synchronous",
        "durability",
    } <= report.keys()
    assert all(each["rate"] > 0 for each in report["measures"])
    assert {path.name for path in noria.folder.iterdir()} == before
    assert len(noria.json("jobs")) == 1
    assert "round trip" in noria.run("bench", "--jobs", "20").stdout

"""Every command says the same through a front as it says about the store itself."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.commands import Commands, commands
from tests.support.serving import Front, serve
from tests.support.twice import APP, KEY, same, through, without_ids

NOWHERE = "019ad000-0000-7000-8000-000000000000"


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        yield made


@pytest.fixture
def front(noria: Commands) -> Front:
    noria.run("enqueue", "add", "a=1", "--tag", "vip", "--correlation", "r5")
    noria.run("enqueue", "fail", "-", input='["x"]\n["y"]\n')
    assert noria.run("worker", "--burst").returncode == 0
    noria.run("enqueue", "add", "a=2", "--delay", "1h", "--unique", "k", "--priority", "3")
    return serve(noria, NORIA_API_KEY=KEY)


@pytest.mark.parametrize("form", ["", "--json"])
def test_looking_gives_the_same_output(noria: Commands, front: Front, form: str) -> None:
    ids = [job["id"] for job in noria.json("jobs")]
    assert len(ids) == 4
    for words in (
        ["jobs"],
        ["jobs", "list", "state:failed", "error:bad x"],
        ["jobs", "list", "tag:vip", "created:<1h"],
        ["jobs", "list", "task:nothing", "--fail-empty"],
        *(["jobs", "show", id] for id in ids),
        ["jobs", "show", ids[0][-12:]],
        ["jobs", "show", NOWHERE],
        ["jobs", "show", "ffffffff"],
        ["jobs", "explain", ids[0]],
        ["jobs", "explain", ids[-1]],
        ["dead"],
        ["dead", "list", "--group"],
        ["queues"],
        ["jobs", "list", "state:wrong"],
        ["jobs", "show", "what"],
    ):
        words = [*words, form] if form else words
        near, far = noria.run(*words), through(noria, front, *words)
        assert (far.returncode, same(far.stdout)) == (near.returncode, same(near.stdout)), (words, far.stderr)
        if near.returncode in (0, 8):
            mine = [line for line in near.stderr.splitlines() if "speaks" not in line]
            assert same(far.stderr).splitlines() == list(map(same, mine)), words


def test_pages_go_on_at_the_cursor_of_a_front(noria: Commands, front: Front) -> None:
    whole = [json.loads(line)["id"] for line in through(noria, front, "jobs", "--json").stdout.splitlines()]
    first = through(noria, front, "jobs", "list", "--limit", "3", "--json")
    rest = through(noria, front, "jobs", "list", "--json", "--cursor", first.stderr.split()[-1])
    assert [json.loads(line)["id"] for line in (first.stdout + rest.stdout).splitlines()] == whole


def test_changing_gives_the_same_output_and_codes(noria: Commands, front: Front) -> None:
    def both(*words: str) -> None:
        """The same change to one job here and to its twin there."""
        for form in ([], ["--json"]):
            outcomes = []
            for run in (noria.run, lambda *words: through(noria, front, *words)):
                [id] = noria.run("enqueue", "fail", "why=z").stdout.split()
                assert noria.run("worker", "--burst").returncode == 0
                done = [run(*words, id, *form) for _ in range(2)]
                outcomes.append([(each.returncode, each.stdout.replace(id, "ID")) for each in done])
            assert outcomes[0] == outcomes[1], words

    both("jobs", "retry")
    both("jobs", "cancel")
    both("jobs", "discard", "--note", "seen")
    both("dead", "retry")
    missing = [run("jobs", "cancel", NOWHERE) for run in (noria.run, lambda *w: through(noria, front, *w))]
    assert missing[0].stdout == missing[1].stdout
    assert missing[0].returncode == missing[1].returncode == 4


def test_all_dead_letters_are_dealt_with_through_a_front(noria: Commands, front: Front) -> None:
    done = through(noria, front, "dead", "discard", "--all", "--query", "error:bad x", "--yes")
    assert (done.returncode, done.stdout) == (0, "1 dead letter discarded\n")
    assert len(noria.json("dead")) == 1


def test_enqueueing_and_calling_give_the_same_output_and_codes(noria: Commands, front: Front) -> None:
    noria.start("worker").says("slots:", error=True)
    for words, code in (
        (["call", "add", "a=20", "b=22"], 0),
        (["call", "shout", "text=3 times", "times=null"], 0),
        (["call", "shout", "--args", '["a"]', "--json"], 0),
        (["call", "fail", "why=x"], 1),
        (["call", "fail", "why=x", "--json"], 1),
        (["enqueue", "add", "a=1", "--delay", "1h", "--wait", "0.1"], 6),
        (["enqueue", "add", "a=1", "--delay", "1h", "--tag", "t", "--unique", "k2", "--run-timeout", "5"], 0),
        (["call", "nothing"], 4),
        (["call", "add", "a=x"], 2),
        (["call", "add", "a=1", "c=2"], 2),
        (["call", "add", "a=1", "a=2"], 2),
        (["call", "add", "--args", "{"], 2),
        (["enqueue", "add", "a=1", "--priority", "9", "--queue", "a b"], 2),
    ):
        near, far = noria.run(*words), through(noria, front, *words)
        assert (near.returncode, far.returncode) == (code, code), (words, near.stderr, far.stderr)
        assert without_ids(far.stdout) == without_ids(near.stdout), words
        assert "Traceback" not in far.stderr
    [job] = noria.json("jobs", "list", "tag:t")
    assert (job["unique_key"], job["timeout"]) == ("k2", 5.0)


def test_every_option_of_a_job_has_a_flag(noria: Commands, front: Front) -> None:
    rare = [*("--tag", "rare"), *("--keep", "0"), *("--crashes", "2"), *("--retry", "base=5,jitter=none")]
    times = ["--at", "2090-01-01T00:00:00Z", "--expires", "2090-01-01T01:00Z", "--deadline", "30000d"]
    for words, code in (([*times, *rare], 0), (["--at", "2090-01-01T00:00:00Z", "--delay", "5"], 2)):
        all_words = ["enqueue", "add", "a=1", *words]
        done = [noria.run(*all_words), through(noria, front, *all_words)]
        assert [each.returncode for each in done] == [code, code], [each.stderr for each in done]
    jobs = noria.json("jobs", "list", "tag:rare")
    assert len(jobs) == 2
    for job in jobs:
        assert (job["run_at"][:16], job["expires_at"][:16]) == ("2090-01-01T00:00", "2090-01-01T01:00")
        assert job["deadline_at"] > "2100"


def test_a_job_has_the_id_that_it_is_given(noria: Commands, front: Front) -> None:
    words = ["enqueue", "add", "a=1", "--id", NOWHERE]
    assert [noria.run(*words).stdout for _ in range(2)] == [f"{NOWHERE}\n"] * 2
    again = through(noria, front, *words)
    assert (again.returncode, again.stdout) == (0, f"{NOWHERE}\n")
    assert "stands for it" in again.stderr
    assert again.stderr == noria.run(*words).stderr
    assert through(noria, front, "enqueue", "add", "a=2", "--id", NOWHERE).returncode == 5
    assert noria.run("enqueue", "add", "-", "--id", NOWHERE, input="{}").returncode == 2


def test_lines_are_enqueued_through_a_front_and_bad_ones_are_told(noria: Commands, front: Front) -> None:
    lines = [json.dumps({"a": n}) for n in range(1_200)]
    lines[1], lines[2], lines[1_100] = "no json", '{"a": "x"}', "[1, 2, 3]"
    done = through(noria, front, "enqueue", "add", "-", input="\n".join(lines))
    assert done.returncode == 1
    assert len(set(done.stdout.split())) == 1_197
    assert all(f"line {number}:" in done.stderr for number in ("2", "3", "1,101")), done.stderr
    assert "1,197 jobs enqueued, 3 lines refused" in done.stderr


def test_the_arguments_of_a_retry_come_from_a_file_and_from_stdin_as_those_of_a_job(
    noria: Commands, front: Front
) -> None:
    first, second = (job["id"] for job in noria.json("dead"))
    noria.write("args.json", '{"why": "a file"}')
    assert noria.run("jobs", "retry", first, "--args", "@args.json").returncode == 0
    assert through(noria, front, "jobs", "retry", second, "--args", "-", input='["stdin"]').returncode == 0
    [one], [other] = (noria.json("jobs", "show", id) for id in (first, second))
    assert (one["args"], other["args"]) == ({"why": "a file"}, {"why": "stdin"})
    missing = noria.run("jobs", "retry", first, "--args", "@nowhere.json")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "nowhere.json cannot be read" in missing.stderr


def test_a_full_queue_refuses_and_hides_nothing_with_and_without_a_front(
    noria: Commands, front: Front
) -> None:
    noria.run("enqueue", "fail", "why=there")
    lines = '{"why": "a"}\n{"why": "b"}\n{"why": "c"}\n'
    for room, run in ((3, noria.run), (5, lambda *words, **given: through(noria, front, *words, **given))):
        noria.run("queues", "limit", "mail", "--max-length", str(room))
        many = run("enqueue", "fail", "-", input=lines)
        assert (many.returncode, len(many.stdout.split())) == (1, 2), many.stderr
        assert (
            f"line 3: a job of task 'fail' was not enqueued: queue 'mail' is full: {room} jobs" in many.stderr
        )
        [copied] = [job["id"] for job in noria.json("jobs", "list", "args.why:there")]
        for words in (["enqueue", "fail"], ["call", "fail"], ["jobs", "copy", copied]):
            one = run(*words)
            assert (one.returncode, one.stdout) == (5, ""), one.stderr
            assert "queue 'mail' is full" in one.stderr
            assert "bug" not in one.stderr


def test_a_key_comes_from_the_environment_or_a_private_file(noria: Commands, front: Front) -> None:
    for key, told in (("", "asks for a key"), ("another-key-of-enough-letters", "key")):
        refused = through(noria, front, "jobs", key=key)
        assert (refused.returncode, refused.stdout) == (7, "")
        assert told in refused.stderr
    path = noria.write("key", KEY + "\n")
    path.chmod(0o644)
    open_to_all = through(noria, front, "jobs", "--key-file", "key", key="")
    assert open_to_all.returncode == 2
    assert "chmod 600" in open_to_all.stderr
    path.chmod(0o600)
    assert through(noria, front, "jobs", "--key-file", "key", key="").returncode == 0
    for url in (f"http://me:{KEY}@127.0.0.1:{front.port}", "http://", "http://h:99999", "https://h/?key=x"):
        refused = noria.run("jobs", NORIA_URL=url)
        assert refused.returncode == 2, url
        assert KEY not in refused.stderr


def test_a_front_that_cannot_be_reached_is_3_within_its_time(noria: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = noria.run("jobs", "--timeout", "0.5", NORIA_URL=url)
        assert done.returncode == 3
        assert "did not answer within 0.5 s" in done.stderr
    done = noria.run("jobs", NORIA_URL=url)
    assert done.returncode == 3
    assert "cannot be reached" in done.stderr


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for localhost that nobody trusts yet, with its key in one file."""
    path = tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    key = subprocess.run([*made, "-keyout", "-", "-out", path], check=True, capture_output=True).stdout
    path.write_bytes(path.read_bytes() + key)
    return path


@contextmanager
def encrypted(front: Front, certificate: Path) -> Iterator[int]:
    """A port at which the front can be reached by TLS, one connection after another."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                plain, _ = server.accept()
                with (
                    suppress(OSError),
                    context.wrap_socket(plain, server_side=True) as client,
                    front.connect() as behind,
                ):
                    back = threading.Thread(target=pump, args=(behind, client))
                    back.start()
                    pump(client, behind)
                    back.join(10)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_certificates_are_checked(noria: Commands, front: Front, certificate: Path) -> None:
    with encrypted(front, certificate) as port:
        named = {"NORIA_URL": f"https://localhost:{port}", "NORIA_API_KEY": KEY}
        unknown = noria.run("jobs", **named)
        assert unknown.returncode == 3
        assert "certificate" in unknown.stderr
        assert noria.run("jobs", **named, SSL_CERT_FILE=str(certificate)).returncode == 0
        named["NORIA_URL"] = f"https://127.0.0.1:{port}"
        foreign = noria.run("jobs", **named, SSL_CERT_FILE=str(certificate))
        assert foreign.returncode == 3
        assert "certificate" in foreign.stderr

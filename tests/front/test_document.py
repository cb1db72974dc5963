"""The OpenAPI document: whole, true of the answers, and typed for each task."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
import uvicorn

from noria import Noria
from noria.front import asgi
from noria.front.examples import EXAMPLES
from noria.front.problem import CODES, Problem
from noria.front.routes import ROUTES
from tests.front.test_tasks import rich
from tests.support.door import Place, place, shop, store


async def document_of(here: Place) -> Any:
    answer = await here.ask("GET", "/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def undocumented(document: Any, schema: Any, value: Any, at: str = "") -> list[str]:
    """Where a value has members of which its schema says nothing."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        fitting = [each for each in schema["anyOf"] if (each.get("type") == "null") == (value is None)]
        return undocumented(document, fitting[0], value, at) if fitting else []
    if isinstance(value, list):
        return [
            found
            for each in value
            for found in undocumented(document, schema.get("items", {}), each, at + "[]")
        ]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    found = [f"{at}.{name}" for name in value if name not in known]
    return found + [
        each
        for name in value
        if name in known
        for each in undocumented(document, known[name], value[name], f"{at}.{name}")
    ]


async def test_every_route_is_in_the_document_with_its_scope_and_failures(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        document = await document_of(here)
        for route in ROUTES:
            entry = document["paths"][route.path][route.method.lower()]
            assert entry["x-noria-scope"] == route.scope
            told = set(entry["responses"])
            assert {str(status) for status in route.success} <= told
            assert {str(CODES[code][0]) for code in route.problems} <= told
        ids = [entry["operationId"] for methods in document["paths"].values() for entry in methods.values()]
        assert len(ids) == len(set(ids))


async def test_what_is_answered_is_what_the_document_says(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        document = await document_of(here)
        id = await here.enqueue("fail", {"why": "tired"}, tags=["vip"], correlation_id="c", timeout=5)
        await here.ended(id)
        await here.ask("POST", "/v1/queues/default/pause", {"reason": "x", "until": "2099-01-01T00:00:00Z"})
        begun = (
            await here.ask("POST", "/v1/operations", {"action": "discard", "ids": [id], "note": "n"})
        ).json()
        batch = [
            {"task": "cube", "args": [1]},
            {"task": "cube", "args": ["x"]},
            {"task": "cube", "idempotency_key": "k"},
        ]
        workers = (await here.ask("GET", "/v1/workers")).json()["items"]
        asked: list[tuple[str, str, str, Any]] = [
            ("GET", "/v1/jobs/{id}", f"/v1/jobs/{id}?include=args,result,attempts", None),
            ("POST", "/v1/jobs", "/v1/jobs", {"task": "cube", "args": [1]}),
            ("POST", "/v1/jobs/batch", "/v1/jobs/batch", batch),
            ("POST", "/v1/jobs/{id}/copy", f"/v1/jobs/{id}/copy", None),
            ("GET", "/v1/jobs/{id}/explain", f"/v1/jobs/{id}/explain", None),
            ("GET", "/v1/queues", "/v1/queues", None),
            ("GET", "/v1/queues/{name}", "/v1/queues/default", None),
            ("GET", "/v1/tasks", "/v1/tasks", None),
            ("GET", "/v1/workers", "/v1/workers", None),
            ("GET", "/v1/workers/{id}", f"/v1/workers/{workers[0]['id']}", None),
            ("GET", "/v1/operations", "/v1/operations", None),
            ("GET", "/v1/operations/{id}", f"/v1/operations/{begun['id']}", None),
            ("GET", "/v1/keys", "/v1/keys", None),
            ("POST", "/v1/keys", "/v1/keys", {"name": "k", "scopes": ["jobs:read"], "rate": 5}),
        ]
        for method, path, url, body in asked:
            answer = await here.ask(method, url, body)
            assert answer.status_code < 300, answer.text
            responses = document["paths"][path][method.lower()]["responses"]
            schema = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
            assert schema, path
            jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]}).validate(
                answer.json()
            )
            assert undocumented(document, schema, answer.json()) == [], path


async def test_every_route_has_an_example_that_fits_its_schema(short_tmp: Path) -> None:
    def fits(document: Any, content: Any) -> None:
        schema = {**content["schema"], "components": document["components"]}
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(content["example"])
        assert undocumented(document, content["schema"], content["example"]) == []

    assert set(EXAMPLES) == {f"{route.method} {route.path}" for route in ROUTES}
    async with place(short_tmp) as here:
        document = await document_of(here)
        for route in ROUTES:
            entry = document["paths"][route.path][route.method.lower()]
            answers = [
                content
                for status in map(str, route.success)
                for content in entry["responses"][status].get("content", {}).values()
                if "example" in content
            ]
            assert len(answers) == (set(route.success) != {204}), route.path
            for content in (*answers, *entry.get("requestBody", {}).get("content", {}).values()):
                fits(document, content)
            if route.body is not None:
                sent = msgspec.json.encode(EXAMPLES[f"{route.method} {route.path}"].body)
                msgspec.json.decode(sent, type=route.body)


def sums(app: Noria) -> None:
    @app.task
    async def add(a: int, b: int) -> int:
        return a + b


async def test_examples_are_taken_as_they_stand(short_tmp: Path) -> None:
    async with place(short_tmp, sums) as here:
        for row in ("POST /v1/jobs", "POST /v1/jobs/batch", "POST /v1/operations", "POST /v1/keys"):
            method, path = row.split()
            body = EXAMPLES[row].body
            answer = await here.ask(
                method, path, body if path != "/v1/operations" else {**body, "preview": True}
            )
            assert answer.status_code in (200, 201, 202), (row, answer.text)


async def test_each_task_has_an_operation_with_its_own_types(short_tmp: Path) -> None:
    async with place(short_tmp, rich) as here:
        document = await document_of(here)
        order = document["paths"]["/v1/call/order"]
        body = order["post"]["requestBody"]["content"]["application/json"]["schema"]
        check = jsonschema_rs.Draft202012Validator(body)

        assert set(order) == {"get", "post"} and set(document["paths"]["/v1/call/pay"]) == {"post"}
        assert order["post"]["summary"] == "Order things."
        assert check.is_valid({"items": [{"name": "x"}]})
        assert not check.is_valid({"items": [{"count": 1}]}) and not check.is_valid({"items": [], "more": 1})
        [items] = [each for each in order["get"]["parameters"] if each["name"] == "items"]
        assert (items["in"], items["required"]) == ("query", True)


async def test_every_reference_in_the_document_leads_somewhere(short_tmp: Path) -> None:
    async with place(short_tmp, rich) as here:
        document = await document_of(here)

        def walk(value: Any, base: Any) -> None:
            if isinstance(value, dict):
                base = value if "$id" in value else base
                if isinstance(reference := value.get("$ref"), str):
                    found = base
                    for step in reference.removeprefix("#/").split("/"):
                        found = found[step]
                for each in value.values():
                    walk(each, base)
            elif isinstance(value, list):
                for each in value:
                    walk(each, base)

        walk(document, document)


@pytest.mark.parametrize("name", ["docs", "docs/docs.css", "docs/docs.js"])
async def test_the_page_needs_nothing_from_anywhere_else(short_tmp: Path, name: str) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("GET", f"/{name}")

        assert answer.status_code == 200
        for word in ("http://", "https://", "//", "@import", "innerHTML", "eval(", "<script>", "style="):
            assert word not in answer.text.replace("// Shows", "").replace('"use strict"', ""), word


BROWSER = """
const fs = require("fs");
class Node {
  constructor(tag) { this.tag = tag; this.nodes = []; this.own = ""; this.hidden = false; this.heard = {}; }
  get textContent() { return this.own + this.nodes.map((each) => each.textContent ?? String(each)).join(" "); }
  set textContent(text) { this.own = String(text); this.nodes = []; }
  set innerHTML(text) { throw new Error("markup"); }
  append(...nodes) { this.nodes.push(...nodes); }
  appendChild(node) { this.nodes.push(node); return node; }
  replaceChildren(...nodes) { this.nodes = nodes; }
  addEventListener(name, heard) { this.heard[name] = heard; }
  scrollIntoView() { this.seen = true; }
}
const there = {};
const html = fs.readFileSync(process.argv[2], "utf8");
for (const [, id] of html.matchAll(/id="([^"]+)"/g)) there[id] = new Node(id);
const asked = [];
globalThis.document = { createElement: (tag) => new Node(tag), getElementById: (id) => there[id] ?? null };
globalThis.location = { hash: "" };
globalThis.fetch = async (path, { headers }) => {
  asked.push([path, headers.authorization ?? ""]);
  const good = headers.authorization === "Bearer good";
  return { status: good ? 200 : 401, json: async () => good ? JSON.parse(fs.readFileSync(process.argv[4])) :
    { detail: "a key is needed" } };
};
(async () => {
  (0, eval)(fs.readFileSync(process.argv[3], "utf8"));
  await new Promise(setImmediate);
  const closed = [there.ask.hidden, there.about.textContent];
  await there.key.heard.change({ target: { value: " good " } });
  const text = (id) => there[id].textContent;
  console.log(JSON.stringify({ asked, closed, operations: text("operations"), problems: text("problems") }));
})();
"""


async def test_the_script_of_the_page_shows_every_operation_and_asks_for_a_key(
    short_tmp: Path, tmp_path: Path
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here to run the page's script")
    async with place(short_tmp) as here:
        for name, path in (
            ("page.html", "/docs"),
            ("page.js", "/docs/docs.js"),
            ("api.json", "/openapi.json"),
        ):
            (tmp_path / name).write_bytes((await here.ask("GET", path)).content)
    (tmp_path / "browser.cjs").write_text(BROWSER)
    words = [node, "browser.cjs", "page.html", "page.js", "api.json"]
    done = await asyncio.to_thread(
        subprocess.run, words, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)

    assert shown["asked"] == [["openapi.json", ""], ["openapi.json", "Bearer good"]]
    assert shown["closed"] == [False, "a key is needed"]
    for route in ROUTES:
        assert f"{route.method} {route.path}" in shown["operations"], route.path
        assert route.about in shown["operations"]
    assert "/v1/call/cube" in shown["operations"]
    assert all(f"{status} {code}" in shown["problems"] for code, (status, _) in CODES.items())


async def test_a_server_s_lifespan_opens_and_closes_a_front(short_tmp: Path) -> None:
    app = Noria(backend=store(short_tmp), runtime=short_tmp)
    shop(app)
    front = asgi(app, open=True)
    config = uvicorn.Config(front, lifespan="on", log_config=None, port=0, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.ensure_future(server.serve([listener]))
        port = listener.getsockname()[1]
        async with asyncio.timeout(10):
            while not server.started:
                await asyncio.sleep(0.005)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            made = await client.post("/v1/jobs", json={"task": "cube", "args": [3]})
            assert made.status_code == 202
        server.should_exit = True
        await asyncio.wait_for(serving, 10)
    with pytest.raises(Problem):
        _ = front.desk


async def test_a_front_that_cannot_open_fails_the_start_of_its_server(short_tmp: Path) -> None:
    front = asgi(Noria(f"sqlite:///{short_tmp}/no/such/folder/x.db", runtime=short_tmp), open=True)
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        said.append(message)

    await front({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in said] == ["lifespan.startup.failed"]
    assert said[0]["message"]

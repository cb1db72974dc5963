"""`/openapi.json`: the table of routes as OpenAPI 3.1, and one operation more for each task that can be called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import metadata
from typing import Any, Final

import msgspec
from starlette.responses import Response

from noria.app.catalog import TaskSheet
from noria.front import replies
from noria.front.examples import EXAMPLES
from noria.front.problem import CODES, MEDIA
from noria.front.route import Ask, Param, Route
from noria.front.tasks import Known

_CALL: Final = "/v1/call/{task}"
_FORM: Final = "application/x-www-form-urlencoded"
_FORM_EXAMPLE: Final = {"schema": {"type": "object"}, "example": {"value": "120964"}}
_PAGE: Final = "text/html"
_REFERENCES: Final = "#/components/schemas/{name}"
_ALWAYS: Final = ("no_key", "bad_key", "scope_missing", "rate_limited", "backend_down")
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "code": {"type": "string", "enum": sorted(CODES)},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


async def show(ask: Ask) -> Response:
    """`GET /openapi.json`: with the tasks that this key may call."""
    known = [each for each in await ask.desk.tasks.all() if ask.who.sees_task(each.sheet.name)]
    return replies.json(document(ask.desk.routes, known, ask.root))


def document(routes: Iterable[Route], tasks: Iterable[Known], root: str = "") -> dict[str, Any]:
    """The whole document."""
    routes = list(routes)
    kinds = [kind for route in routes for kind in (route.body, route.gives)]
    schemas, parts = msgspec.json.schema_components(kinds, ref_template=_REFERENCES)
    paths: dict[str, Any] = {}
    for route, body, gives in zip(routes, schemas[::2], schemas[1::2], strict=True):
        given = {} if route.gives is None else gives
        operation = _operation(route, None if route.body is None else body, given)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    for known in tasks if _CALL in paths else ():
        paths[f"/v1/call/{known.sheet.name}"] = _calls(known, paths)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Noria",
            "version": metadata.version("noria"),
            "description": "Jobs over HTTP: enqueue, wait, query, call.",
        },
        "servers": [{"url": root or "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM, **parts},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "x-noria-problems": CODES,
    }


def _operation(route: Route, body: Any, gives: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": _operation_id(route.method, route.path),
        "summary": route.about,
        "tags": [_group(route.path)],
        "parameters": [*_in_path(route.path), *map(_parameter, route.params)],
        "responses": _responses(route, gives),
        "security": [{"key": []}] if route.scope else [],
        "x-noria-scope": route.scope,
    }
    if body is not None:
        sent = {"schema": body, "example": EXAMPLES[f"{route.method} {route.path}"].body}
        found["requestBody"] = {"content": {"application/json": sent}}
        if route.link:
            found["requestBody"]["content"][_FORM] = _FORM_EXAMPLE
    return found


def _operation_id(method: str, path: str) -> str:
    words = re.sub(r"[{}]", "", path).replace("/v1", "").replace(".", "_").strip("/").split("/")
    return "_".join([method.lower(), *filter(None, words)])


def _group(path: str) -> str:
    steps = path.strip("/").split("/")
    return steps[1] if steps[0] == "v1" and len(steps) > 1 else "front"


def _in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _parameter(param: Param) -> dict[str, Any]:
    return {"name": param.name, "in": param.where, "description": param.about, "schema": param.schema}


def _responses(route: Route, gives: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(status): _success(route, status, text, gives) for status, text in route.success.items()
    }
    usual = found[str(next(iter(route.success)))]
    for content in list(usual.get("content", {}).values())[:1]:
        content["example"] = EXAMPLES[f"{route.method} {route.path}"].answer
    always = _ALWAYS if route.scope else ()
    general = (
        "not_found",
        "bad_json",
        "bad_request",
        "bad_filter",
        "too_large",
        "unsupported_media",
        "unknown_parameter",
        "not_acceptable",
        "invalid_value",
    )
    for code in (*route.problems, *always, *general, "internal"):
        status, title = CODES[code]
        entry = found.setdefault(str(status), _problem(title))
        if title not in entry["description"] and "application/problem+json" in entry.get("content", {}):
            entry["description"] += f"; {title.lower()}"
    return found


def _success(route: Route, status: int, text: str, gives: Any) -> dict[str, Any]:
    if status == 204:
        return {"description": text}
    media = "application/json" if route.media[0] == "*/*" else route.media[0]
    content = {media: {"schema": gives}}
    if media != _PAGE and _PAGE in route.media:
        content[_PAGE] = {"schema": {"type": "string"}}
    return {"description": text, "content": content}


def _problem(title: str) -> dict[str, Any]:
    return {"description": title, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _calls(known: Known, paths: dict[str, Any]) -> dict[str, Any]:
    """The operations by which one task is called, with its own types."""
    sheet = known.sheet
    args = _inlined(sheet.args_schema, f"{sheet.name}:args")
    general: dict[str, Any] = paths[_CALL]
    methods = {}
    for method in ("get", "post") if sheet.safe else ("post",):
        entry = {
            **general[method],
            "operationId": f"call_{sheet.name}" if method == "post" else f"get_call_{sheet.name}",
            "summary": sheet.description.partition("\n")[0] or f"Call {sheet.name}",
            "description": sheet.description,
            "tags": ["tasks that can be called"],
            "parameters": [each for each in general[method]["parameters"] if each["in"] != "path"],
            "responses": {**general[method]["responses"], "200": _result(sheet)},
        }
        if method == "post":
            entry["requestBody"] = {"required": True, "content": {"application/json": {"schema": args}}}
        else:
            entry["parameters"] = [*_query(args), *entry["parameters"]]
        methods[method] = entry
    return methods


def _query(args: dict[str, Any]) -> list[dict[str, Any]]:
    needed = args.get("required", [])
    base = {"$defs": args["$defs"]} if "$defs" in args else {}
    return [
        {
            "name": name,
            "in": "query",
            "required": name in needed,
            "schema": {**({"$id": f"{args['$id']}:{name}"} if base else {}), **part, **base},
        }
        for name, part in args.get("properties", {}).items()
    ]


def _result(sheet: TaskSheet) -> dict[str, Any]:
    schema = _inlined(sheet.result_schema, f"{sheet.name}:result")
    return {"description": "what the task returned", "content": {"application/json": {"schema": schema}}}


def _inlined(schema: msgspec.Raw, name: str) -> dict[str, Any]:
    """A schema with a base of its own, so that `#/$defs/...` in it means what it meant."""
    found: dict[str, Any] = msgspec.json.decode(schema)
    return {"$id": f"urn:noria:{name}", **found} if "$defs" in found else found

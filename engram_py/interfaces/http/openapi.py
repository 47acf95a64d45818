"""The OpenAPI document of all routes: what they take, what they answer, how they refuse."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema

from engram_py import __version__
from engram_py.app import Engram
from engram_py.interfaces.http import (  # noqa: F401 - each module of routes registers them
    routes_entities,
    routes_observations,
    routes_projects,
    routes_search,
    routes_sessions,
)
from engram_py.interfaces.http.parameters import PROJECT
from engram_py.interfaces.http.routing import ROUTES, Route, route
from engram_py.memory.observations.values import SCOPES
from engram_py.memory.relations.values import VERBS

_REFERENCE = "#/components/schemas/{model}"

ERROR = {
    "type": "object",
    "required": ["error", "code", "hint"],
    "properties": {
        "error": {"type": "string", "description": "What happened, for a reader."},
        "code": {"type": "string", "description": "The same for a program; stable."},
        "hint": {"type": "string", "description": "The next step."},
        "available_projects": {"type": "array", "items": {"type": "string"}},
    },
}

STATUSES = {
    400: "Something in the request is not as it must be.",
    401: "The request shows no secret, or asks for what needs one.",
    403: "A web page from elsewhere asked.",
    404: "There is no such thing.",
    409: "It contradicts what is there, or nothing decides between several projects.",
    410: "It was there, and is deleted.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host is not this server's.",
    500: "The database cannot be used, or a bug.",
    503: "The database stayed locked.",
    507: "The disk is full.",
}
_ALWAYS = (400, 401, 403, 421, 500, 503)


@route("GET", "/openapi.json")
def openapi(app: Engram) -> object:
    """This description."""
    return document()


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of all routes: what they take, what they answer, how they refuse."""
    bodies = [each.models["body"] for each in ROUTES if "body" in each.models]
    _, definitions = models_json_schema([(model, "validation") for model in bodies], ref_template=_REFERENCE)
    schemas: dict[str, Any] = {"Error": ERROR}
    for name, schema in definitions["$defs"].items():
        schemas[name] = schema
        _narrow(schema.get("properties", {}))
    paths: dict[str, Any] = {}
    for each in ROUTES:
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "engram",
            "version": __version__,
            "description": "Memory for coding agents. Routes, bodies and statuses are those of Engram's server.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "`engram serve --token`"}},
        },
    }


# What a value of these names must be everywhere, for the description: the rooms check it, and word the refusal.
_NARROWED: dict[str, dict[str, Any]] = {
    "cwd": {"pattern": "^$|^" + (r"[A-Za-z]:[\\/]" if sys.platform == "win32" else "/") + r"[^\u0000]*$"},
    "expected_project": {"pattern": PROJECT},
    "scope": {"enum": ["", *SCOPES]},
    "relation": {"enum": list(VERBS)},
    "predicate": {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
    "confirmed": {"const": True},
    "semantic": {"const": False},
    "turns": {"minItems": 1},
    **{name: {"minimum": 1} for name in ("memory_id_a", "memory_id_b", "observation_id")},
    **{name: {"items": {"type": "integer", "minimum": 1}} for name in ("observation_ids", "prompt_ids")},
}


def _narrow(properties: dict[str, Any]) -> None:
    """Write what a value must be into the schema of each property, beside null where that is one of its kinds."""
    for name, schema in properties.items():
        more = {} if "enum" in schema else _NARROWED.get(name, {})
        for kind in schema.get("anyOf", [schema]):
            if kind.get("type") not in (None, "null"):
                kind.update(more)


def _described(one: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [*_parameters(one, "path"), *_parameters(one, "query")],
        "responses": _responses(one, schemas),
        "security": [{"token": []}],
    }
    body = one.models.get("body")
    if one.takes("raw"):
        described["requestBody"] = {"required": True, "content": _json({"type": "object"})}
    elif body is not None:
        described["requestBody"] = {
            "required": any(field.is_required() for field in body.model_fields.values()),
            "content": _json({"$ref": _REFERENCE.format(model=body.__name__)}),
        }
    return described


def _parameters(one: Route, part: str) -> Iterator[dict[str, Any]]:
    model = one.models.get(part)
    if model is None:
        return
    schema = model.model_json_schema()
    _narrow(schema.get("properties", {}))
    for name, field in schema.get("properties", {}).items():
        described = {key: value for key, value in field.items() if key not in ("title", "description", "default")}
        told: dict[str, Any] = {"name": name, "in": part, "schema": _plain(described)}
        told["required"] = part == "path" or name in schema.get("required", ())
        if "description" in field:
            told["description"] = field["description"]
        yield told


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which is there or not and never null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    beside = {name: value for name, value in schema.items() if name != "anyOf"}
    return beside | kinds[0] if len(kinds) == 1 else schema


def _responses(one: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = one.answer.json_schema(mode="serialization", ref_template=_REFERENCE)
    schemas |= answer.pop("$defs", {})
    told: dict[str, Any] = {str(one.status): {"description": "Done.", "content": _json(answer)}}
    statuses = {*_ALWAYS, *one.errors, *((413, 415, 507) if one.takes_body else ())}
    statuses |= {507} if one.method != "GET" else set()
    for status in sorted(statuses):
        told[str(status)] = {
            "description": STATUSES[status],
            "content": _json({"$ref": _REFERENCE.format(model="Error")}),
        }
    return told


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}

"""/health, /metrics and the audit log: what whoever runs the server sees, and who else does not."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from engram_py.cloud import database
from engram_py.cloud.database import connected
from tests.cloud.asking import ROOT_TOKEN, Client, Running, entry, new_project

pytestmark = pytest.mark.postgres


def test_metrics_are_for_this_machine_and_for_admins(server: Running) -> None:
    nobody, member, root = server.client(""), server.account(), server.client(ROOT_TOKEN)

    text = nobody.ask("GET", "/metrics").text
    assert "engram_cloud_requests_total" in text
    assert not re.search(r"user\d|project\d", text), "no project and no account is named"
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "Origin"):
        passed_on = {header: "http://203.0.113.9"}
        assert nobody.ask("GET", "/metrics", headers=passed_on).status_code == 401, header
        assert member.ask("GET", "/metrics", headers=passed_on).status_code == 403, header
        assert root.ask("GET", "/metrics", headers=passed_on).status_code == 200, header


def test_metrics_count_what_was_done(account: Client, project: str) -> None:
    def numbers() -> dict[str, float]:
        lines = account.ask("GET", "/metrics").text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if line.startswith("engram_cloud_"))
        return {name: float(value) for name, _, value in pairs}

    account.push([entry(project, "warm")])
    account.push([entry(project, "warm"), 1])
    before = numbers()
    account.push([entry(project, "obs-1"), entry(project, "obs-2"), entry(project, "warm"), 1])
    account.pull()
    after = numbers()

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown('engram_cloud_pushed_rows_total{outcome="accepted"}') == 2
    assert grown('engram_cloud_pushed_rows_total{outcome="unchanged"}') == 1
    assert grown('engram_cloud_pushed_rows_total{outcome="rejected"}') == 1
    assert grown("engram_cloud_pulled_rows_total") == 3
    assert grown('engram_cloud_requests_total{route="/sync/mutations/push",status="200"}') == 1
    assert after["engram_cloud_requests_in_progress"] == 0


def test_the_log_says_who_did_what_where_and_how_often_and_never_what(server: Running, project: str) -> None:
    other, secret = new_project(), "the launch code is 0000"
    account = server.account(write=[project])
    name = account.ask("GET", "/whoami").json()["principal"]
    account.push([entry(project, "obs-1", content=secret), entry(project, "obs-2"), entry(other, "obs-3")])
    account.pull()
    account.pull(2**52)
    account.stream()

    lines = server.administer("audit/list", user=name)

    said = [(one["action"], one["project"], one["outcome"], one["reason_code"], one["entries"]) for one in lines]
    assert said == [
        ("pull", project, "done", "", 2),
        ("pull", project, "done", "", 2),
        ("push", other, "denied", "policy_forbidden", 1),
        ("push", project, "done", "", 2),
    ]
    kept = json.dumps(server.sql("select * from cloud_audit_log"), default=str)
    assert secret not in kept
    assert "obs-1" not in kept


def test_old_lines_are_forgotten(server: Running, project: str) -> None:
    server.sql("insert into cloud_audit_log (actor, action, project, outcome, occurred_at)"
               " values ('x', 'push', %s, 'done', now() - interval '400 days'), ('x', 'push', %s, 'done', now())",
               project, project)  # fmt: skip

    async def prune() -> None:
        async with connected(server.url) as connection:
            await database.prune_audit(connection, days=365)

    asyncio.run(prune())
    assert len(server.administer("audit/list", project=project)) == 1


def test_an_unknown_address_and_a_wrong_method_are_said_in_the_same_shape(server: Running) -> None:
    nobody = server.client("")

    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/sync/", 404),
        ("GET", "/dashboard", 404),
        ("PUT", "/health", 405),
        ("GET", "/sync/mutations/push", 405),
        ("GET", "/sync/pull/%00%ff", 401),
    ):
        answer = nobody.ask(method, path)
        assert answer.status_code == status, path
        assert set(answer.json()["error"]) >= {"code", "message", "hint"}
        assert "application/json" in answer.headers["content-type"]

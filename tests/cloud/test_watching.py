"""/health, /metrics and the audit log, and the commands of an admin."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engram_py.cloud import database
from engram_py.cloud.database import connected
from engram_py.interfaces.cli.main import cli
from tests.cloud.asking import ROOT_TOKEN, Client, Running, entry, new_project

pytestmark = pytest.mark.postgres


class Command:
    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def __call__(self, *arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, ["cloud", *arguments], env=self._environment)
        assert done.exit_code == code, done.output
        return done


@pytest.fixture(params=["database", "server"])
def command(request: pytest.FixtureRequest, server: Running, tmp_path: Path) -> Command:
    """On the machine of the database, and on an admin's own."""
    here = {"ENGRAM_DATA_DIR": str(tmp_path), "ENGRAM_DATABASE_URL": "", "ENGRAM_CLOUD_TOKEN_PEPPER": server.pepper}
    if request.param == "database":
        return Command(here | {"ENGRAM_DATABASE_URL": server.url, "ENGRAM_CLOUD_TOKEN": ""})
    return Command(here | {"ENGRAM_CLOUD_SERVER": server.address, "ENGRAM_CLOUD_TOKEN": ROOT_TOKEN})


def test_an_account_is_made_granted_paused_audited_and_ended(command: Command, server: Running, project: str) -> None:
    name = f"erin-{project}-{id(command)}"
    made = command("users", "add", name, "--write", project, "--expires", "30")
    token = made.stdout.strip()
    client = server.client(token)

    assert len(token.splitlines()) == 1
    assert client.push([entry(project, "obs-1")])["accepted"] == [0]
    assert name in command("users").stdout
    number = json.loads(command("tokens", "list", name, "--json").stdout)[0]["id"]
    assert json.loads(command("--json", "tokens", "list", name).stdout)[0]["id"] == number
    assert name in [one["name"] for one in json.loads(command("users", "--json").stdout)]
    assert token[:13] in command("tokens", "list", name).stdout
    command("grants", "add", name, project)
    assert f"{name} may read {project}" in command("grants", "add", name, project).stdout
    assert client.ask("POST", "/sync/mutations/push", json={"entries": [entry(project, "x")]}).status_code == 403
    assert project in command("grants", "list", name).stdout
    command("grants", "remove", name, project)
    command("pause", project, "--reason", "for the test")
    assert "for the test" in command("pause").stdout
    assert "is resumed" in command("resume", project).stdout
    assert "push" in command("audit", "--user", name).stdout
    command("tokens", "revoke", str(number), "--reason", "over")
    assert client.ask("GET", "/whoami").status_code == 401
    again = command("tokens", "add", name, "--label", "laptop").stdout.strip()
    assert server.client(again).ask("GET", "/whoami").status_code == 200
    command("users", "disable", name)
    assert server.client(again).ask("GET", "/whoami").status_code == 401
    command("users", "enable", name)


def test_what_is_wrong_is_said_with_the_next_step(command: Command, project: str) -> None:
    twice = f"frank-{project}-{id(command)}"
    command("users", "add", twice)
    for arguments in (("users", "add", twice), ("tokens", "add", "nobody-there"), ("tokens", "revoke", "999999")):
        refused = command(*arguments, code=1)
        assert refused.stdout == ""
        assert "engram cloud " in refused.stderr


def test_after_a_backup_was_put_back_the_server_has_another_name(command: Command, server: Running) -> None:
    account = server.account()
    before = account.ask("GET", "/sync/projects").json()["instance"]
    assert account.ask("GET", "/whoami").json()["instance"] == account.pull()["instance"] == before

    command("restored")

    after = account.ask("GET", "/sync/projects").json()["instance"]
    assert after not in ("", before)
    assert account.stream()[-1]["instance"] == account.push([])["instance"] == after


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

"""``engram cloud`` as whoever runs the server types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engram_py.interfaces.cli.main import cli
from tests.cloud.asking import ROOT_TOKEN, Running, entry

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
    assert "goes on" in command("resume", project).stdout
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

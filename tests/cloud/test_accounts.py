"""Tokens and accounts: what is kept of them, when they end, and what an admin may do."""

from __future__ import annotations

import hashlib
import json

import pytest
from click.testing import CliRunner

from engram_py.cloud.errors import InvalidCloudSettingError, UnknownTokenError
from engram_py.cloud.settings import CloudSettings
from engram_py.interfaces.cli.main import cli
from tests.cloud.asking import ROOT_TOKEN, Client, Running, entry, serving
from tests.cloud.cluster import Cluster

pytestmark = pytest.mark.postgres


def refused(client: Client) -> str:
    answer = client.ask("GET", "/whoami")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "auth_required"
    return str(answer.json()["error"]["message"])


def test_of_a_token_only_a_hash_and_its_first_letters_are_kept(server: Running) -> None:
    account = server.account()
    kept = json.dumps([server.sql(f"select * from {table}") for table in _tables(server)], default=str)

    assert len(account.token) == len("engram_") + 43
    assert account.token[14:] not in kept
    assert hashlib.sha256(account.token.encode()).hexdigest() not in kept, "the pepper is not in the hash"
    assert ROOT_TOKEN not in kept
    assert account.token[:13] in kept


def _tables(server: Running) -> list[str]:
    found = server.sql("select tablename from pg_tables where tablename like 'cloud_%%'")
    return [row["tablename"] for row in found]


def test_a_token_ends_when_it_is_revoked_on_its_day_and_with_its_account(server: Running) -> None:
    account = server.account()
    name = account.ask("GET", "/whoami").json()["principal"]
    made = server.administer("tokens/add", user=name, label="laptop", expires_in_days=30)
    short = server.client(made["token"])
    first = server.administer("tokens/list", user=name)[0]
    assert short.ask("GET", "/whoami").json()["token_expires_at"][:10] == made["expires_at"][:10]

    server.administer("users/disable", user=name)
    assert refused(account) == "this account is disabled"
    server.administer("users/enable", user=name)
    server.administer("tokens/revoke", id=first["id"], reason="lost")
    assert refused(account) == "this token was revoked"
    assert short.ask("GET", "/whoami").json()["principal"] == name
    assert server.administer("tokens/list", user=name)[1]["last_used_at"] is not None
    with pytest.raises(UnknownTokenError):
        server.administer("tokens/revoke", id=first["id"])
    assert refused(account)
    server.sql("update cloud_tokens set expires_at = now() - interval '1 second' where id = %s", made["token_id"])
    assert refused(short) == "this token has expired"
    lines = server.administer("audit/list", user=name)
    assert [(one["action"], one["outcome"], one["reason_code"]) for one in lines] == [
        ("auth", "denied", code) for code in ("expired", "revoked", "disabled")
    ]


def test_a_member_cannot_look_after_the_server_and_an_admin_sees_no_rows(server: Running, project: str) -> None:
    member, root = server.account(write=[project]), server.client(ROOT_TOKEN)
    member.push([entry(project, "obs-1")])

    for operation in ("users/list", "users/add", "tokens/add", "grants/add", "audit/list", "pause/add", "no/such"):
        answer = member.ask("POST", f"/admin/{operation}", json={"user": "mallory", "project": project})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "policy_forbidden"), operation
    assert root.ask("GET", "/whoami").json()["role"] == "admin"
    assert root.pull_all() == []
    assert root.ask("GET", "/sync/mutations/pull", params={"project": project}).status_code == 403


def test_an_admin_does_over_http_what_the_command_does(server: Running, project: str) -> None:
    root, name = server.client(ROOT_TOKEN), f"carol-{project}"
    made = root.admin("users/add", user=name, read=[project])
    carol = server.client(made["token"])

    assert carol.ask("GET", "/whoami").json()["principal"] == name
    assert root.admin("grants/list", user=name)[0] | {"created_at": ""} == {
        "account": name, "project": project, "access": "read", "granted_by": "env:admin", "created_at": "",
    }  # fmt: skip
    root.admin("grants/add", user=name, project=project, access="write")
    assert carol.push([entry(project, "obs-1")])["accepted"] == [0]
    [line] = [one for one in root.admin("audit/list", project=project) if one["action"] == "push"]
    assert (line["actor"], line["outcome"], line["entries"]) == (name, "done", 1)
    assert "some content" not in json.dumps(root.admin("audit/list", limit=1000))


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("users/add", {}),
        ("users/add", {"user": "a b"}),
        ("users/add", {"user": "env:admin"}),
        ("users/add", {"user": 7}),
        ("users/add", {"user": "dave", "role": "king"}),
        ("users/add", {"user": "dave", "read": "x"}),
        ("users/add", {"user": "dave", "read": [""]}),
        ("users/add", {"user": "dave", "expires_in_days": 0}),
        ("users/add", {"user": "dave", "expires_in_days": True}),
        ("grants/add", {"user": "dave", "project": "a\0b"}),
        ("grants/add", {"user": "nobody-there", "project": "x"}),
        ("tokens/revoke", {"id": "1"}),
        ("tokens/revoke", {"id": 2**70}),
        ("tokens/list", {"user": "\ud800"}),
        ("audit/list", {"limit": "all"}),
        ("pause/add", {"project": "*"}),
        ("drop/tables", {}),
    ],
)
def test_what_an_admin_gets_wrong_is_refused_and_changes_nothing(
    server: Running, operation: str, given: dict[str, object]
) -> None:
    before = server.sql("select count(*) as n from cloud_principals")
    answer = server.client(ROOT_TOKEN).ask("POST", f"/admin/{operation}", content=json.dumps(given).encode())

    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error"]["hint"]
    assert server.sql("select count(*) as n from cloud_principals") == before


def test_the_environments_accounts_are_what_it_says_now(postgres: Cluster) -> None:
    url, first, second = postgres.create(), "engram_member-token-number-one", "engram_member-token-number-two"
    with serving(CloudSettings(url, member_token=first, member_projects=("a", "b"))) as running:
        assert running.client(first).push([entry("a", "obs-1"), entry("c", "obs-1")])["accepted"] == [0]
    with serving(CloudSettings(url, member_token=second, member_projects=("b",))) as running:
        assert refused(running.client(first))
        assert running.client(second).pull_all() == []
        assert running.client(second).push([entry("b", "obs-2")])["accepted"] == [0]
    with serving(CloudSettings(url)) as running:
        assert refused(running.client(second))


def test_a_server_or_a_command_without_the_pepper_is_refused(server: Running, account: Client, project: str) -> None:
    with pytest.raises(InvalidCloudSettingError), serving(CloudSettings(server.url, pepper="another")):
        pass
    environment = {"ENGRAM_DATABASE_URL": server.url, "ENGRAM_CLOUD_TOKEN_PEPPER": ""}
    refused = CliRunner().invoke(cli, ["cloud", "users", "add", f"grace-{project}"], env=environment)

    assert refused.exit_code == 1
    assert "ENGRAM_CLOUD_TOKEN_PEPPER" in refused.stderr
    assert refused.stdout == ""
    assert account.ask("GET", "/whoami").status_code == 200

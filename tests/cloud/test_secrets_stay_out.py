"""What was redacted, and what is personal, is nowhere in PostgreSQL's files."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from engram_py import Draft, Engram
from engram_py.config import Settings
from engram_py.observations.values import Change
from engram_py.privacy.values import PrivacySettings
from engram_py.sync.autosync import login
from tests.cloud.asking import Running
from tests.cloud.cluster import Cluster

pytestmark = pytest.mark.postgres

SECRET = "AKIAQ3EGRBYTEXAMPLE7"
PERSONAL = "salamander-under-the-doormat"
SHARED = "kingfisher-for-everybody"


def test_nothing_secret_is_in_the_database_files(
    postgres: Cluster, server: Running, project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_keep_in_keychain", lambda server, token: False)
    account = server.account(write=[project])
    with Engram(
        settings=Settings(tmp_path / "data", privacy=PrivacySettings(sync_prompts=True)),
        directory=tmp_path,
        project=project,
    ) as app:
        app.autosync.account.login(server.address, account.token)
        app.autosync.account.enroll([project])
        saved = app.save(Draft("Deploy", f"the key is {SECRET}, and {SHARED} <private>{PERSONAL}</private>"))
        app.save(Draft("Home", PERSONAL, scope="personal"))
        app.observations.update(saved.id, Change(content=f"{SHARED} again, with {SECRET}"))
        app.prompts.save(f"why does {SECRET} not work?")
        assert app.autosync.sync_now().outcome == "done"

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("checkpoint")
    files = b"".join(path.read_bytes() for path in (postgres.directory / "data").rglob("*") if path.is_file())

    assert SHARED.encode() in files  # the search would find it
    assert SECRET.encode() not in files
    assert PERSONAL.encode() not in files
    assert account.token[14:].encode() not in files

"""By which names a memory is known."""

from __future__ import annotations

import pytest

from engram_py.context.gate.names import keyed_names, names_of

FAMILIES = frozenset({"decision", "entity"})


@pytest.mark.parametrize(
    ("title", "topic_key", "aliases", "names"),
    [
        pytest.param("Owner is Dan", "entity/billing-service", "", {"billing service", "dan"}, id="entity"),
        pytest.param("Sort a list", "decision/sorting", "", {"sorting"}, id="plain-words-are-no-names"),
        pytest.param("Tokens", "auth/jwt", "", {"auth", "jwt"}, id="a-family-that-is-no-type"),
        pytest.param("x", None, "gateway; API edge", {"gateway", "api edge"}, id="aliases"),
        pytest.param("Fixed getUserById in src/db.py", None, "", {"getuserbyid", "src db py"}, id="code"),
        pytest.param("Chose Redis for sessions", None, "", {"redis"}, id="proper-name"),
        pytest.param("Fixed Token Refresh Race", None, "", set(), id="title-case"),
        pytest.param("", "", "", set(), id="nothing"),
        pytest.param("`` '' --", "decision/", "; ;", set(), id="signs-only"),
    ],
)
def test_names_are_keys_aliases_code_and_proper_names(
    title: str, topic_key: str | None, aliases: str, names: set[str]
) -> None:
    assert names_of(title, topic_key, aliases, families=FAMILIES) == names


def test_names_given_on_purpose_are_subject_and_aliases() -> None:
    assert keyed_names("auth/jwt-expiry", "token death") == {"jwt expiry", "token death"}
    assert keyed_names(None, "") == frozenset()

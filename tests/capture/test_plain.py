"""What is plain at a glance is what redaction leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engram_py.capture.assignments import surely_plain
from engram_py.capture.redact import redact
from tests.capture.test_redact import TOKENS

# The parts secrets are made of, and words they stand among.
PIECES = (
    "password", "Pass", "пароль", "密码", "パスワード", "api_key", "key", "secret", "token", "auth", "creds", "senha",
    "is", "=", ":", "：", "=>", "(", ",", "|", "--", "-u", "bearer", "Authorization", "curl",
    "https://u:pw@host", "<private>", "</private>", "hunter2!", "s3cr3t", "Tr0ub4dor&3", "k3Jx9Qf0ZpLm2",
    "eyJhbGciOi", "admin:Pa55word!", "'", '"', "`",
    "how", "long", "do", "tokens", "live", "rate_limit", "\t", "\u0130", "\u212aey", "PRIVATE KEY", "-----BEGIN",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), "".join(parts)])
)


@settings(max_examples=5 * settings().max_examples)
@given(texts)
@example("the password is hunt@er22")
@example("curl -u admin:Pa55w0rd there")
@example("password: hunter2!")
@example("пароль = hunter2!")
def test_what_is_plain_holds_nothing_to_redact(text: str) -> None:
    if surely_plain(text):
        assert redact(text).text == text


@pytest.mark.parametrize("token", [pytest.param(token, id=f"{kind}-{token[:6]}") for kind, token in TOKENS])
def test_no_credential_is_plain(token: str) -> None:
    assert not surely_plain(f"what is {token} for")


@pytest.mark.parametrize(
    "text",
    [
        "how long do access tokens live?",
        "where is the rate_limit set",
        "why did login fail after midnight, in which zone",
        "令牌的有效期是多长时间我们为什么选择了十五分钟",
        "сколько живёт токен доступа",
        "",
    ],
)
def test_a_question_is_plain(text: str) -> None:
    assert surely_plain(text)

"""Tell cheaply that a text holds nothing to redact: loading the redaction costs more than a search."""

from __future__ import annotations

# What each finder of capture/redact.py needs before it looks closer; a test holds this against the redaction.
_TELLING = ("<", "://", "private key", "putty-user", "authorization", "bearer", "curl", "--")
_RUN_LENGTH = 16
_NAMES = (
    "pass", "pwd", "contrase", "senha", "пароль", "密码", "パスワード", "secret", "token", "key", "auth", "cred",
)  # fmt: skip
_SEPARATORS = ("=", ":", "：", "|", ">", "(", ",")


def surely_plain(text: str) -> bool:
    """Return whether redaction would leave ``text`` as it is; False also means that only the redaction can tell."""
    lowered = text.replace("\u0130", "I").lower()  # as the redaction does
    words = lowered.split()
    long = (word for word in words if len(word) >= _RUN_LENGTH)
    if any(sign in lowered for sign in _TELLING) or any(sum(map(str.isascii, word)) >= _RUN_LENGTH for word in long):
        return False
    named = any(name in lowered for name in _NAMES)
    return not (named and ("is" in words or any(sign in lowered for sign in _SEPARATORS)))

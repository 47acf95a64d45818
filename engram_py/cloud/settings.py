"""Settings of the server, read once from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from engram_py.cloud.errors import DatabaseNotSetError, InvalidCloudSettingError
from engram_py.dataclass import dataclass, field

DEFAULT_PORT = 8080
DEFAULT_MAX_PUSH_BYTES = 8 * 1024 * 1024
DEFAULT_AUDIT_DAYS = 365
# Below it a token could be guessed by trying.
SHORTEST_TOKEN = 24
_SMALLEST_PUSH, _LARGEST_PUSH = 64 * 1024, 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The settings. ``admin_token`` and ``member_token`` are accounts from the environment; the second may use
    ``member_projects``."""

    database_url: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    max_push_bytes: int = DEFAULT_MAX_PUSH_BYTES
    pepper: str = field(default="", repr=False)
    admin_token: str = field(default="", repr=False)
    member_token: str = field(default="", repr=False)
    member_projects: tuple[str, ...] = ()
    audit_days: int = DEFAULT_AUDIT_DAYS


def load_cloud_settings(environ: Mapping[str, str] | None = None) -> CloudSettings:
    """Raises DatabaseNotSetError, InvalidCloudSettingError."""
    given = {name: value.strip() for name, value in (os.environ if environ is None else environ).items()}
    url = given.get("ENGRAM_DATABASE_URL", "")
    if not url:
        raise DatabaseNotSetError
    projects = given.get("ENGRAM_CLOUD_ALLOWED_PROJECTS", "")
    return CloudSettings(
        url,
        host=given.get("ENGRAM_CLOUD_HOST", "") or "127.0.0.1",
        port=_number(given, "ENGRAM_CLOUD_PORT", DEFAULT_PORT, 0, 65_535),
        max_push_bytes=_number(
            given, "ENGRAM_CLOUD_MAX_PUSH_BYTES", DEFAULT_MAX_PUSH_BYTES, _SMALLEST_PUSH, _LARGEST_PUSH
        ),
        pepper=given.get("ENGRAM_CLOUD_TOKEN_PEPPER", ""),
        admin_token=_token(given, "ENGRAM_CLOUD_ADMIN"),
        member_token=_token(given, "ENGRAM_CLOUD_TOKEN"),
        member_projects=tuple(dict.fromkeys(one.strip() for one in projects.split(",") if one.strip())),
        audit_days=_number(given, "ENGRAM_CLOUD_AUDIT_DAYS", DEFAULT_AUDIT_DAYS, 1, 36_500),
    )


def _number(given: Mapping[str, str], variable: str, default: int, least: int, most: int) -> int:
    text = given.get(variable, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 12 and least <= int(text) <= most):
        raise InvalidCloudSettingError(variable, expected=f"a whole number from {least:,} to {most:,}")
    return int(text)


def _token(given: Mapping[str, str], variable: str) -> str:
    token = given.get(variable, "")
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise InvalidCloudSettingError(variable, expected=f"at least {SHORTEST_TOKEN} ASCII characters without blanks")
    return token

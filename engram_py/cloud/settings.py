"""Settings of the team's server, read once from its variables. It does not start with a value it cannot use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from engram_py.cloud.errors import DatabaseNotSetError, InvalidCloudSettingError
from engram_py.dataclass import dataclass, field
from engram_py.settings import BY_NAME, DEFAULTS

# Below it a token could be guessed by trying.
SHORTEST_TOKEN = 24


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """The settings. ``admin_token`` and ``member_token`` are accounts from the environment; the second may use
    ``member_projects``."""

    database_url: str = field(repr=False)
    host: str = DEFAULTS["cloud_host"]
    port: int = DEFAULTS["cloud_port"]
    max_push_bytes: int = DEFAULTS["cloud_max_push_bytes"]
    pepper: str = field(default="", repr=False)
    admin_token: str = field(default="", repr=False)
    member_token: str = field(default="", repr=False)
    member_projects: tuple[str, ...] = ()
    audit_days: int = DEFAULTS["cloud_audit_days"]


def load_cloud_settings(environ: Mapping[str, str] | None = None) -> CloudSettings:
    """Raises DatabaseNotSetError, InvalidCloudSettingError."""
    given = os.environ if environ is None else environ
    url = _value(given, "database_url")
    if not url:
        raise DatabaseNotSetError
    projects = _value(given, "cloud_allowed_projects").split(",")
    return CloudSettings(
        url,
        host=_value(given, "cloud_host"),
        port=_value(given, "cloud_port"),
        max_push_bytes=_value(given, "cloud_max_push_bytes"),
        pepper=_value(given, "cloud_token_pepper"),
        admin_token=_token(given, "cloud_admin"),
        member_token=_token(given, "cloud_token"),
        member_projects=tuple(dict.fromkeys(name.strip() for name in projects if name.strip())),
        audit_days=_value(given, "cloud_audit_days"),
    )


def _value(given: Mapping[str, str], name: str) -> Any:
    setting = BY_NAME[name]
    text = given.get(setting.variable, "").strip()
    if not text:
        return setting.default
    value, problem = setting.take(text, setting.variable)
    if problem:
        raise InvalidCloudSettingError(setting.variable, expected=setting.accepted)
    return value


def _token(given: Mapping[str, str], name: str) -> str:
    token: str = _value(given, name)
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        expected = f"at least {SHORTEST_TOKEN} ASCII characters without blanks"
        raise InvalidCloudSettingError(BY_NAME[name].variable, expected=expected)
    return token

"""Remote URLs: one identity for every way to write the same repository, and never a credential."""

from __future__ import annotations

import re
from pathlib import Path

from engram_py.files import real_path
from engram_py.lazy import regex

_MAX_URL = 4096
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = regex(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::")
_DRIVE = regex(r"[A-Za-z]:[\\/]")
_HOST = regex(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_CONTROL = regex(r"[\x00-\x1f\x7f]")
_DEFAULT_PORTS = {"http": "80", "https": "443", "ssh": "22", "git+ssh": "22", "ssh+git": "22", "git": "9418"}
# The same hosts, for networks that let only port 443 through.
_OTHER_DOORS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


def strip_credentials(url: str) -> str:
    """``url`` without user, password, query and fragment: any of them may hold a token."""
    text = _CONTROL.sub("", url).strip()
    while (shorter := _strip_once(text).strip()) != text:
        text = shorter
    return text


def canonical_remote(url: str, *, base: Path) -> str | None:
    """Return the identity of the repository at ``url``: ``host/owner/name`` in lower case, or a resolved local path.

    ``https://user:token@github.com/Acme/Widgets.git``, ``git@github.com:Acme/Widgets`` and
    ``ssh://git@github.com:22/Acme/Widgets/`` are one value. ``base`` is what a relative path starts from.
    """
    if len(url) > _MAX_URL:
        return None
    text = strip_credentials(url)
    if helper := _HELPER.match(text):
        text = text[helper.end() :]
        if helper[1].lower() == "ext":  # a command line, not an address
            return None
        text = strip_credentials(text)
    if scheme := _SCHEME.match(text):
        kind, rest = scheme[1].lower(), text[scheme.end() :]
        if kind == "file":
            return _local(_unquoted(rest[rest.find("/") :] if "/" in rest else rest), base)
        authority, _, path = rest.partition("/")
        return _hosted(kind, authority, _unquoted(path))
    if _is_local(text):
        return _local(text, base)
    host, _, path = _split_scp(text)
    return _hosted("ssh", host, path)


def remote_names(remote: str) -> tuple[str, ...]:
    """Return what a project may be called after its canonical remote: ``name``, ``owner-name``, ``host-owner-name``."""
    parts = [part for part in re.split(r"[/\\]", remote) if part]
    if remote.startswith(("/", "\\\\")) or _DRIVE.match(remote):  # a path on this machine
        return tuple("-".join(parts[-count:]) for count in range(1, min(2, len(parts)) + 1))
    names = [parts[-1]]
    if len(parts) > 2:
        names.append("-".join(parts[1:]))
    if len(parts) > 1:
        names.append("-".join(parts))
    return tuple(names)


def _strip_once(text: str) -> str:
    scheme = _SCHEME.match(text)
    if scheme is None:
        if helper := _HELPER.match(text):
            return text[: helper.end()] + _strip_once(text[helper.end() :])
        if _DRIVE.match(text):
            return text
        head, slash, tail = text.partition("/")
        return head.rpartition("@")[2] + slash + tail
    rest = text[scheme.end() :]
    authority, slash, tail = rest.partition("/")
    if "@" in authority:
        rest = authority.rpartition("@")[2] + slash + tail
    elif "@" in tail and (port := authority.partition(":")[2]) and not port.isdigit():
        # A password with an unescaped slash: what looks like a port is its beginning.
        rest = rest.rpartition("@")[2]
    return scheme[0] + re.split(r"[?#]", rest, maxsplit=1)[0]


def _is_local(text: str) -> bool:
    """Git's own rule: a colon before any slash makes an scp address, except after a drive letter."""
    colon, slash = text.find(":"), text.find("/")
    return colon < 0 or (0 <= slash < colon) or bool(_DRIVE.match(text))


def _split_scp(text: str) -> tuple[str, str, str]:
    if text.startswith("["):
        host, _, rest = text.partition("]")
        return host + "]", ":", rest.removeprefix(":")
    return text.partition(":")


def _hosted(kind: str, authority: str, path: str) -> str | None:
    split = _HOST.fullmatch(authority)
    host, port = (split[1].lower().rstrip("."), split[2] or "") if split else ("", "")
    if host in _OTHER_DOORS:
        host, port = _OTHER_DOORS[host], ""
    path = "/".join(part for part in _CONTROL.sub("", path).split("/") if part not in {"", "."})
    path = path.removesuffix(".git").rstrip("/").lower()
    if not host or not path:
        return None
    if port and port != _DEFAULT_PORTS.get(kind):
        host = f"{host}:{port}"
    return f"{host}/{path}"


def _local(text: str, base: Path) -> str | None:
    if not text:
        return None
    resolved = str(real_path(base / _CONTROL.sub("", text)))
    trimmed = resolved.removesuffix(".git").rstrip("/\\")
    return trimmed or None


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text, errors="replace")

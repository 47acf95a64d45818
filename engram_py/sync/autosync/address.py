"""Where a server is. Pure."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from engram_py.errors import InvalidServerError

_LONGEST = 500
_PORTS = {"http": 80, "https": 443}


def server_address(text: str, *, insecure: bool = False) -> str:
    """The one spelling of a server's address: scheme, host, port and path, without a slash at the end.

    Raises InvalidServerError: it is no such address, holds a password, or is http:// to another machine and
    ``insecure`` was not said.
    """
    given = text.strip()
    try:
        parts = urlsplit(given)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if not _is_ip(parts.hostname) else parts.hostname or ""
    except ValueError as exc:
        raise InvalidServerError(given, "it is no address") from exc
    if parts.scheme not in _PORTS or not host or len(given) > _LONGEST or not given.isprintable() or " " in given:
        raise InvalidServerError(given, "it is not https://HOST or https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise InvalidServerError(f"{parts.scheme}://…@{host}", "it holds a user or a password; a token is given apart")
    if parts.query or parts.fragment:
        raise InvalidServerError(given, "it holds a ? or a #")
    if parts.scheme == "http" and not insecure and not is_loopback(host):
        raise InvalidServerError(given, "the token and the memory would go over the network unencrypted")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def is_loopback(host: str) -> bool:
    """Whether only this machine is meant. A name other than localhost is not looked up."""
    if _is_ip(host):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"


def _is_ip(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return True

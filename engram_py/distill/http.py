"""Have a model behind an OpenAI-compatible endpoint write the digest."""

from __future__ import annotations

import ipaddress
import json
from urllib.parse import urlsplit

from engram_py.distill.answers import MOST_BYTES, digest_in
from engram_py.distill.asking import session_json
from engram_py.distill.values import Digest, DistillerFailed, Facts, Source
from engram_py.vectors.endpoint import WireError, post_json

_PATH = "/chat/completions"


class HttpDistiller:
    """The distiller of the settings ``distill_url`` and ``distill_model``; ``key`` goes out as a bearer token.

    Texts go to another machine over https alone.
    """

    source: Source = "http"

    def __init__(self, url: str, model: str, *, key: str = "", seconds: float) -> None:
        self._url = url.rstrip("/").removesuffix(_PATH) + _PATH
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._seconds = seconds

    def distill(self, facts: Facts) -> Digest | None:
        """Return what the model answers. Raises DistillerFailed."""
        if not _is_private(self._url):
            raise DistillerFailed("distill_url_not_https", counts=False)
        asked = session_json(facts)
        instructions = asked.pop("instructions")
        messages = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
        ]
        body = {"model": self._model, "messages": messages, "temperature": 0}
        try:
            answer = post_json(self._url, body, headers=self._headers, seconds=self._seconds, most_bytes=4 * MOST_BYTES)
        except WireError as exc:
            raise DistillerFailed("no_answer") from exc
        try:
            text = answer["choices"][0]["message"]["content"]  # type: ignore[index]
        except (KeyError, IndexError, TypeError) as exc:
            raise DistillerFailed("no_choice") from exc
        usage = answer.get("usage") if isinstance(answer, dict) else None
        return digest_in(json.dumps({"content": text if isinstance(text, str) else "", "usage": usage}))


def _is_private(url: str) -> bool:
    """Return whether what is sent to an address stays on this machine, or goes out encrypted."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host)))
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

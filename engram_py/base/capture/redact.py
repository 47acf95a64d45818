"""Remove private passages and credentials from a text before anything else reads it."""

from __future__ import annotations

import binascii
import os.path
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from engram_py.base.capture.assignments import find_assignments, find_generated, is_mixed, is_placeholder, looks_random
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.lazy import regex

WORD = r"[A-Za-z0-9_-]"
EDGE = r"(?a)(?:(?<!\w)|(?<=\\[nrt]))"  # `\n` stands before a token inside escaped text

# (kind, prefixes, what follows the prefix). Lengths are a little below the documented ones: a token that somebody
# shortened is still mostly there. A group named `secret` is the part to replace, else it is everything.
# Public halves (Stripe pk_, Mailgun pubkey-, AWS account ids) are on purpose not here.
PREFIXED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("aws_bedrock_key", ("ABSK",), r"[A-Za-z0-9+/]{60,}+={0,2}"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9_]{20,}+(?:\.[A-Za-z0-9_-]{8,}+)*+"),
    ("github_token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+"),
    (
        "gitlab_token",
        ("glpat-", "gldt-", "glft-", "glffct-", "glsoat-", "glrt-", "glrtr-", "glcbt-", "glimt-", "glptt-"),
        rf"{WORD}{{18,}}+(?:\.{WORD}{{7,}}+)*+",
    ),
    ("gitlab_token", ("glagent-", "gloas-", "glwt-", "GR1348941"), rf"{WORD}{{18,}}+"),
    ("slack_token", ("xox",), rf"[a-z](?:\.xox[a-z])?-(?:[A-Za-z0-9%-]){{10,}}+(?<={WORD})"),
    ("slack_token", ("xapp-",), r"[0-9]-[A-Za-z0-9-]{10,}+"),
    ("slack_webhook", ("hooks.slack.com/",), r"(?:services|workflows|triggers)/(?P<secret>[\w/+-]{20,}+)"),
    ("discord_webhook", ("discord.com/api/", "discordapp.com/api/"), r"(?:v\d+/)?webhooks/(?P<secret>\d+/[\w-]{20,}+)"),
    ("teams_webhook", (".webhook.office.com/webhookb2/",), r"(?P<secret>[\w@/-]{40,}+)"),
    ("stripe_key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{10,}+"),
    ("stripe_webhook_secret", ("whsec_",), r"[A-Za-z0-9+/=]{16,}+"),
    ("google_api_key", ("AIza",), r"[\w-]{35}(?![\w-])"),
    ("google_oauth_secret", ("GOCSPX-",), r"[\w-]{20,}+"),
    ("google_oauth_token", ("ya29.",), r"[\w.-]{20,}+"),
    ("google_oauth_token", ("1//0",), r"[\w-]{30,}+"),
    ("npm_token", ("npm_",), r"[A-Za-z0-9]{30,}+"),
    ("pypi_token", ("pypi-AgE",), r"[\w-]{30,}+"),
    ("rubygems_key", ("rubygems_",), r"[a-f0-9]{40,}+"),
    ("sendgrid_key", ("SG.",), r"[\w-]{16,32}\.[\w-]{32,64}(?![\w-])"),
    ("huggingface_token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,}+"),
    ("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{40,}+"),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), r"[A-Fa-f0-9]{24,}+"),
    ("databricks_token", ("dapi",), r"[a-f0-9]{32}(?:-\d)?(?![\w-])"),
    ("vault_token", ("hvs.", "hvb.", "hvr."), r"[\w-]{20,}+"),
    ("grafana_token", ("glsa_",), r"\w{20,}+"),
    ("grafana_token", ("glc_",), r"[A-Za-z0-9+/]{20,}+={0,2}"),
    ("linear_key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{24,}+"),
    ("notion_token", ("ntn_",), r"[A-Za-z0-9]{30,}+"),
    ("notion_token", ("secret_",), r"[A-Za-z0-9]{43}(?!\w)"),
    ("figma_token", ("figd_", "figu_", "figo_"), r"[\w-]{20,}+"),
    ("doppler_token", ("dp.",), r"(?:pt|st|ct|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{30,}+"),
    ("planetscale_token", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w=.-]{24,}+"),
    ("supabase_key", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{20,}+"),
    ("sentry_token", ("sntrys_", "sntryu_"), r"[A-Za-z0-9+/=_-]{24,}+"),
    ("mailgun_key", ("key-",), r"[a-f0-9]{32}(?!\w)"),
    ("age_key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{30,}+"),
    ("square_token", ("sq0atp-", "sq0csp-"), r"[\w-]{20,}+"),
    ("facebook_token", ("EAAC", "EAAM", "EAAA"), r"[A-Za-z0-9_-]{50,}+"),
    ("newrelic_key", ("NRAK-", "NRII-"), r"[A-Za-z0-9-]{20,}+"),
    ("postman_key", ("PMAK-",), r"[a-f0-9]{20,}+-[a-f0-9]{30,}+"),
    ("pulumi_token", ("pul-",), r"[a-f0-9]{40}(?!\w)"),
    ("perplexity_key", ("pplx-",), r"[A-Za-z0-9]{32,}+"),
    ("groq_key", ("gsk_",), r"[A-Za-z0-9]{32,}+"),
    ("xai_key", ("xai-",), r"[A-Za-z0-9]{40,}+"),
    ("replicate_token", ("r8_",), r"[A-Za-z0-9]{32,}+"),
    ("fly_token", ("fo1_",), r"[\w-]{40,}+"),
    ("fly_token", ("fm1a_", "fm1r_", "fm2_"), r"[\w+/-]{40,}+={0,3}"),
    ("heroku_key", ("HRKU-",), r"[\w-]{30,}+"),
    ("atlassian_token", ("ATATT3", "ATCTT3", "ATBB"), r"[\w=-]{24,}+"),
    ("brevo_key", ("xkeysib-", "xsmtpsib-"), r"[a-f0-9]{40,}+-[A-Za-z0-9]{10,}+"),
    ("onepassword_token", ("ops_eyJ",), r"[A-Za-z0-9+/_-]{60,}+={0,3}"),
    ("docker_token", ("dckr_pat_", "dckr_oat_"), r"[\w-]{20,}+"),
    ("tailscale_key", ("tskey-",), r"[A-Za-z0-9-]{16,}+"),
    ("netlify_token", ("nfp_",), r"[A-Za-z0-9]{30,}+"),
    ("sonar_token", ("squ_", "sqp_", "sqa_"), r"[a-f0-9]{40}(?!\w)"),
    ("circleci_token", ("CCIPAT_",), r"\w{30,}+"),
    ("alibaba_access_key", ("LTAI",), r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    ("airtable_token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}(?!\w)"),
)

# The same by what all prefixes of a row begin with: one search rules a family out.
FAMILIES = tuple(
    (os.path.commonprefix(prefixes), kind, prefixes, body)  # noqa: RUF071 (characters are what is wanted)
    for kind, prefixes, body in PREFIXED
)

# `sk-` begins OpenAI's keys, those of many who copied it, and CSS classes; what follows tells them apart.
SK_KINDS = {
    "sk-ant-": "anthropic_key",
    "sk-or-": "openrouter_key",
    "sk-proj-": "openai_key",
    "sk-svcacct-": "openai_key",
}
SK_BODY = r"[A-Za-z0-9_-]{16,}+"

# Every JWT and JWE starts with base64 of `{"`; a JWE has five parts, of which only the first is JSON.
JWT_BODY = rf"{WORD}{{8,}}+\.(?:eyJ{WORD}{{8,}}+(?:\.{WORD}*+)?|{WORD}*+\.{WORD}{{8,}}+\.{WORD}{{16,}}+\.{WORD}{{8,}}+)"

# A literal that must occur before the expression is worth running, and the expression.
FLOATING: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("telegram_token", ":AA", regex(EDGE + r"(?<!:)\d{8,10}:AA[\w-]{30,35}(?![\w-])")),
    ("mailchimp_key", "-us", regex(EDGE + r"[0-9a-f]{32}-us\d{1,2}(?!\w)")),
    ("terraform_token", ".atlasv1.", regex(EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+")),
    ("azure_sas", "sig=", regex(r"(?a)[?&]sig=(?P<secret>[A-Za-z0-9%/+=]{24,}+)")),
    # The first part is base64 of decimal digits, so its first two characters are few. The expression starts with
    # a set so that `re` skips to it quickly; the look behind comes second.
    (
        "discord_token",
        ".",
        regex(r"(?a)[MNO](?:(?<![\w.-].)|(?<=\\[nrt].))[DTjz][\w-]{21,26}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    ),
)


# Everything above lies in a run of these characters, and the shortest has this many.
RUN_LENGTH = 16
_RUN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=%:~@?&\\")
_TO_RUNS = bytes(byte if byte in _RUN else 0x20 for byte in range(256))


def long_runs(text: str) -> str:
    """Return the long words of ``text``, a line each: all that the expressions above need to look at.

    Ordinary text has few, so a hundred searches in them cost less than one in the text.
    """
    words = text.encode("utf-8", "replace").translate(_TO_RUNS).decode("ascii").split()
    return "\n".join([word for word in words if len(word) >= RUN_LENGTH])


@cache
def prefixed(prefix: str, body: str, before: str = "A-Za-z0-9") -> re.Pattern[str]:
    r"""``prefix`` and ``body``; a prefix that words may end in counts only at the start of a word.

    The look-behinds follow the prefix, because `re` searches fast only for an expression that starts with a
    literal. ``\n`` and ``%3D`` are what stands before a token inside escaped text.
    """
    literal = re.escape(prefix)
    if len(prefix) >= 6 or (len(prefix) >= 4 and prefix.endswith("_")):
        return re.compile(literal + body, re.ASCII)
    start = rf"(?:(?<![{before}]{literal})|(?<=\\[nrt]{literal})|(?<=%[0-9A-Fa-f]{{2}}{literal}))"
    return re.compile(literal + start + body, re.ASCII)


Span = tuple[int, int, str]


_URL_USER = r"""://(?!\[REDACTED:)[^\s:/@"'`<>]{0,128}:"""
_URL = regex(_URL_USER + r"""([^\s/"'`<>]{1,256})@(?=[\w\[$<{%*-])""")
# A password with an unescaped slash; not a port followed by a path that has an @ in it.
_URL_SLASH = regex(_URL_USER + r"""(?!\d{1,5}[/?#])([^\s"'`<>@:]{1,128}/[^\s"'`<>@:]{0,64})@(?=[\w\[$<{])""")


def _url_passwords(text: str, lowered: str) -> Iterator[Span]:
    if "://" not in text or "@" not in text:
        return
    for pattern in (_URL, _URL_SLASH):
        for match in pattern.finditer(text):
            value = match[1]
            if not is_placeholder(value) and "[REDACTED" not in value:
                yield *match.span(1), "url_password"


_URL_USER_ALONE = regex(r"""://([^\s:/@"'`<>?#]{16,512})(?=(?::[\w-]{0,32})?@)""")
_PARAMETER = regex(r"""(?a)[?&#;]([\w.~%-]{1,48})=([\w.~%+/=-]{12,2048})""")
_TELLING_PARAMETER = regex(
    r"(?i)(?:sig|signature|token|key|auth|code|secret|pass(?:word)?|pwd|jwt|session|credential|ticket|state)$"
)


def _url_parts(text: str, lowered: str) -> Iterator[Span]:
    """Yield tokens in the user part of a URL, and parameters that give access to anybody with the URL."""
    if "://" not in text:
        return
    for match in _URL_USER_ALONE.finditer(text):
        if looks_random(match[1]) and not is_placeholder(match[1]):
            yield *match.span(1), "url_password"
    for match in _PARAMETER.finditer(text):
        if _TELLING_PARAMETER.search(match[1]) and looks_random(match[2]) and not is_placeholder(match[2]):
            yield *match.span(2), "url_secret"


_COOKIE_START = r"""[\\"'`]{0,4}(?=[^\s=;"']{1,128}=)"""
_COOKIES = (
    regex(r"""cookie(?:["'\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}|[ ])""" + _COOKIE_START),
    regex(r" -b[ =]?" + _COOKIE_START),
)
_COOKIE_PAIR = regex(r"""[ \t]*[^\s=;"'`<>]{1,128}(?:=(?P<value>[^\s;"'`<>\\]{0,4096}))?;?""")


def _cookies(text: str, lowered: str) -> Iterator[Span]:
    if "cookie" not in lowered and ("curl" not in lowered or " -b" not in lowered):
        return
    for pattern in _COOKIES:
        position = 0
        while match := pattern.search(lowered, position):
            position = match.end()
            while pair := _COOKIE_PAIR.match(text, position):
                position = pair.end()
                if pair["value"] and looks_random(pair["value"]) and not is_placeholder(pair["value"]):
                    yield *pair.span("value"), "cookie"


_HEADER = regex(
    r"""authorization["'`\]*\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\\"'`*]{0,3}"""
    r"""(?:(?P<scheme>[a-z][a-z-]{3,20})[ \t]{1,4})?"""
)
_BEARER = regex(r"bearer[ \t]{1,4}(?P<scheme>)")
_CREDENTIAL = regex(r"(?a)[A-Za-z0-9._~+/=:-]{6,}")


def _headers(text: str, lowered: str) -> Iterator[Span]:
    for word, pattern in (("authorization", _HEADER), ("bearer", _BEARER)):
        if word not in lowered:
            continue
        position = 0
        while match := pattern.search(lowered, position):
            position = match.end()
            if value := _CREDENTIAL.match(text, position):
                position = value.end()
                secret = value[0].rstrip(".:")
                likely = looks_random(secret) or (match["scheme"] == "basic" and _is_basic(secret))
                if likely and not is_placeholder(secret):
                    yield value.start(), value.start() + len(secret), "auth_header"


def _is_basic(value: str) -> bool:
    """Return whether ``value`` is base64 of ``user:password``."""
    try:
        return b":" in binascii.a2b_base64(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4))
    except binascii.Error:
        return False


_USER = regex(
    r"""-(?:u|a|-user|-proxy-user|-auth)[ =]{0,2}["']?(?P<user>[^\s:"'-][^\s:"']{0,63}):(?P<secret>[^\s"']{3,256})?"""
)


def _curl_users(text: str, lowered: str) -> Iterator[Span]:
    if "curl" not in lowered:
        return
    for match in _USER.finditer(text):
        near = text.rfind("curl", max(0, match.start() - 400), match.start()) >= 0
        group = "secret" if match["secret"] else "user"  # a token stands alone, as `curl -u TOKEN:`
        numbers = match["user"].isdigit() and match[group].isdigit()  # docker run -u 1000:1000
        if not near or numbers or is_placeholder(match[group]) or "[REDACTED" in match[group]:
            continue
        if group == "secret" or looks_random(match["user"]):
            yield *match.span(group), "password"


# The value of -p is a password: at once after it for mysql, which reads a word that stands apart as the database.
_LOGIN = regex(
    r"""(?a)(?:\b(?:mysql|mariadb)\w*[^\n|;&]{0,200}?\s-p|\b(?:sshpass|login)\b[^\n|;&]{0,200}?\s-p[ =]?)"""
    r"""(?!\w+-)(["']?)(?P<secret>[^\s"']{6,256})\1"""
)


def _logins(text: str, lowered: str) -> Iterator[Span]:
    if " -p" not in lowered or not any(name in lowered for name in ("mysql", "mariadb", "sshpass", "login")):
        return
    for match in _LOGIN.finditer(text):
        if is_mixed(match["secret"]) and not is_placeholder(match["secret"]) and "[REDACTED" not in match["secret"]:
            yield *match.span("secret"), "password"


PLACES: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    _url_parts,
    _url_passwords,
    _headers,
    _cookies,
    _curl_users,
    _logins,
)


PRIVATE = "[REDACTED]"
CUT_MARGIN_CHARS = 8_192  # longer than any secret
_PASSES = 8  # taking one secret out may uncover the edge of another


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self.kinds.values())


def redact(text: str) -> Redacted:
    """``text`` without ``<private>`` passages (``[REDACTED]``) and credentials (``[REDACTED:kind]``).

    A tag or a key block that is never closed hides everything after it. Redacting twice changes nothing more.
    """
    kinds: Counter[str] = Counter()
    for _ in range(_PASSES):
        before = text
        seen = _ascii_aligned(text)
        lowered = lower_aligned(seen)
        for find in _FINDERS:
            found = sorted(find(seen, lowered))
            if found:
                text = _replace(text, found, kinds)
                seen = _ascii_aligned(text)
                lowered = lower_aligned(seen)
        if text == before:
            break
    return Redacted(text, dict(kinds))


def redact_head(text: str, limit: int) -> Redacted:
    """``redact`` of the first ``limit`` characters. When there are more, the last 8,192 of them are dropped afterwards.

    At the cut stands perhaps half of a secret, which nothing recognises, and what is taken out before it moves it to
    where a caller that keeps less than the limit would keep it.
    """
    if len(text) <= limit:
        return redact(text)
    hidden = redact(text[:limit])
    if hidden.text.endswith((PRIVATE, "[REDACTED:private_key]")):
        return hidden  # what is never closed has hidden the cut
    return replace(hidden, text=hidden.text[:-CUT_MARGIN_CHARS])


def refuse_secret(field: str, name: str) -> None:
    """Raise InvalidArgumentError where the name of something would keep a secret: taken out of it, it names nothing."""
    if redact(name).count:
        raise InvalidArgumentError(field, PRIVATE, expected="a name without a secret in it")


def without_private(text: str) -> str:
    """``text`` with only its ``<private>`` passages replaced."""
    return _replace(text, sorted(_private_passages(text, text.lower())), Counter())


def _replace(text: str, found: list[Span], kinds: Counter[str]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in found:
        if start < done:
            continue
        parts += text[done:start], PRIVATE if kind == "private_tag" else f"[REDACTED:{kind}]"
        kinds[kind] += 1
        done = end
    return "".join([*parts, text[done:]])


def lower_aligned(text: str) -> str:
    """``text`` in lower case with every character where it was; one letter would become two."""
    return text.replace("\u0130", "I").lower()


# Blanks that are no line breaks, and the full-width forms of ASCII.
_AS_ASCII = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_AS_ASCII |= {0xFF01 + at: chr(0x21 + at) for at in range(94)}


def _ascii_aligned(text: str) -> str:
    """Return ``text`` with every blank and sign as ASCII writes it, and every character where it was."""
    return text if text.isascii() else text.translate(_AS_ASCII)


# --- passages ---------------------------------------------------------------------------------------------


_PRIVATE_TAG = regex(r"(?ia)<\s{0,99}(?P<close>/?)\s{0,99}private(?:\s[^<>]*)?(?<!/)>")


def _private_passages(text: str, lowered: str) -> Iterator[Span]:
    if "private" not in lowered or "<" not in text:
        return
    depth = start = 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag["close"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), "private_tag"
    if depth:
        yield start, len(text), "private_tag"


_KEY_BEGIN = regex(r"(?a)-----?[ ]?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?[ ]?-----?")
_KEY_END = regex(r"(?a)-----?[ ]?END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?[ ]?-----?")
_KEY_MATERIAL = regex(r"""[ \t"']{0,4}(?:$|[\r\n]|\\+[nr]|[A-Za-z0-9+/=]{24})""")
_PUTTY_BEGIN = regex(r"(?a)PuTTY-User-Key-File-\d[^\n]*")
_PUTTY_END = regex(r"(?a)Private-(?:MAC|Hash):[ \t]*[0-9A-Fa-f]+")


def _key_blocks(text: str, lowered: str) -> Iterator[Span]:
    if "private key" in lowered:
        yield from _blocks(text, _KEY_BEGIN, _KEY_END)
    if "putty-user" in lowered:
        yield from _blocks(text, _PUTTY_BEGIN, _PUTTY_END)


def _blocks(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> Iterator[Span]:
    """From each ``begin`` to its ``end``; without one to the end of the text, unless prose only mentions it."""
    position = 0
    last = end.search(text)
    while start := begin.search(text, position):
        if last and last.start() < start.end():
            last = end.search(text, start.end())
        following = begin.search(text, start.end())
        if last and not (following and following.start() < last.start()):
            yield start.start(), last.end(), "private_key"
            position = last.end()
        elif _KEY_MATERIAL.match(text, start.end()):
            yield start.start(), len(text), "private_key"
            return
        else:
            position = start.end()


# --- shapes ----------------------------------------------------------------------------------------------


def _known_shapes(text: str, lowered: str) -> Iterator[Span]:
    runs = long_runs(text)
    if not runs:
        return
    for family, kind, prefixes, body in FAMILIES:
        if family in runs:
            for prefix in prefixes:
                if prefix in runs:
                    yield from _spans(prefixed(prefix, body), text, kind)
    if "eyJ" in runs:
        yield from _spans(prefixed("eyJ", JWT_BODY, r"\w-"), text, "jwt")
    for kind, literal, expression in FLOATING:
        if literal in runs and expression.search(runs):
            yield from _spans(expression, text, kind)
    yield from _ambiguous_keys(text, runs)


def _spans(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Span]:
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        yield *match.span(group), kind


def _ambiguous_keys(text: str, runs: str) -> Iterator[Span]:
    """``sk-`` also begins CSS classes and ``SK`` anything, so these two must look the part."""
    if "sk-" in runs:
        for match in prefixed("sk-", SK_BODY).finditer(text):
            kind = SK_KINDS.get(match[0][: match[0].index("-", 3) + 1]) if "-" in match[0][3:12] else None
            if kind or looks_random(match[0]):
                yield *match.span(), kind or "openai_key"
    if "SK" in runs:
        for match in prefixed("SK", r"[0-9a-f]{32}(?!\w)").finditer(text):
            near = text[max(0, match.start() - 200) : match.end() + 200].lower()
            before = text[max(0, match.start() - 8) : match.start()]
            if "twilio" in near or before.rstrip(" \t\"'`").endswith(("=", ":")):
                yield *match.span(), "twilio_key"


_FINDERS: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    _private_passages,
    _key_blocks,
    _known_shapes,
    *PLACES,
    find_assignments,
    find_generated,
)

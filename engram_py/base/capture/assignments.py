"""Finds values that stand where a secret's name says so: evidence of the name times evidence of the value.

A name that ends in ``password`` and a sign of assignment need little of the value. A name that only holds such a word
(``JWT_SECRET_OLD``) needs a value that looks random. A value that shows by itself that it was generated needs no more
than such a word in the same line, in whichever language the rest of the sentence is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex

# What people call a password, in lower case; each name is looked for wherever it stands in a longer one.
PASSWORD_NAMES = (
    "pass", "pwd", "pw", "psk", "kennwort", "contrase", "clave", "senha", "hasło", "wachtwoord", "lösenord", "heslo",
    "salasana", "adgangskode", "jelszó", "şifre", "parola", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호",
    "mật khẩu", "kata sandi", "รหัสผ่าน", "كلمة المرور", "סיסמה", "पासवर्ड", "κωδικός",
)  # fmt: skip
# What else stands for a secret.
SECRET_NAMES = ("secret", "token", "key", "auth", "cred", "salt", "signing", "pat", "jwt", "hmac", "identified")
# What each finder of capture/redact.py needs before it looks closer; a test holds this against the redaction.
_TELLING = ("<", "://", "private key", "putty-user", "authorization", "bearer", "curl", "--", "cookie", " -p")
_RUN_LENGTH = 16
_GENERATED_LENGTH = 8
_VERBS = ("is", "be", "was", "est", "es", "ist", "lautet")
_SEPARATORS = ("=", ":", "：", "＝", "|", ">", "(", "（", ",", "→")
_SIGNS = b"!#$%^*+?~@"
_KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + _SIGNS)
_TO_RUNS = bytes(byte if byte in _KEPT else 0x20 for byte in range(256))


def mixed_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and signs in which a generated value may lie: long, and more than letters."""
    runs = text.encode("utf-8", "replace").translate(_TO_RUNS).split()
    long = [run for run in runs if len(run) >= _GENERATED_LENGTH and not run.isalpha()]
    bare = (run.lstrip(_SIGNS).rstrip(b"*~") for run in long)
    return [run.decode() for run in bare if len(run) >= _GENERATED_LENGTH and not run.isalpha() and not run.isdigit()]


def surely_plain(text: str) -> bool:
    """Return whether redaction would leave ``text`` as it is; False also means that only the redaction can tell."""
    lowered = text.replace("\u0130", "I").lower()  # as the redaction does
    words = lowered.split()
    long = (word for word in words if len(word) >= _RUN_LENGTH)
    if any(sign in lowered for sign in _TELLING) or any(sum(map(str.isascii, word)) >= _RUN_LENGTH for word in long):
        return False
    named = any(name in lowered for name in (*PASSWORD_NAMES, *SECRET_NAMES))
    if (named or " -" in lowered) and mixed_runs(text):
        return False
    return not (named and (any(verb in words for verb in _VERBS) or any(sign in lowered for sign in _SEPARATORS)))


# Said in place of a value. Compared without case, quotes and outer punctuation.
_WORDS = """
    none null nil undefined true false yes no required optional missing empty unset default string str text int
    bool bytes integer number boolean object array secretstr any changeme change-me change_me todo tbd fixme
    n/a na example sample placeholder redacted hidden masked secret password passwd passwort pass pwd token
    apikey api_key api-key key auth username user credentials your_password yourpassword mypassword
    encrypted hashed plaintext plain-text sensitive generated random invalid expired revoked valid wrong
    incorrect enabled disabled basic bearer digest oauth oauth2 saml bcrypt argon2 argon2id argon2i scrypt pbkdf2 md5
    sha1 sha256 sha512 base64 base32 utf8 utf-8 hmac-sha256 hs256 rs256 es256 http2 totp
"""
PLACEHOLDERS = frozenset(_WORDS.split())

_REFERENCE_INSIDE = regex(r"(?a)\$[{(]|#\{|\{\{|<%|\{[A-Za-z_][\w.]{0,60}\}")
_REFERENCE = regex(r"""(?xia)\$[A-Za-z_][\w:.]*$ | %[\w-]+%$ | %\(?\w*\)?[sdrv]$ | @[\w.]+(?:\(|$) | \{[\w.:!,\s]*\}?$
      | <[^<>]*>$ | \[[^\[\]]*\]$ | \(.*\)$ | !\w | ENC\[ | (?:vault|op|ssm|arn|sops|env|secretref|keyring)[:+]
      | (?:your|my|the|some|insert|enter|replace|put|add|use|example|dummy|fake|sample)[-_ ][A-Za-z_ -]+$
    """)
_SHORTENED = ("...", "\u2026")
_CALL = regex(r"^(?:await |new |!|\*|&)?[A-Za-z_$][\w.$:>?!-]{0,80}(?:\(|\[)")
_DOTTED = regex(r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+;?$")
_KEYWORD_ARGUMENT = regex(r"^[A-Za-z_]+=\w*$")
_PATH = regex(r"^(?:[~.]{0,2}/|[A-Za-z]:[\\/])?[\w.@%+-]+(?:[\\/][\w.@%+-]*)+$")
_PIECES = regex(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PART = regex(r"[A-Za-z0-9]+")
# Which letters follow a letter in 97 of 100 places of English, German, French and code. A random value has three of
# five of its neighbours from outside of this table, a word one in thirty.
_FOLLOWERS = """
    abcdfgiklmnprstuvwxy baceijlorsuy cacehiklorstu dadeilorsuy eabcdefgilmnpqrstvwxy faefilortu gaehilnorsu haeiortu
    iabcdefgklmnoprstvxz jaeou kaeilnsy ladefilostuy mabeimopsu nacdefgiklnostuvy oabcdefgiklmnoprstuvw paehiloprstuy
    qu racdefgiklmnorstuvy sacehiklmopqstuwy tacdefhiloprstuwy uabcdefgilmnprst vaeio waehinors xaceipt yainopst zaeio
"""
_ORDINARY = frozenset(row[0] + letter for row in _FOLLOWERS.split() for letter in row[1:])
_ODD_SHARE = 0.34
_CASE_CHANGE = regex(r"[a-z][A-Z]")
_HEX = regex(r"(?i)^(?:0x)?[0-9a-f-]+$")
_SIGN = regex(r"[!@#$%^&*+=?~|\\]")
_SIGNS_INSIDE = regex(r"(?<=\w)[!#$%^*+?~@]+(?=\w)")  # they cut a password into pieces that are as short as words
_DIGIT_OR_SIGN = regex(r"[\d!@#$%^&*+=?~|\\]")


def is_placeholder(value: str) -> bool:
    """Return whether ``value`` only stands for a secret: a mask, a reference to a variable, a word such as ``none``."""
    bare = value.strip(" \t\"'`*.,;:!?()[]{}").lower()
    if bare in PLACEHOLDERS or len(set(bare)) <= 1 or not any(map(str.isalnum, bare)):
        return True
    if "://" in value or value.startswith(_SHORTENED) or value.endswith(_SHORTENED):
        return True
    return _REFERENCE.match(value) is not None or _REFERENCE_INSIDE.search(value) is not None


def is_code(value: str) -> bool:
    """Return whether an unquoted ``value`` reads as an expression: a call, a subscript, an attribute, ``name=1``."""
    if value[0] in ")]},;=|&":
        return True
    if _DOTTED.match(value):
        return is_wordy(value)
    return _CALL.match(value) is not None or _KEYWORD_ARGUMENT.match(value) is not None


def is_path(value: str) -> bool:
    return _PATH.match(value) is not None and is_wordy(value)


def is_wordy(value: str) -> bool:
    """Return whether ``value`` is made of pronounceable pieces: ``db-credentials-v2``, ``refreshToken``, not
    ``k3Jx9Qf0``."""
    return all(map(_is_wordy_part, _PART.findall(_SIGNS_INSIDE.sub("", value[:160]))))


def _is_wordy_part(part: str) -> bool:
    if len(part) <= 4 or (part.isalpha() and (part.islower() or part.isupper() or part.istitle())):
        return True
    if not part.isalpha() and odd_share(part) > _ODD_SHARE:
        return False
    pieces: list[str] = _PIECES.findall(part)
    digits = sum(piece[0].isdigit() for piece in pieces)
    return digits <= 1 and len(part) >= 3 * (len(pieces) - digits)


def odd_share(value: str) -> float:
    """Return which share of neighbours in ``value`` are no two digits and no two letters as words have them."""
    lowered = value.lower()
    pairs = [lowered[at : at + 2] for at in range(len(lowered) - 1)]
    odd = sum(pair not in _ORDINARY and not pair.isdigit() for pair in pairs)
    return odd / len(pairs) if pairs else 0.0


def is_scrambled(value: str) -> bool:
    """Return whether ``value`` is letters alone in an order and of a case that words do not have."""
    return value.isalpha() and len(_CASE_CHANGE.findall(value)) >= 2 and odd_share(value) > _ODD_SHARE / 2


def is_generated(value: str) -> bool:
    """Return whether ``value`` alone shows that a generator made it: letters and digits in no order that has a reason.

    Hex digits show nothing: most are names of commits and checksums.
    """
    if len(value) < 8 or not any(map(str.isdigit, value)) or _HEX.match(value):
        return False
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (mixed or len(value) >= 20) and not is_wordy(value) and odd_share(value) > _ODD_SHARE


def is_encoded(value: str) -> bool:
    """Return whether ``value`` is base64 with slashes rather than a path: it does not read as words, as a whole and in
    its longest part."""
    longest = max(value.split("/"), key=len)
    tests = (str.islower, str.isupper, str.isdigit)
    mixed = all(any(map(test, value)) for test in tests) and len(longest) >= _GENERATED_LENGTH
    bare = value.replace("/", "").replace("+", "")
    return mixed and not _HEX.match(longest) and min(odd_share(bare), odd_share(longest)) > _ODD_SHARE


def looks_random(value: str) -> bool:
    """Return whether ``value`` was made by a generator rather than by a person; numbers alone are not enough."""
    value = value[:160]  # enough to judge by
    if len(value) < 10 or value.isdigit() or any(map(str.isspace, value)) or is_wordy(value):
        return False
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares) >= 2.8  # Shannon entropy in bits per character


def is_mixed(value: str) -> bool:
    """Return whether ``value`` mixes letters with digits or signs, as passwords do and words of a sentence do not."""
    bare = value.rstrip("!?.")
    return any(map(str.isalpha, bare)) and _DIGIT_OR_SIGN.search(bare) is not None


def has_sign(value: str) -> bool:
    return _SIGN.search(value.rstrip("!?.")) is not None


# Searched in lower-cased text, each with the rest of the name it may begin.
_RESTS = {"pass": r"(?:words?|wd|phrase|wort|code)?", "contrase": r"(?:ña|na)", "cred": r"(?:ential)?s?", "jelszó": ""}
_STEMS = {name: _RESTS.get(name, "") for name in (*PASSWORD_NAMES, *SECRET_NAMES)} | {"mot de passe": ""}
_PASSWORDS = frozenset((*PASSWORD_NAMES, "mot de passe"))
_WHOLE_WORDS = frozenset({"pass", "pwd", "pw", "psk", "auth", "cred", "creds", "clave", "salt", "parola", "pat"})

_QUOTE = r"""(?:\\{0,4}["'`]|&(?:quot|apos|\#34|\#39);)"""
_VALUE_WORD = rf"""(?:[\s,;{{]{{1,12}}-?{_QUOTE}?(?:value|default){_QUOTE}?(?=[ \t]{{0,3}}[=:]))"""
_AFTER_NAME = (
    rf"""(?:\[\d{{0,4}}\])?(?:[)\]*\\]|{_QUOTE}){{0,4}}"""
    rf"""(?:{_VALUE_WORD}|[ \t]?:[ \t]?[a-z_][\w.\[\]|]{{0,30}}(?=[ \t]=)|[ \t](?:string|str)(?=[ \t]=))?"""
    r"""(?P<sep>[ \t]{0,8}(?:=>|:=|={1,3}|!={1,2}|->|[:|>(,→])"""
    r"""|[ \t]{1,4}(?:[a-z]{2,12}[ \t]){0,4}(?:is|be|was|est|es|ist|lautet)(?:[ \t]?:|(?=[ \t])))[ \t*_]{0,8}"""
    r"""(?P<below>(?:[|>][+-]?\d?[ \t]*)?\r?\n[ \t]{0,40})?"""
)
# What a name goes on with when it does not end in the secret's word: `_OLD`, `s`, `-for-ci`; a number is no more name.
_NUMBERED = regex(r"[_-]?\d{1,2}$")
_MORE = regex(r"s?[_-]|s$|\d?[A-Z]")
# Such a name says that the value may be seen, however random it looks.
_PUBLIC = regex(
    r"""(?xa)(?i:public | publishable | idempotency | cache | fingerprint | checksum | digest | sha\d | md5 | hash
      | (?:^|[_-])(?:ids?|kid|path|file(?:name)?|ur[il]|arn|version)$) | Ids?$"""
)
_FLAG = regex(
    r"--(?:[a-z0-9]{1,20}-){0,4}(?P<stem>pass|pwd|secret|token|key|auth)(?P<rest>word|wd|phrase)?(?P<sep>[ \t]{1,4})"
)
_KEY_OF = regex(
    r"(?:api|access|secret|private|auth|account|signing|encryption|encrypt|master|service|admin|storage|app|client"
    r"|session|jwt|license|subscription|webhook|hmac|ssh|root)[_\-. ]?$"
)
_QUOTED = regex(rf"""(?:[fbrFBR]{{1,2}}|@)?({_QUOTE})((?:(?!\1)(?:\\.|[^\n\\])){{1,512}})\1(?!\w)""")
_BARE = regex(rf"""(?P<open>{_QUOTE}{{0,3}})(?P<value>[^\s"'`<>]{{1,512}})""")
_NEXT_PAIR = regex(r"[,;&](?=[\w .-]{1,40}=|$)")
_ALONE = regex(r"""["'`]?[ \t]*(?:$|[\r\n])""")


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A value with a secret's name: where it is, and whether it looks like one (``hide``)."""

    start: int
    end: int
    kind: str
    hide: bool


@dataclass(frozen=True, slots=True)
class _Name:
    """A secret's name: its bounds, and whether it is one as it stands (``direct``) or only holds the word for one."""

    start: int
    end: int
    password: bool
    direct: bool


@cache
def _pattern(stem: str, rest: str) -> re.Pattern[str]:
    return re.compile(f"{stem}(?P<rest>{rest})(?P<tail>(?:[a-z0-9_]|-(?!>)){{0,40}}+){_AFTER_NAME}")


def find_assignments(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each secret assigned in ``text``; ``lowered`` is it in lower case, aligned."""
    for stem, rest in _STEMS.items():
        if stem not in lowered:
            continue
        position = 0
        while match := _pattern(stem, rest).search(lowered, position):
            position = match.end("rest")
            name = _name(stem, match, text, lowered)
            if name and (value := _value(name, match, text)):
                position = max(position, value.end)
                if value.hide:
                    yield value.start, value.end, value.kind
    if "--" in lowered:
        for match in _FLAG.finditer(lowered):
            start = match.start("stem")
            if match["stem"] != "key" or _KEY_OF.search(lowered, match.start(), start):
                name = _Name(match.start(), match.start("sep"), match["stem"] in _PASSWORDS, direct=True)
                flag = _value(name, match, text)
                if flag and flag.hide:
                    yield flag.start, flag.end, flag.kind


def _name(stem: str, match: re.Match[str], text: str, lowered: str) -> _Name | None:
    """Return the name that the word for a secret stands in; None when it is part of another word."""
    start, end = match.start(), match.end("rest")
    tail = text[end : match.end("tail")]
    numbered = not tail or _NUMBERED.match(tail)
    if not numbered and not _MORE.match(tail):
        return None  # tokenizer
    before = text[start - 1 : start]
    is_camel = text[start].isupper() and before.islower()
    if before.isalpha() and not is_camel and stem + match["rest"] in _WHOLE_WORDS:
        return None  # bypass, not dbPass
    known = stem not in ("key", "pat") or _KEY_OF.search(lowered, max(0, start - 14), start)
    if not known and not before.strip():
        return None
    name = _Name(_name_start(text, start), match.end("tail"), stem in _PASSWORDS, bool(known and numbered))
    return name if name.direct or not _PUBLIC.search(text[name.start : name.end]) else None


def _value(name: _Name, after: re.Match[str], text: str) -> _Assignment | None:
    sep = after["sep"].strip()
    below = "below" in after.re.groupindex and after["below"] is not None
    kind = "password" if name.password else "secret"
    if quoted := _QUOTED.match(text, after.end()):
        if _hide_quoted(quoted[2], quoted[1], sep, password=name.password and name.direct and not below):
            return _Assignment(*quoted.span(2), kind, hide=True)
        return None
    bare = _BARE.match(text, after.end())
    if bare is None:
        return None
    if sep == ">" and not text.startswith("</", bare.end()):
        return None
    env = after["sep"] == "=" and after.end() == after.end("sep") and _is_env(text, name)
    begin = bare.start("value")
    end = _bare_end(bare["value"], begin, env=env)
    password = name.password and name.direct
    hide = begin < end and _hide_bare(text[begin:end], sep, env=env, quoted=bool(bare["open"]), password=password)
    if below:
        hide = hide and _ALONE.match(text, end) is not None
    return _Assignment(begin, end, kind, hide)


def _name_start(text: str, start: int) -> int:
    stop = max(0, start - 40)
    while start > stop and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    return start


def _is_env(text: str, name: _Name) -> bool:
    """Return whether the name is ``UPPER_CASE`` or follows a ``;``, as in ``.env`` files and connection strings."""
    return text[name.start : name.end].isupper() or text[max(0, name.start - 3) : name.start].rstrip().endswith(";")


def _bare_end(value: str, start: int, *, env: bool) -> int:
    """Return the end of an unquoted value: before an earlier redaction, the next pair, or a closing bracket."""
    redacted = value.find("[REDACTED")
    if redacted >= 0:
        value = value[:redacted]
    pair = _NEXT_PAIR.search(value)
    if pair:
        value = value[: pair.start()]
    return start + len(value if env else value.rstrip(",;.)]}\\|*"))


def _hide_quoted(value: str, quote: str, sep: str, *, password: bool) -> bool:
    if value.startswith("[REDACTED") and value.endswith("]"):
        return False
    if is_placeholder(value) or value[0] in ")],;}":
        return False
    if sep == ",":  # also a list of field names
        return looks_random(value)
    if not password:
        return looks_random(value) and not is_path(value)
    if len(value) < 6 or (" " in value and "pass" in value.lower()):
        return False  # a label: "Enter your password"
    return (quote != "`" and not sep[-1:].isalpha() and sep != "|") or is_mixed(value)


def _hide_bare(value: str, sep: str, *, env: bool, quoted: bool, password: bool) -> bool:
    value = value[:160]  # enough to judge by
    if len(value) < 6 or sep in (",", "(") or is_placeholder(value):
        return False
    if not quoted and (is_code(value) or is_path(value)):
        return False
    if not password:
        return looks_random(value)
    if env or (sep == "=" and value.isdigit()):
        return True
    if sep[-1:].isalpha():
        return is_generated(value) or (is_mixed(value) and has_sign(value))
    mixed = is_mixed(value) or looks_random(value) or is_scrambled(value)
    return mixed and not (value.islower() and ("-" in value or "_" in value) and is_wordy(value))


# --- a value that speaks for itself ---------------------------------------------------------------------


_REST = regex(r"[A-Za-z0-9!#$%^*+?~@_./:=-]*")
# Base64 with a slash in it. What goes on with a dot or a dash is the name of a file or a host.
_ENCODED = regex(r"(?a)(?<![\w.~@%$/+-])(?=[\w+]{0,99}/)[A-Za-z0-9+/]{16,}+={0,2}(?![\w-]|\.\w)")
_NEAR_CHARS = 64
_AFTER_CHARS = 40
# A short name counts where it does not begin another word: `authors`, `keyboard`, `path`.
_NEAR = regex(
    r"pass(?:word|wort|wd|phrase|code|e?(?![a-z]))|(?<!public)(?<!public.)(?:pw|psk|key|auth|salt)(?![a-z])"
    r"|(?!pass|pw(?!d)|psk|key|auth|salt|pat)"
)
_MARKER = regex(r"(?:\[redacted:|^)[a-z_]{1,30}(?:\]|$)")  # `[REDACTED:password]` names no secret that is still there
_LETTER_FLAG = regex(r"(?:^|\s)--?(?:[pwka]|[ua](?:ser|uth)?[ =]{0,2}[\"']?[\w.@-]{1,40}[:%])[ =]{0,2}[\"']?$")


def find_generated(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each generated value in a line that names a secret, or after a flag as ``-p``."""
    if " -" not in lowered and not any(name in lowered for name in (*PASSWORD_NAMES, *SECRET_NAMES)):
        return
    for word in set(mixed_runs(text)):
        value = word[1:] if word[0] in "pPw" and f" -{word}" in text else word
        start = text.find(value) if is_generated(value) else -1
        while start >= 0:
            end = start + len(value)
            if kind := _told(text, lowered, start, end):
                rest = _REST.match(text, end)
                end += len(rest[0].rstrip(".:?!")) if rest else 0
                yield start, end, kind
            start = text.find(value, end)
    for match in _ENCODED.finditer(text) if "/" in text else ():
        if is_encoded(match[0]) and (kind := _told(text, lowered, *match.span())):
            yield *match.span(), kind


def _told(text: str, lowered: str, start: int, end: int) -> str | None:
    """Return the kind of secret that the line around a generated value speaks of."""
    line = max(text.rfind("\n", max(0, start - _NEAR_CHARS), start) + 1, start - _NEAR_CHARS, 0)
    before = lowered[line:start]
    if _is_part_of_address(before, lowered, start):
        return None
    if _LETTER_FLAG.search(before):
        return "password"
    after = lowered[end : end + _AFTER_CHARS].split("\n", 1)[0]
    if after.startswith("("):
        return None  # a function
    sides = [_MARKER.sub("", side) if "]" in side else side for side in (before, after)]
    if any(_names(side, PASSWORD_NAMES) for side in sides):
        return "password"
    return "secret" if any(_names(side, SECRET_NAMES) for side in sides) else None


def _names(side: str, names: tuple[str, ...]) -> bool:
    """Return whether one of the names stands in a part of a line, and is not the start of another word."""
    for name in names:
        at = side.find(name)
        while at >= 0:
            if _NEAR.match(side, at):
                return True
            at = side.find(name, at + 1)
    return False


_CHECKSUM = regex(r"(?:sha\d+|md5|aaaa)[\w+/=-]{0,3}[:-]?$")


def _is_part_of_address(before: str, lowered: str, start: int) -> bool:
    """Return whether a value stands in a path, a URL or a checksum: those have their own rules."""
    word = before[max(before.rfind(" "), before.rfind("\t")) + 1 :]
    return "://" in word or "/" in word or _CHECKSUM.search(word) is not None

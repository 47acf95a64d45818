"""Tells a value that may be a secret from a placeholder, a reference, code or an ordinary word."""

from __future__ import annotations

import math
from collections import Counter

from engram_py.capture.compiled import compiled

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

_REFERENCE_INSIDE = r"(?a)\$[{(]|#\{|\{\{|<%|\{[A-Za-z_][\w.]{0,60}\}"
_REFERENCE = r"""(?xia)\$[A-Za-z_][\w:.]*$ | %[\w-]+%$ | %\(?\w*\)?[sdrv]$ | @[\w.]+(?:\(|$) | \{[\w.:!,\s]*\}?$
      | <[^<>]*>$ | \[[^\[\]]*\]$ | \(.*\)$ | !\w | ENC\[ | (?:vault|op|ssm|arn|sops|env|secretref|keyring)[:+]
      | (?:your|my|the|some|insert|enter|replace|put|add|use|example|dummy|fake|sample)[-_ ][A-Za-z_ -]+$
    """
_SHORTENED = ("...", "\u2026")
_CALL = r"^(?:await |new |!|\*|&)?[A-Za-z_$][\w.$:>?!-]{0,80}(?:\(|\[)"
_DOTTED = r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+;?$"
_KEYWORD_ARGUMENT = r"^[A-Za-z_]+=\w*$"
_PATH = r"^(?:[~.]{0,2}/|[A-Za-z]:[\\/])?[\w.@%+-]+(?:[\\/][\w.@%+-]*)+$"
_PIECES = r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_PART = r"[A-Za-z0-9]+"
# Which letters follow a letter in 97 of 100 places of English, German, French and code. A random value has three of
# five of its neighbours from outside of this table, a word one in thirty.
_FOLLOWERS = """
    abcdfgiklmnprstuvwxy baceijlorsuy cacehiklorstu dadeilorsuy eabcdefgilmnpqrstvwxy faefilortu gaehilnorsu haeiortu
    iabcdefgklmnoprstvxz jaeou kaeilnsy ladefilostuy mabeimopsu nacdefgiklnostuvy oabcdefgiklmnoprstuvw paehiloprstuy
    qu racdefgiklmnorstuvy sacehiklmopqstuwy tacdefhiloprstuwy uabcdefgilmnprst vaeio waehinors xaceipt yainopst zaeio
"""
_ORDINARY = frozenset(row[0] + letter for row in _FOLLOWERS.split() for letter in row[1:])
_ODD_SHARE = 0.34
_CASE_CHANGE = r"[a-z][A-Z]"
_HEX = r"(?i)^(?:0x)?[0-9a-f-]+$"
_SIGN = r"[!@#$%^&*+=?~|\\]"
_SIGNS_INSIDE = r"(?<=\w)[!#$%^*+?~@]+(?=\w)"  # they cut a password into pieces that are as short as words
_DIGIT_OR_SIGN = r"[\d!@#$%^&*+=?~|\\]"


def is_placeholder(value: str) -> bool:
    """Return whether ``value`` only stands for a secret: a mask, a reference to a variable, a word such as ``none``."""
    bare = value.strip(" \t\"'`*.,;:!?()[]{}").lower()
    if bare in PLACEHOLDERS or len(set(bare)) <= 1 or not any(map(str.isalnum, bare)):
        return True
    if "://" in value or value.startswith(_SHORTENED) or value.endswith(_SHORTENED):
        return True
    return compiled(_REFERENCE).match(value) is not None or compiled(_REFERENCE_INSIDE).search(value) is not None


def is_code(value: str) -> bool:
    """Return whether an unquoted ``value`` reads as an expression: a call, a subscript, an attribute, ``name=1``."""
    if value[0] in ")]},;=|&":
        return True
    if compiled(_DOTTED).match(value):
        return is_wordy(value)
    return compiled(_CALL).match(value) is not None or compiled(_KEYWORD_ARGUMENT).match(value) is not None


def is_path(value: str) -> bool:
    return compiled(_PATH).match(value) is not None and is_wordy(value)


def is_wordy(value: str) -> bool:
    """Return whether ``value`` is made of pronounceable pieces: ``db-credentials-v2``, ``refreshToken``, not
    ``k3Jx9Qf0``."""
    return all(map(_is_wordy_part, compiled(_PART).findall(compiled(_SIGNS_INSIDE).sub("", value[:160]))))


def _is_wordy_part(part: str) -> bool:
    if len(part) <= 4 or (part.isalpha() and (part.islower() or part.isupper() or part.istitle())):
        return True
    if not part.isalpha() and odd_share(part) > _ODD_SHARE:
        return False
    pieces: list[str] = compiled(_PIECES).findall(part)
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
    return value.isalpha() and len(compiled(_CASE_CHANGE).findall(value)) >= 2 and odd_share(value) > _ODD_SHARE / 2


def is_generated(value: str) -> bool:
    """Return whether ``value`` alone shows that a generator made it: letters and digits in no order that has a reason.

    Hex digits show nothing: most are names of commits and checksums.
    """
    if len(value) < 8 or not any(map(str.isdigit, value)) or compiled(_HEX).match(value):
        return False
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (mixed or len(value) >= 20) and not is_wordy(value) and odd_share(value) > _ODD_SHARE


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
    return any(map(str.isalpha, bare)) and compiled(_DIGIT_OR_SIGN).search(bare) is not None


def has_sign(value: str) -> bool:
    return compiled(_SIGN).search(value.rstrip("!?.")) is not None

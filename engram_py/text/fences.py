"""Text as it may leave a door: nothing in it moves a terminal, hides from a reader, or opens or closes a fence."""

from __future__ import annotations

from engram_py.lazy import regex

# Terminal sequences, whole: CSI (``ESC [ … letter``), strings up to their end (OSC, DCS, APC, PM, SOS), two bytes.
_SEQUENCE = regex(r"""(?x)
\x1b\[[0-?]*[ -/]*[@-~]
|\x9b[0-?]*[ -/]*[@-~]
|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?
|\x1b[ -/]*[0-~]
""")
_PLAIN_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)])
_LINE_ENDS = regex(r"\r(?!\n)|\x85|\u2028|\u2029")

# What opens a tag for a reader, by the names of the characters; quotation marks of some languages only before a slash.
_LESS = "<\N{FULLWIDTH LESS-THAN SIGN}\N{SMALL LESS-THAN SIGN}\u02c2\u2329\u27e8\u276c\u276e\u3008\u1438\ufe3f\u29fc"
_QUOTES = "\u2039\u00ab\u300a\u27ea"
_SLASH = "/\N{FULLWIDTH SOLIDUS}\N{FRACTION SLASH}\N{DIVISION SLASH}\u29f8\u2571"
_JOINT = r"[-_:.\u00ad\u2010-\u2015\u2043\u207b\u2212\ufe58\ufe63\uff0d\uff3f]"
# A frame of this program or of a host has a name of several words, or is one of the roles of a conversation.
_OURS = r"\W?e\W?n\W?g\W?r\W?a\W?m\W*m\W?e\W?m\W?o\W?r\W?y"
_NAME = rf"""
(?:[^\W_]+(?:{_JOINT}+[^\W_]+)+
|{_OURS}
|(?:system|user|assistant|human|developer|tool|function|instructions?|thinking)\b)
"""
_FRAME = regex(rf"(?xi)(?:[{_LESS}]|[{_LESS}{_QUOTES}]\s*[{_SLASH}]\s*)(?={_NAME})|[{_LESS}]\s+(?={_OURS})")


def visible(text: str) -> str:
    """Return text without terminal sequences, control characters but line ends and tabs, and format characters.

    Format characters are Unicode's category Cf (joiners, direction marks, tags, the soft hyphen) and the variation
    selectors beyond the first sixteen: a reader does not see them, and a model reads them. Other line ends become
    ``\\n``; ``\\r\\n`` stays.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    if not text.isprintable():
        text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text)).translate(_PLAIN_CONTROLS)
    if text.isascii():
        return text
    return "".join(char for char in text if char.isprintable() or not _is_hidden(char)).translate(_SELECTORS)


_SELECTORS = dict.fromkeys(range(0xE0100, 0xE01F0))


def _is_hidden(char: str) -> bool:
    import unicodedata  # most texts hold nothing that is asked about

    return unicodedata.category(char) in ("Cf", "Cs")


def harmless(text: str) -> str:
    """Return ``visible`` text in which no tag of this program or of a host opens or closes: ``<`` becomes ``&lt;``.

    Tags of one ordinary word, as of HTML, stay.
    """
    shown = visible(text)
    if shown.isascii() and "<" not in shown:
        return shown
    return _FRAME.sub(lambda found: f"&lt;{found[0][1:]}", shown)

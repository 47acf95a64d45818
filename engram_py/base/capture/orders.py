"""Text that speaks to the model instead of about the code: what an imported memory must not smuggle in.

A convention is an instruction too ("use uv, never pip"), and memory is full of those. What is looked for is what
no project memory has a reason to say: to drop earlier instructions, to become somebody else, to keep something from
the user, to send or run something now, or the marks by which chats are put together. A determined author gets past
this list; the fence around injected text and the origin on its line are the other two answers.
"""

from __future__ import annotations

import unicodedata

from engram_py.base.lazy import regex

READ_CHARS = 50_000

# Words one of which must be there, and the expression that then decides: most texts hold none of the words.
_EXPRESSIONS = (
    (
        ("ignor", "disregard", "forget", "overrid", "bypass"),
        regex(
            r"\b(?:ignore|disregard|forget|override|bypass)\b\W+(?:\w+\W+){0,3}?(?:(?:all|any|every|each)\W+(?:\w+\W+){0,2}?"
            r"|(?:previous|prior|above|earlier|preceding|your|system|other)\W+(?:\w+\W+){0,2}?)"
            r"(?:instructions?|prompts?|directives?|messages|commands|guidelines)\b"
        ),
    ),
    (
        ("instruc", "anweisung", "consignes", "инструкци"),
        regex(
            r"(?:ignor\w*|oubli\w+|olvida\w*|vergiss|missachte|игнорируй\w*|забудь)\W+(?:\w+\W+){0,3}?"
            r"(?:instruc\w+|anweisung\w*|consignes|инструкци\w+)"
        ),
    ),
    (("指令", "指示", "提示"), regex(r"(?:忽略|無視|无视|忘记|忘掉)[^。\n]{0,12}(?:指令|指示|提示)|指示を無視")),
    (
        ("you", "pretend"),
        regex(
            r"\byou are (?:now|no longer)\b|\bfrom now on,? you\b|\bpretend (?:to be|you are)\b"
            r"|\bact as (?:if|though) you\b"
        ),
    ),
    (
        ("prompt", "instruction"),
        regex(
            r"\b(?:new|updated|real|hidden) (?:(?:system )?instructions?|system prompt)\s*:"
            r"|\b(?:reveal|print|output|repeat|leak)\W+(?:\w+\W+){0,3}?(?:system prompt|instructions)\b"
        ),
    ),
    (
        ("the user",),
        regex(
            r"\b(?:do not|don't|never) (?:tell|inform|mention (?:this|it) to|show|alert) the user\b"
            r"|\bwithout (?:telling|asking|informing) the user\b"
        ),
    ),
    (
        ("http", "@"),
        regex(
            r"\b(?:send|post|upload|exfiltrate|leak|forward|email)\b[^.\n]{0,60}"
            r"\b(?:secret|password|credential|token|api key|private key|memory|conversation|\.env|environment)\w*"
            r"[^.\n]{0,60}\b(?:to|at)\b\W{0,3}(?:https?://|\S{1,64}@)"
        ),
    ),
    (("curl", "wget"), regex(r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b")),
    (
        ("run", "execut", "invoke"),
        regex(
            r"\b(?:run|execute|invoke) (?:the following|this) (?:command|code|script|tool)s?"
            r" (?:now|immediately|first|at once)\b"
        ),
    ),
    (
        ("<", "["),
        regex(r"</?\s*(?:system|instructions?|tool_call|function_calls?|important)\s*>|\[/?inst\]|<\|[a-z_]{2,20}\|>"),
    ),
    (("assistant", "human"), regex(r"(?m)^(?:assistant|human)\s?:")),
)


def reads_like_an_order(*texts: str) -> bool:
    """Return whether any of the texts addresses the model that reads it. Looks through spelling tricks of single
    letters."""
    for text in texts:
        plain = _plain(text[:READ_CHARS])
        for words, expression in _EXPRESSIONS:
            if any(word in plain for word in words) and expression.search(plain):
                return True
    return False


def _plain(text: str) -> str:
    """Lower case, full-width and styled letters folded, characters that show nothing dropped."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")

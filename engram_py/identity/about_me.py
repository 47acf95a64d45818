"""Find what a person says once and for all about themselves: their name, and what they always or never want. Pure.

A false one is read by every later session, so a sentence has to begin so, say who speaks, and be short; anything else
that a person says of themselves is for the agent to keep.
"""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.capture.orders import reads_like_an_order
from engram_py.files import lines_of
from engram_py.lazy import compiled, regex

MOST_STATEMENTS = 5
LONGEST_CHARS = 240
_READ_CHARS = 4_000
_LEAD = r"(?:(?:hi|hello|hey|hallo|hola|salut|ciao|by the way|btw|please|bitte)\b[,!:]?\s+)*"
# A name is written with a capital, or in a script that has none: "call me when it is done" names nobody.
_NAME = r"""(?:my name is|my name's|call me|i am called|ich hei(?:ß|ss)e|mein name ist|nenn mich|je m'appelle
|me llamo|mi nombre es|mi chiamo|(?:o )?meu nome é|меня зовут|我叫|私の名前は)""".replace("\n", "")
_ALWAYS = r"""(?:i (?:always|never) (?:want|like|prefer|use|need|write)\b|always (?:answer|reply|respond|talk|speak)
 (?:to me|me|in)\b|ich (?:will|möchte|mag|nehme|benutze|bevorzuge|schreibe) (?:immer|nie)\b|antworte (?:mir )?immer\b
|je (?:veux|préfère|utilise) toujours\b|réponds(?:-moi)? toujours\b|(?:siempre (?:quiero|prefiero|uso)
|(?:quiero|prefiero|uso) siempre)\b|resp[oó]nde(?:me)? siempre\b|preferisco sempre\b|rispondi(?:mi)? sempre\b
|(?:eu )?sempre (?:quero|prefiro|uso)\b)""".replace("\n", "")
_STATEMENT = rf"(?i:{_LEAD}{_NAME})\s*[A-ZÀ-ÞΑ-ΩА-Я\u3040-\u30ff\u3400-\u9fff]|(?i:{_LEAD}{_ALWAYS})"
_NAMED = rf"(?i:{_LEAD}{_NAME})\s*([^\W\d_]+(?:[ -][A-ZÀ-ÞΑ-ΩА-Я][^\W\d_]+)*)"
_SENTENCE_END = regex(r"(?<=[.!?。！？])\s+|\n")


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a prompt that say something lasting about who wrote it."""
    for sentence in _SENTENCE_END.split(_own_words(text[:_READ_CHARS])):
        said = " ".join(sentence.split())
        if len(said) > LONGEST_CHARS or said.endswith(("?", "？")) or not compiled(_STATEMENT).match(said):
            continue
        if not reads_like_an_order(said):
            yield said.rstrip(" .!。！")  # the same said again is the same


def names_in(statement: str) -> list[str]:
    """Return what somebody is called by their own statement, whole and by the first name; nothing where it names
    nobody."""
    found = compiled(_NAMED).match(statement)
    return list(dict.fromkeys([found[1], found[1].split()[0]])) if found else []


def _own_words(text: str) -> str:
    """Return a prompt without the code and the lines that it quotes."""
    parts = text.split("```")[::2]
    return "\n".join(line for part in parts for line in lines_of(part) if not line.lstrip().startswith((">", "|")))

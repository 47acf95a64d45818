"""The forms of irregular English words, which no stemmer joins: who asks why we *choose* finds what we *chose*."""

from __future__ import annotations

from functools import cache

from engram_py.text.synonyms import EITHER, SAME_THING, SHORT

# Forms that Porter's stemmer already joins are left out, and so are those that mean something else more often
# (`left`, `found`, `bound`, `lit`).
_GROUPS = """
awake awoke awoken|become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken
bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug
draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed
feel felt|fight fought|fly flew flown|forbid forbade forbidden|forget forgot forgotten|freeze froze frozen
get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held
keep kept|know knew known|lead led|lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden
ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken
shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken
spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|swim swam swum
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood
wake woke woken|wear wore worn|win won|write wrote written|rewrite rewrote rewritten|rebuild rebuilt
overwrite overwrote overwritten|child children|person people|foot feet|man men|woman women|mouse mice|tooth teeth
bad worse worst|good better best|index indices|vertex vertices|matrix matrices|datum data
"""


def forms(word: str) -> tuple[str, ...]:
    """The other forms and names of a lower-case word, none for most."""
    return tuple(other for other in _table(_GROUPS, SHORT, EITHER).get(word, ()) if other != word)


def stand_ins(word: str) -> tuple[str, ...]:
    """What others may call the same thing, none for most words."""
    return tuple(other for other in _table(SAME_THING).get(word, ()) if other != word)


@cache
def _table(*lists: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _groups(*lists):
        for form in group:
            found[form] = (*found.get(form, ()), *(other for other in group if other not in found.get(form, ())))
    for form, group in list(found.items()):
        for ending in ("s", "ing", "ed"):  # choosing, builds, removed: what Porter folds into the base
            base = form[:-1] if ending != "s" and form.endswith("e") else form
            found.setdefault(base + ending, group)
    return found


def _groups(*lists: str) -> list[tuple[str, ...]]:
    return [tuple(group.split()) for lines in lists for line in lines.split("\n") for group in line.split("|") if group]

"""Prompts without a cue whose words are those of a title: "the board browns out when the motors start". Words only.

No list of verbs holds all the ways in which things go wrong, or are asked about. What such a prompt and a title have in
common tells: two words at least, a good part of the title and of the prompt. What is an acronym counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import combinations

from engram_py.context.gate.verbs import NOTHING
from engram_py.recall.query.parse import Word, parse_query, quote
from engram_py.recall.score.topics import shares_a_word
from engram_py.text import cues
from engram_py.text.prompt_text import UNSPACED_FROM, PromptText, listed, plain
from engram_py.text.segments import segments
from engram_py.text.stopwords import STOP_WORDS

# A longer prompt says what is meant by other means; of more words every two would be too many pairs to look for.
_MOST_WORDS, _PAIRED = 12, 8
_LEAST_SHARED, _MANY_SHARED = 2, 3
_OF_THE_TITLE, _OF_THE_PROMPT = 0.5, 1 / 3
_ACRONYM = 2


def words_of(prompt: str) -> dict[str, int]:
    """The words of a prompt that a title may have, each with its weight; none where somebody asks for a text, for
    knowledge of the world, or for too much."""
    heard = PromptText(prompt)
    polite, asking = listed(cues.POLITE), listed(cues.ASKS_FOR_WORDS)
    first = next((word for word in heard.words if word not in polite), "")
    if first in asking or heard.first(listed(cues.ASKS_FOR_WORDS_ANYWHERE)):
        return {}
    told = telling(heard.words)
    if not _LEAST_SHARED <= len(told) <= _MOST_WORDS:
        return {}
    names = {word for at, word in enumerate(heard.words) if heard.is_capitals(at)}
    return {word: _ACRONYM if word in names else 1 for word in told}


def match_titles(words: Sequence[str]) -> str:
    """The FTS5 expression for what has two of the words in its title, topic key or aliases."""
    pairs = combinations(list(words)[:_PAIRED], _LEAST_SHARED)
    return f"{{title topic_key aliases}} : ({' OR '.join(f'({quote(one)} AND {quote(two)})' for one, two in pairs)})"


def shared(words: dict[str, int], title: str, *more: str | None) -> float:
    """How much of a prompt's words a title has, 0 where that is too little to be about it.

    ``more`` is what else it goes by: its topic key, its aliases.
    """
    named = telling([plain(one) for one in segments(title)])
    others = " ".join(filter(None, more))
    found = {word for word in words if shares_a_word(f"{title} {others}", [word], families=())}
    if len(found) < _LEAST_SHARED:
        return 0.0
    held = sum(words[word] for word in found)
    if held < _OF_THE_TITLE * sum(words.get(word, 1) for word in named) and len(found) < _MANY_SHARED:
        return 0.0
    share = held / sum(words.values())
    return share if share >= _OF_THE_PROMPT else 0.0


def telling(words: Sequence[str]) -> list[str]:
    """The words that say what a text is about, each once."""
    nothing: tuple[Set[str], ...] = (_of(cues.EVERYWHERE), _of(cues.FILLERS), _of(cues.POLITE), _PLAIN_STOP_WORDS)
    told = (word for word in words if len(word) > 1 and not word[0].isdigit() and word[0] < UNSPACED_FROM)
    return list(dict.fromkeys(word for word in told if not any(word in one for one in nothing)))


def telling_words(text: str) -> tuple[Word, ...]:
    """The same as the words of a query, without what no memory goes by."""
    content = parse_query(text).content_words
    return tuple(word for word in content if telling([plain(word.text)]) and plain(word.text) not in listed(NOTHING))


def _of(text: str) -> Set[str]:
    return listed(text).keys()


_PLAIN_STOP_WORDS = frozenset(map(plain, STOP_WORDS))

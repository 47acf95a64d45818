"""The words of a query as terms of the index: how many rows hold each, and the rows of the rare ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.recall import index
from engram_py.recall.index import EVERYWHERE, Span
from engram_py.recall.query import Query, Word, quote
from engram_py.recall.score import Term, add, idf, ordinary_rate

# The index's own tokenizer tells how it writes a word. Temporary tables live in memory, with the connection.
_TOKENIZER = (
    """
    create virtual table if not exists temp.asked_words
    using fts5(word, content = '', tokenize = 'porter unicode61 remove_diacritics 2')
    """,
    "create virtual table if not exists temp.asked_stems using fts5vocab('temp', 'asked_words', 'instance')",
)

_ASK = "insert into temp.asked_words (rowid, word) select key, value from json_each(:words)"

RESEMBLING = """
select term, doc as rows
from observations_vocab
where term >= :first and term < :after and length(term) between :shortest and :longest
limit :limit
"""

HOLDING = """
select term, doc as rows from observations_vocab where instr(term, :part) order by doc desc limit :limit
"""

ROWS_WITH = """
select value as term, coalesce((select doc from observations_vocab where term = value), 0) as rows
from json_each(:terms)
"""

MATCHING = """
select value, (
    select json_group_array(rowid)
    from (select rowid from observations_fts where observations_fts match value order by rowid desc limit :cap)
)
from json_each(:matches)
"""

IN_PARTS = """
select (
    select count(*) from observations_fts
    where observations_fts match :match and rowid > value and rowid <= value + :span
)
from json_each(:starts)
"""

# Endings that Porter's steps take off.
_ENDINGS = ("", "e", "es", "s", "ed", "ing", "ion", "al", "y")
# Names that begin with the same letters, in a memory of a million rows.
_MOST_READ = 20_000
# How the tokenizer writes a word never changes; asking it takes .05 ms.
_STEMS: dict[str, tuple[str, ...]] = {}
MOST_REMEMBERED = 4_096
# The count of a common word is kept until the memory grew by this, a small one by so many rows; that of an
# expression, which takes longer to count, from fewer rows on.
_COMMON_ROWS, _MATCHED_ROWS = 500, 20
_GROWN, _GROWN_ROWS = 1.02, 20
# Counting `fix` among a million rows takes 14 ms; looking into four parts, together one row in 200, takes .6. Eighty
# rows of these stand for 16,000, and one in ten of them more or less moves the idf by .1.
LARGE = 200_000
_PARTS = 4
_SAMPLED = 200
_ENOUGH_ROWS = 80
# Three of the parts have at least this share each: else it is a word of one season, or of two.
_PARTS_WITH, _SOME = 3, 0.1


def stems_of(store: Store, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the index terms of each word; none for what is no word to the index."""
    if len(_STEMS) > MOST_REMEMBERED:
        _STEMS.clear()
    unasked = list(dict.fromkeys(word for word in words if word not in _STEMS))
    if unasked:
        _STEMS.update(_tokenized(store, unasked))
    return {word: _STEMS[word] for word in words}


def _tokenized(store: Store, numbered: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {word: [] for word in numbered}
    with store.connection() as connection:
        for statement in _TOKENIZER:
            connection.execute(statement)
        connection.execute("insert into temp.asked_words (asked_words) values ('delete-all')")
        connection.execute(_ASK, {"words": json.dumps([folded(word) for word in numbered])})
        for term, row in connection.execute('select term, doc from temp.asked_stems order by doc, "offset"'):
            found[numbered[row]].append(term)
    return {word: tuple(terms) for word, terms in found.items()}


def unstemmed(store: Store, terms: Sequence[str]) -> dict[str, str]:
    """Return for each index term a word that the index holds as that term: ``database`` for ``databas``.

    Stemming a stem again may cut it once more, so a term is not always found by itself.
    """
    words = {term: [term + ending for ending in _ENDINGS] for term in terms}
    held = stems_of(store, [word for tried in words.values() for word in tried])
    return {term: next((word for word in tried if held[word] == (term,)), term) for term, tried in words.items()}


def resembling(store: Store, prefix: str, *, shortest: int, longest: int) -> list[tuple[str, int]]:
    """Return the index terms of that length that begin with ``prefix``, each with its number of rows."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return store.tuples(RESEMBLING, first=prefix, after=after, shortest=shortest, longest=longest, limit=_MOST_READ)


def holding(store: Store, part: str, *, limit: int) -> list[tuple[str, int]]:
    """Return the index terms that a part of a word stands in, the commonest first, each with its number of rows. Reads
    the whole vocabulary: 5 ms of 20,000 terms."""
    return store.tuples(HOLDING, part=part, limit=limit)


def rows_with(store: Store, terms: Sequence[str], expressions: Mapping[str, str], *, size: int) -> dict[str, int]:
    """Return in how many live rows each index term stands; ``size`` is how many rows there are.

    Where that is 200,000 or more, the count of a very common term is estimated, if ``expressions`` has one that finds
    the term alone.
    """
    counts = _remembered(store, terms, size=size)
    unknown = [term for term in terms if term not in counts]
    if not unknown:
        return counts
    if size >= LARGE:
        highest = max(size, int(store.value("select coalesce(max(id), 0) from observations")))
        estimates = {term: _estimated(store, expressions[term], highest) for term in unknown if term in expressions}
        counts |= {term: rows for term, rows in estimates.items() if rows}
    counts |= dict(store.tuples(ROWS_WITH, terms=json.dumps([term for term in unknown if term not in counts])))
    _remember(store, {term: counts[term] for term in unknown if counts[term] >= _COMMON_ROWS}, size=size)
    return counts


def matching(
    store: Store, expressions: Sequence[str], *, cap: int, size: int
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Return how many rows match each expression, counted up to ``cap``, and the rows of those that were not counted
    shortly before."""
    counts = _remembered(store, expressions, size=size)
    found = newest_matching(store, [one for one in expressions if one not in counts], cap=cap)
    new = {one: len(rows) for one, rows in found.items()}
    _remember(store, {one: rows for one, rows in new.items() if rows >= _MATCHED_ROWS}, size=size)
    return counts | new, found


def newest_matching(store: Store, expressions: Sequence[str], *, cap: int) -> dict[str, list[int]]:
    """Return the newest rows that match each expression, at most ``cap``, newest first."""
    if not expressions:
        return {}
    return {one: json.loads(rows) for one, rows in store.tuples(MATCHING, matches=json.dumps(expressions), cap=cap)}


def _remembered(store: Store, terms: Sequence[str], *, size: int) -> dict[str, int]:
    known = {term: store.common_words[term] for term in terms if term in store.common_words}
    return {term: rows for term, (rows, at) in known.items() if at <= size <= max(at * _GROWN, at + _GROWN_ROWS)}


def _remember(store: Store, counts: Mapping[str, int], *, size: int) -> None:
    if len(store.common_words) + len(counts) > MOST_REMEMBERED:
        store.common_words.clear()
    store.common_words.update({term: (rows, size) for term, rows in counts.items()})


def _estimated(store: Store, match: str, size: int) -> int:
    """Return an estimate, 0 where only counting tells: for few rows in the parts, or most of them in one part."""
    span = size // (_SAMPLED * _PARTS)
    starts = [size * part // _PARTS + (size // _PARTS - span) // 2 for part in range(_PARTS)]
    found = [rows for [rows] in store.tuples(IN_PARTS, match=match, span=span, starts=json.dumps(starts))]
    seasonal = sum(rows >= _SOME * sum(found) for rows in found) < _PARTS_WITH
    return 0 if seasonal or sum(found) < _ENOUGH_ROWS else min(size, sum(found) * _SAMPLED)


# A query of more words was pasted; many of them nobody ever saw.
MOST_WORDS_ASKED = 12
_MEASURED = regex(r"[0-9]{2,}[a-z]{0,3}|0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{7,}")

# Rows that a search looks up, about a microsecond each. Recall at 5 of commits at 2,500, 4,000 and 6,000: DPDK .295,
# .305, .321; curl .307, .312, .317; other sets stay the same.
ROW_BUDGET = 6_000
# Rows without their counts cost a tenth of that: of a file, a day or an entity, so many of the newest are looked up.
NEWEST_ROWS = 2_000
# Of words that are everywhere, so many of the newest rows are candidates, and as many of those where the words meet.
CANDIDATES = 1_000
# Rows of other projects cost a tenth as well. Recall at 5 of 5,000 commits beside 95,000 of another project:
# 5,000 rows .387, 10,000 .432, 20,000 .464, at 11, 13 and 22 ms a search.
WALKED_ROWS = 10_000
# Of a word that is everywhere, so many of the newest rows are looked through for those of a small project.
PASSED_ROWS = 20_000
# How often a row mentions a word is looked up where no more rows have it: beyond, its weight is small, the rows alone
# cost a third, and the best rows are read anyway. Recall at 5 where long texts lie beside short ones: 500 .750, 0 .628.
COUNTED_ROWS = 500
MENTIONS_A_ROW = 6
ALL_ROWS = 1_000_000
# Where two common words meet is found by walking the rows of each: among a million five words take 40 ms.
_MET_ROWS = 60_000


def word_terms(store: Store, words: Sequence[Word], *, size: int) -> list[Term]:
    """Return a term for each word, with its stems, its number of rows, and its idf in a memory of ``size`` rows."""
    forms = [form for word in words if not word.beginning for form in (word.text, *word.forms)]
    stems = stems_of(store, forms) | {word.text: (word.beginning,) for word in words if word.beginning}
    expressions = {stems[form][0]: quote(folded(form)) for form in forms if len(stems[form]) == 1}
    rows = rows_with(store, [stem for found in stems.values() for stem in found], expressions, size=size)
    terms: dict[object, Term] = {}
    for word in words:
        key = stems[word.text] or word.text  # `tests` beside `test` is one word to the index
        if key not in terms:
            terms[key] = _word_term(store, word, stems, rows, size)
    if len(terms) <= MOST_WORDS_ASKED:
        return list(terms.values())
    # Times, counts and addresses of a pasted log that nobody ever saw are left out; `v2` and `h100` are names.
    return [term for term in terms.values() if term.rows or not _MEASURED.fullmatch(term.text)]


def _word_term(
    store: Store, word: Word, stems: Mapping[str, tuple[str, ...]], rows: Mapping[str, int], size: int
) -> Term:
    found = tuple(dict.fromkeys(stem for form in (word.text, *word.forms) for stem in stems[form]))
    rate = ordinary_rate(found)
    # `sent` is another word to the index than `sending`, `send` is not: asked for twice, it would count twice.
    others = [form for form in word.forms if stems[form] != stems[word.text]]
    expression = f"({' OR '.join((word.expression, *map(quote, others)))})" if others else word.expression
    is_one_token = word.expression.startswith('"') and not word.expression.endswith("*")
    if is_one_token and all(len(stems[form]) == 1 for form in (word.text, *others)):
        # As if no row held two of them: counting those that do costs as much as reading them.
        count = min(size, sum(rows[stem] for stem in found))
        return Term(word.text, expression, idf(count, size, rate), count, found, found)
    # Several tokens, each of which many words have, or beginnings: the index counts them.
    count = index.frequency(store, expression, cap=ROW_BUDGET + 1)
    has_marks = len(stems[word.text]) > 1
    return Term(word.text, expression, idf(count, size, rate), count, (word.text,) if has_marks else found)


@dataclass(frozen=True)
class ProjectRows:
    """The ``rows`` that may be found, of ``total`` in the memory; None where they are not known.

    Beside 100,000 rows of others a word is soon too common to be looked up. Recall at 5 of 342 commits asked beside
    100,000 others: .536, with only their own rows .651, alone in a memory .656.
    """

    rows: Set[int] | None = None
    total: int = 0

    @cached_property
    def span(self) -> Span:
        """The ids between which they are: other rows are not walked."""
        return EVERYWHERE if self.rows is None else Span.around(self.rows)

    def among(self, found: Iterable[int]) -> Iterable[int]:
        """Return those of ``found`` that are of these rows."""
        return found if self.rows is None else [row for row in found if row in self.rows]

    def only(self, counts: Mapping[int, float]) -> Mapping[int, float]:
        """Return the counts of these rows."""
        return counts if self.rows is None else {row: counts[row] for row in counts.keys() & self.rows}

    def affordable(self, terms: Sequence[Term]) -> int:
        """Return how many of the terms, rarest first, may be looked up."""
        if self.rows is None:
            return sum(rows <= ROW_BUDGET for rows in accumulate(term.rows for term in terms))
        own_share = len(self.rows) / max(1, self.total)
        walked_share = min(1.0, (self.span.last - self.span.first + 1) / max(1, self.total))
        sums = accumulate(term.rows for term in terms)
        return sum(rows * own_share <= ROW_BUDGET and rows * walked_share <= WALKED_ROWS for rows in sums)


ANYWHERE = ProjectRows()


def look_up(store: Store, query: Query, terms: Sequence[Term], *, within: ProjectRows = ANYWHERE) -> list[Term]:
    """Return the terms with the rows of the rarest that fit the budget; earlier look-ups stay.

    When even the rarest is over the budget, its newest rows are candidates, and before them those where the words meet.
    """
    known = sorted((number for number, term in enumerate(terms) if _is_due(term)), key=lambda at: terms[at].rows)
    found = list(terms)
    affordable = within.affordable([terms[number] for number in known])
    for number in known[:affordable]:
        found[number] = replace(_with_rows(store, terms[number], within), looked_up=True)
    found = _restricted(store, query, found)
    if (common := known[affordable:]) and not any(term.mentions for term in found):
        for number, rows in _newest_rows(store, query, {one: found[one] for one in common}, within).items():
            found[number] = replace(found[number], mentions=dict.fromkeys(rows, 1.0), counted=False)
    return found


def _is_due(term: Term) -> bool:
    return bool(term.rows) and not term.looked_up


def _restricted(store: Store, query: Query, terms: list[Term]) -> list[Term]:
    """Leave out the rows that lack a phrase of the query or hold an excluded word."""
    if not (query.phrases or query.excluded):
        return terms
    unwanted = set(index.newest(store, " OR ".join(query.excluded), limit=ALL_ROWS)) if query.excluded else set()
    wanted = set(index.newest(store, " AND ".join(query.phrases), limit=ALL_ROWS)) if query.phrases else None

    def kept(counts: Mapping[int, float]) -> dict[int, float]:
        rows = counts.keys() - unwanted
        return {row: counts[row] for row in (rows if wanted is None else rows & wanted)}

    return [replace(term, mentions=kept(term.mentions), titled=kept(term.titled)) for term in terms]


def _with_rows(store: Store, term: Term, within: ProjectRows) -> Term:
    if term.indexed and term.rows <= COUNTED_ROWS:
        read = [index.mentions(store, one, at_most=MENTIONS_A_ROW * term.rows) for one in term.indexed]
        if None not in read:
            texts, titles = dict(term.mentions), dict(term.titled)
            for in_texts, in_titles in filter(None, read):
                add(texts, within.only(in_texts))
                add(titles, within.only(in_titles))
            return replace(term, mentions=texts, titled=titles)
    rows = index.matching_rows(store, term.expression, span=within.span)
    return replace(term, mentions=dict.fromkeys(within.among(rows), 1.0), counted=False)


def _newest_rows(
    store: Store, query: Query, terms: Mapping[int, Term], within: ProjectRows
) -> dict[int, Sequence[int]]:
    """Return candidates where every word is common, by the numbers of the terms, which are given rarest first: the
    newest rows where the rarest meet, and the newest of the rarest."""
    walked = accumulate(term.rows for term in terms.values())
    few = list(terms)[: max(2, sum(rows <= _MET_ROWS for rows in walked))]
    most = CANDIDATES if within.rows is None else PASSED_ROWS

    def newest(*numbers: int) -> Iterable[int]:
        expression = " AND ".join(terms[number].expression for number in numbers)
        return within.among(index.newest(store, query.restricted(expression), limit=most, span=within.span))

    met = list(newest(*few))
    of_rarest = newest(few[0]) if len(few) > 1 else ()
    return {**dict.fromkeys(few, met), few[0]: [*met, *of_rarest]}

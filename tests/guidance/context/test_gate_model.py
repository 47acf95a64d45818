"""The probability that a prompt needs a row."""

from __future__ import annotations

from engram_py.guidance.context.gate_model import Evidence, evidence_of, informative
from engram_py.guidance.context.prompt_gate import LookedUp
from engram_py.memory.observations.values import Observation
from engram_py.recall.query import parse_query
from engram_py.recall.retrieval import Retrieved
from engram_py.recall.score import K1, Scored, Term, idf, ordinary

TOTAL = 1_000


def term(text: str = "quorum", rows: int = 3, *, stem: str = "", discount: float = 1.0) -> Term:
    return Term(text, f'"{text}"', idf(rows, TOTAL), rows, stems=(stem or text,), discount=discount)


def row(number: int, terms: list[Term], *held: int, named: float = 0.0, cosine: float | None = None) -> Scored:
    """A row whose best passage holds these terms by their numbers, as often as counts."""
    score = (K1 + 1) * sum(terms[one].weight for one in held)
    words = tuple(terms[one].text for one in held)
    return Scored(number, whole=score, passage=score, words=words, held=frozenset(held), named=named, cosine=cosine)


def looked_up(prompt: str, terms: list[Term], *rows: Scored) -> LookedUp:
    found: Retrieved[Observation] = Retrieved(rows, terms=terms)
    return LookedUp(found, evidence_of(found, prompt, parse_query(prompt)))


def likely(prompt: str, terms: list[Term], *rows: Scored) -> list[float]:
    return [one.probability for one in looked_up(prompt, terms, *rows).evidence.values()]


WORDS = [term("quorum"), term("ledger"), term("replica"), term("vacuum")]


def test_the_more_of_a_prompt_a_row_holds_the_likelier_it_is_needed() -> None:
    rows = [row(number, WORDS, *range(number)) for number in range(5)]
    found = likely("quorum ledger replica vacuum", WORDS, *rows)
    assert found == sorted(set(found))
    assert not looked_up("quorum", WORDS, rows[0]).pointed()
    assert [one.id for one in looked_up("quorum ledger replica vacuum", WORDS, *rows).likely()][:1] == [4]


def test_a_rare_word_tells_more_than_one_of_many_rows_or_a_guess() -> None:
    rare, common, guessed = term(rows=1), term("queue", rows=400), term("quorum", discount=0.5)
    terms = [rare, common, guessed]
    found = likely("words", terms, row(1, terms, 0), row(2, terms, 1), row(3, terms, 2))
    assert found[0] > max(found[1:])


def test_a_title_that_was_asked_speaks_for_its_row() -> None:
    plain, better = likely("quorum", WORDS, row(1, WORDS, 0), row(2, WORDS, 0, named=0.5))
    assert better > plain


def test_a_near_meaning_counts_for_what_the_words_do_not_tell_and_alone_names_a_row_that_it_does_not_give() -> None:
    far, near = likely("quorum", WORDS, row(1, WORDS, 0, cosine=0.0), row(2, WORDS, 0, cosine=0.6))
    assert near > far
    whole, nearer = likely("q", WORDS, row(1, WORDS, 0, 1, 2, 3, cosine=0.0), row(2, WORDS, 0, 1, 2, 3, cosine=0.6))
    assert nearer == whole
    found = looked_up("elect leaders", WORDS, row(1, WORDS, cosine=0.7), row(2, WORDS, cosine=0.2))
    assert (found.likely(), [one.id for one in found.pointed()]) == ([], [1])


def test_a_question_is_likelier_to_need_a_row_than_an_order_that_names_the_place() -> None:
    [asked] = likely("why the quorum?", WORDS, row(1, WORDS, 0))
    [ordered] = likely("change the quorum", WORDS, row(1, WORDS, 0))
    [placed] = likely("change the quorum in src/raft.rs", WORDS, row(1, WORDS, 0))
    assert asked > ordered > placed
    [pasted] = likely("quorum " + "src/raft.rs:12 " * 900, WORDS, row(1, WORDS, 0))
    assert pasted == likely("quorum a/b c/d e/f", WORDS, row(1, WORDS, 0))[0]


def test_in_a_foreign_prompt_words_that_no_row_has_do_not_count() -> None:
    terms = [term("quorum"), term("wegmachen", rows=0), term("einfach", rows=0)]
    [german] = likely("kannst du das mit dem quorum einfach wegmachen und nicht mehr", terms, row(1, terms, 0))
    [english] = likely("could you make that quorum go away wegmachen einfach", terms, row(1, terms, 0))
    assert german > english


def test_beside_the_likeliest_what_is_nearly_as_likely_is_named_three_at_most() -> None:
    near = [row(number, WORDS, 0, 1, named=0.1) for number in range(1, 6)]
    assert [one.id for one in looked_up("the quorum ledger replica", WORDS, *near).pointed()] == [1, 2, 3]
    best = row(1, WORDS, 0, 1, 2, named=0.9)
    assert [one.id for one in looked_up("quorum ledger replica", WORDS, best, row(2, WORDS, 1)).pointed()] == [1]


def test_nothing_is_needed_of_a_prompt_without_words() -> None:
    assert looked_up("", [], Scored(1)).likely() == []
    assert Evidence().probability < 0.01


def test_ordinary_words_inform_only_where_there_are_no_others() -> None:
    common = max(ordinary(), key=ordinary().__getitem__)
    ordinary_term = term("ordinary", stem=common)
    assert informative([ordinary_term, term("quorum")]) == {"quorum"}
    assert informative([ordinary_term]) == {"ordinary"}

"""How the rows of a word are scored, read from where it stands."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.recall import candidates as retrieval
from engram_py.recall import plan as planner
from engram_py.recall import word_scores
from engram_py.recall.index import table as search
from engram_py.recall.index.mentions import totals
from engram_py.recall.query.parse import parse_query
from engram_py.recall.score.bm25 import idf, saturated
from engram_py.recall.score.relevance import Term
from engram_py.recall.word_scores import LookedUp, look_up
from tests.recall.searching import kept

_LONG = "ferry harbour lantern pottery saddle glacier comet beetle tulip violin " * 15


def _memory(app: Engram) -> None:
    """Of forty-two memories about pumps, one repeats it, one is long, and some name it elsewhere than in the text."""
    kept(app, "The pump leaks: the pump, the pump and again the pump.")
    kept(app, f"The pump leaks. {_LONG}")
    kept(app, "It leaks.", title="A pump")
    kept(app, "It leaks.", topic_key="plant/pump")
    kept(app, "It leaks.", aliases=["pump"])
    kept(app, "In waterPump it leaks.")
    for number in range(36):
        kept(app, f"The pump leaks in hall {number}.")
    for number in range(60):
        kept(app, f"The belt of hall {number} is worn. {'It squeaks. ' * (number % 7)}")


def _looked_up(app: Engram, query: str, *, best: int = 400) -> tuple[Term, LookedUp]:
    parsed, size = parse_query(query, filters=True), search.highest_id(app.store)
    terms = planner.weigh(app.store, parsed.content_words, size=size)
    looked_up = look_up(app.store, parsed, terms, totals(app.store), best=best)
    return terms[0], looked_up


def test_a_row_scores_what_fts5_would_give_it(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    monkeypatch.setattr(word_scores, "_COMMON_SHARE", 2.0)  # what FTS5 gives a common word is not what we do
    _memory(app)
    term, _ = _looked_up(app, "pump")
    assert term.indexed == ("pump",)
    assert term.scores == pytest.approx(search.scores(app.store, '"pump"'))
    assert len(set(term.scores.values())) > 4


def test_the_names_of_a_word_add_up_but_not_beyond_one_word(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "_COMMON_SHARE", 2.0)
    _memory(app)
    both = kept(app, "An int: " + "the integer, the int. " * 9, title="Int integer")
    for number in range(4):
        kept(app, f"An int, number {number}.")
        kept(app, f"An integer, number {number}.")
    monkeypatch.setattr(word_scores, "FEW_ROWS", 100)
    by_fts5, _ = _looked_up(app, "integer")
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    term, _ = _looked_up(app, "integer")
    assert set(term.indexed) == {"int", "integ"}
    assert term.scores == pytest.approx(by_fts5.scores)
    assert term.scores[both] == pytest.approx(2.2 * term.idf)


def test_of_a_common_word_nobody_counts_how_often_a_row_mentions_it(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 0)
    _memory(app)
    counted, _ = _looked_up(app, "pump")
    monkeypatch.setattr(word_scores, "COUNTED_ROWS", counted.rows - 1)
    term, _ = _looked_up(app, "pump")
    assert term.scores.keys() == counted.scores.keys()
    assert sorted({round(score, 6) for score in term.scores.values()}) == [
        pytest.approx(term.idf * saturated(often), abs=1e-6) for often in (1.0, 7.0)
    ]
    assert max(term.scores, key=lambda row: term.scores[row]) == 3  # the title


def test_a_phrase_and_a_minus_are_left_to_fts5(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    _memory(app)
    everything, _ = _looked_up(app, "pump")
    some, _ = _looked_up(app, "pump -hall")
    assert 0 < len(some.scores) < len(everything.scores)
    assert len(_looked_up(app, '"pump leaks in hall"')[0].scores) == 36


def test_lengths_are_looked_up_for_the_best_alone(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    _memory(app)
    exact, _ = _looked_up(app, "pump")
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 3)
    term, looked_up = _looked_up(app, "pump", best=10)
    as_exact = {row for row in term.scores if term.scores[row] == pytest.approx(exact.scores[row])}
    assert len(looked_up.best) == 10
    assert {row for row in looked_up.best[:3] if row in as_exact} == set(looked_up.best[:3])
    assert len({term.scores[row] for row in set(term.scores) - set(looked_up.best)}) < 5
    assert list(looked_up.best) == sorted(looked_up.best, key=lambda row: (-looked_up.own[row], -row))


def test_what_was_measured_stays_in_front_of_what_was_not(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 6)
    often = [kept(app, f"The pump, the pump. {_LONG} {number}") for number in range(6)]
    for number in range(6):
        kept(app, f"The pump. {_LONG} {number}")
    for number in range(60):
        kept(app, f"Hall {number}.")
    _, looked_up = _looked_up(app, "pump")
    assert set(looked_up.best[:6]) == set(often)


def test_rows_that_come_into_sight_later_are_measured_too(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    for number in range(200):
        kept(app, f"Pump {number}.", title="Pump", project="other")
        kept(app, f"Hall {number}.", project="other")
    long = [kept(app, f"The pump leaks. {_LONG} {number}") for number in range(3)]
    short = kept(app, "The pump leaks.")
    long += [kept(app, f"The pump leaks. {number} {_LONG}") for number in range(3)]
    found = app.searches.search("pump", explain=True)
    assert found.explain is not None
    scores = {one.id: one.bm25 for one in found.explain.hits}
    assert scores.keys() == {short, *long}
    assert min(scores[short] - scores[row] for row in long) > 0.1
    assert found.results[0].id == short


def test_after_a_slip_the_other_words_weigh_what_they_did(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    for number in range(60):
        kept(app, f"Hall {number}.")
    for number in range(3):
        kept(app, f"The pump {number}.")
    rows = [kept(app, "The pump of the sprocket."), kept(app, f"The pump of the sprocket. {_LONG}")]

    def parts(query: str) -> float:
        """How much less the long one scores."""
        found = app.searches.search(query, explain=True, floor=0.0)
        assert found.explain is not None
        scores = {one.id: one.bm25 for one in found.explain.hits}
        return scores[rows[1]] / scores[rows[0]]

    right = parts("pump sprocket")
    assert parts("pump sproket") == pytest.approx(right, rel=0.01)


def test_a_word_that_texts_repeat_is_left_to_fts5(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    for number in range(5):
        kept(app, f"{'The pump leaks. ' * 40} {number}")
    _, looked_up = _looked_up(app, "pump")
    assert not looked_up.read
    assert len(looked_up.own) == 5


def test_one_letter_of_a_script_without_blanks_finds_what_begins_with_it(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    saved = [kept(app, f"茶の湯 {number}") for number in range(3)]
    term, _ = _looked_up(app, "茶")
    assert sorted(term.scores) == saved


def test_a_word_of_nearly_every_row_keeps_some_weight(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    for number in range(9):
        kept(app, f"The pump of hall {number}.")
    term, _ = _looked_up(app, "pump")
    assert min(term.scores.values()) > 0.04
    monkeypatch.setattr(word_scores, "FEW_ROWS", 100)
    by_fts5, _ = _looked_up(app, "pump")
    assert term.scores == pytest.approx(by_fts5.scores)


def test_where_every_word_is_common_the_rows_where_the_rarest_meet_come_first(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "ROW_BUDGET", 3)
    meeting = kept(app, "The pump and the belt of the mill leak.")
    for number in range(4):
        kept(app, f"The pump of mill {number} leaks.")
    for number in range(5):
        kept(app, f"The belt of mill {number} leaks.")
        kept(app, f"Mill {number}.")
    parsed = parse_query("pump belt mill")
    for met_rows, best in ((26, meeting), (11, meeting), (0, meeting)):
        monkeypatch.setattr(word_scores, "MET_ROWS", met_rows)
        terms = planner.weigh(app.store, parsed.content_words, size=15)
        assert sorted(term.rows for term in terms) == [5, 6, 15]
        looked_up = look_up(app.store, parsed, terms, totals(app.store), best=400)
        assert looked_up.best[0] == best
        assert [term.text for term in looked_up.terms] == ["pump"]


def test_a_word_weighs_as_much_as_among_the_rows_there_are(app: Engram) -> None:
    gone = [kept(app, f"Chapter {number} is about gardening.") for number in range(30)]
    kept(app, "The retry queue drains at night.")
    kept(app, "A lighthouse stands on the cliff.")
    for row in gone[:15]:
        app.observations.delete(row)
    for row in gone[15:]:
        app.observations.delete(row, hard=True)
    explain = app.searches.search("queue", explain=True).explain
    assert explain is not None
    assert [word.idf for word in explain.words] == [round(idf(1, 2), 3)]


@pytest.fixture
def pump_is_common(app: Engram, monkeypatch: pytest.MonkeyPatch) -> Engram:
    """Of sixty memories about pumps six name a sprocket too, as four others do, and one has the pump in its title."""
    monkeypatch.setattr(word_scores, "FEW_ROWS", 0)
    monkeypatch.setattr(word_scores, "COUNTED_ROWS", 40)
    kept(app, "It leaks.", title="The pump")
    for number in range(60):
        kept(app, f"The pump of hall {number} has a sprocket." if number < 6 else f"The pump of hall {number}.")
    for number in range(4):
        kept(app, f"Sprocket {number} is worn.")
    return app


def test_a_common_word_is_looked_up_in_titles_and_where_it_meets_another(
    pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 10)
    pump, looked_up = _looked_up(pump_is_common, "pump sprocket")
    assert pump.meeting
    assert sorted(pump.scores) == [1, 2, 3, 4, 5, 6, 7]
    assert set(looked_up.first) == {2, 3, 4, 5, 6, 7, 62, 63, 64, 65}
    assert set(looked_up.rows_with(pump)) == set(range(1, 62))
    alone, _ = _looked_up(pump_is_common, "pump")
    assert not alone.meeting
    assert len(alone.scores) == 61


def test_the_rows_of_a_common_word_score_as_if_all_of_them_had_been_looked_up(
    pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 10)
    pump, looked_up = _looked_up(pump_is_common, "pump sprocket")
    few = dict(pump.scores), list(looked_up.first), dict(looked_up.own)
    looked_up.widen()
    assert len(pump.scores) == 61
    assert looked_up.first == few[1]
    assert {row: pump.scores[row] for row in few[0]} == pytest.approx(few[0])
    assert {row: looked_up.own[row] for row in few[2]} == pytest.approx(few[2])


def test_where_few_rows_share_words_all_rows_of_a_common_word_are_looked_up(pump_is_common: Engram) -> None:
    pump, _ = _looked_up(pump_is_common, "pump sprocket")
    assert not pump.meeting
    assert len(pump.scores) == 61


def test_days_have_no_words_that_a_common_word_could_meet(
    pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 10)
    app, parsed = pump_is_common, parse_query("pump sprocket")
    terms = planner.weigh(app.store, parsed.content_words, size=65)
    days = Term("last week", "", 1.0, 1, scores={9: 1.0}, looked_up=True)
    look_up(app.store, parsed, [*terms, days], totals(app.store), best=400)
    assert not terms[0].meeting


def test_a_small_project_is_asked_for_a_common_word_alone(
    pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 10)
    here = {kept(pump_is_common, f"The pump in the garden, {number}.", project="garden") for number in range(3)}
    found = pump_is_common.searches.search("pump sprocket", project="garden", floor=0.0)
    assert {hit.id for hit in found.results} == here


def test_a_common_word_that_stands_alone_here_is_not_only_known_elsewhere(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "COUNTED_ROWS", 40)
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 30)
    for number in range(60):
        kept(app, f"The pump {number}.", project="other")
    for number in range(35):
        kept(app, f"Sprocket {number}.", project="garden")

    def covered() -> str:
        found = app.searches.search("pump sprocket valve", project="garden", explain=True, floor=0.0)
        assert found.explain is not None
        return next(rung.why for rung in found.explain.rungs if rung.name == "floor")

    before = covered()
    kept(app, "A pump.", project="garden")
    assert covered() > before


def test_a_common_word_counts_in_a_row_that_only_its_neighbour_led_to(
    pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 10)
    monkeypatch.setattr(retrieval, "ENOUGH_HEADS", 10)
    both, beside = (
        kept(pump_is_common, f"The pump {text}", session="at the plant") for text in ("and its sprocket.", "is new.")
    )
    found = pump_is_common.searches.search("pump sprocket", explain=True, floor=0.0, limit=20)
    assert found.explain is not None
    assert both in [one.id for one in found.explain.hits]
    [behind] = [one for one in found.explain.hits if one.id == beside]
    assert behind.words == ("pump",)
    assert behind.bm25 > 0
    assert behind.coverage > 0


def test_a_common_word_meets_what_is_looked_up_later(pump_is_common: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "MEASURED_ROWS", 3)
    for number in range(5):
        kept(pump_is_common, f"A gasket, number {number}, for the pump.")
    store, query = pump_is_common.store, parse_query("pump gasket sprocket")
    pump, gasket, sprocket = planner.weigh(store, query.content_words, size=70)
    known, sprocket.rows = sprocket.rows, 0
    before = look_up(store, query, [pump, gasket, sprocket], totals(store), best=400)
    assert pump.meeting
    assert 2 not in pump.scores
    sprocket.rows = known
    look_up(store, query, [pump, gasket, sprocket], totals(store), best=400, before=before)
    assert pump.meeting
    assert pump.scores.keys() >= {2, 3, 4, 5, 6, 7}

"""A word is found however its letters are written: in every layer, and in a memory of an earlier version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.database import fts, soundness
from engram_py.base.text.words import derived_terms
from engram_py.interfaces.wording import render
from engram_py.recall.layers import SaidResults
from engram_py.upkeep.reindex import index_version, reindex_notes, renew_terms
from tests.recall.documents.conftest import sources, write
from tests.recall.searching import fill, ids

WORDS = [
    pytest.param("Βάση", "βαση", id="greek"),
    pytest.param("ёлка", "елка", id="russian"),
    pytest.param("подъёма", "подъема", id="a-longer-russian-word"),
    pytest.param("Straße", "strasse", id="german"),
    pytest.param("Ｗｅｂｈｏｏｋ", "webhook", id="full-width"),
    pytest.param("ｶﾞｲﾄﾞ", "ガイド", id="half-width"),
    pytest.param("ışıklar", "isiklar", id="turkish"),
    pytest.param("Łódź", "lodz", id="polish"),
    pytest.param("שָׁלוֹם", "שלום", id="hebrew"),
    pytest.param("ＧｅｔＵｓｅｒＮａｍｅ", "getusername", id="full-width-parts"),
]


@pytest.mark.parametrize(("written", "typed"), WORDS)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_word_is_found_in_a_memory_however_its_letters_are_written(
    app: Engram, written: str, typed: str, swapped: bool
) -> None:
    fill(app)
    kept, asked = (typed, written) if swapped else (written, typed)
    saved = app.save(Draft("Note", f"Here stands {kept} for good.")).id
    assert ids(app, asked) == [saved]
    assert ids(app, kept) == [saved]
    assert kept in render.text(app.search(asked), now=app.journal.moment(), door="cli")


@pytest.mark.parametrize("query", ['"βαση δεδομενων"', '"Βάση δεδομένων"', "δεδομένων -cable"])
def test_phrases_and_exclusions_have_these_letters_too(app: Engram, query: str) -> None:
    fill(app)
    saved = app.save(Draft("Note", "Η βάση δεδομένων είναι εδώ.")).id
    other = app.save(Draft("Cable", "The cable is here, but δεδομένων has no base.")).id
    assert ids(app, query) == [saved]
    assert saved not in ids(app, "here -βαση")
    assert other in ids(app, "cable -βαση")


def test_the_title_says_more_than_the_text_in_any_letters(app: Engram) -> None:
    fill(app)
    in_text = app.save(Draft("Διακομιστής", "Ένα κείμενο που λέει πολλά πράγματα και στο τέλος βάση.")).id
    titled = app.save(Draft("Βάση", "Ένα κείμενο που λέει πολλά πράγματα και στο τέλος λέξη.")).id
    for query in ("βαση", "βάση", "ΒΑΣΗ"):
        assert ids(app, query) == [titled, in_text]


@pytest.mark.parametrize("query", ["ｔｙｐｅ：ｄｅｃｉｓｉｏｎ　ｇａｔｅｗａｙ", "＃１"])
def test_a_query_typed_wide_means_the_same(app: Engram, query: str) -> None:
    saved = app.save(Draft("Gateway", "The gateway retries.", "decision")).id
    app.save(Draft("The gateway again", "The gateway stops.", "bugfix"))
    assert ids(app, query) == [saved]


@pytest.mark.parametrize(("written", "typed"), WORDS)
def test_what_was_said_is_found_so_too(app: Engram, written: str, typed: str) -> None:
    app.ingest("talk", [{"user": f"We need {written} here.", "assistant": "Yes."}], agent_id="a", flush=False)
    app.prompts.save(f"Why is {written} needed?", session_id="s-1")
    for layer in ("turns", "prompts"):
        results = app.search_in(layer, typed)
        assert isinstance(results, SaidResults)
        assert written in results.results[0].content


@pytest.mark.parametrize(("written", "typed"), WORDS)
def test_a_document_is_found_so_too(app: Engram, tmp_path: Path, written: str, typed: str) -> None:
    write(tmp_path / "notes", "one.md", f"# One\n\nHere stands {written} for good.\n")
    write(tmp_path / "notes", "two.md", "# Two\n\nNothing of it.\n")
    app.documents.add(str(tmp_path / "notes"))
    assert sources(app, typed) == ["notes/one.md:3"]


@pytest.mark.parametrize(
    ("name", "typed"), [("Βάση", "βαση"), ("Łódź", "lodz"), ("Lodz", "łódź"), ("Straße", "STRASSE")]
)
def test_an_entity_is_named_in_any_letters(app: Engram, name: str, typed: str) -> None:
    app.facts.add(name, "It is older than the gateway itself.")
    app.entities.describe(name, kind="service", aliases=["the old one"])
    app.facts.add(typed, "It answers on port 8443 for everyone.")
    assert [one.slug for one in app.entities.listed().entities] == [name.lower()]
    fact, _ = app.facts.of(name).items
    assert ids(app, f"which port has {typed}")[0] == getattr(fact, "id", 0)


# --- a memory of an earlier version -----------------------------------------------------------------------------------


def older(app: Engram) -> dict[str, Any]:
    """Take the folded words out of every row, as an earlier version left them."""
    with app.store.transaction():
        for table in ("observations", "user_prompts", "turns", "passages"):
            app.store.execute(f"update {table} set terms = ''")
    return {index.name: matching(app, index) for index in soundness.INDEXES}


def matching(app: Engram, index: soundness.Index) -> int:
    sql = f"select count(*) from {index.name} where {index.name} match 'βαση'"
    return int(app.store.value(sql))


@pytest.fixture
def greek(app: Engram, tmp_path: Path) -> Engram:
    for number in range(250):
        app.save(
            Draft(f"Note {number}", f"Η βάση {number} είναι εδώ." if number % 2 else f"The base {number} is here.")
        )
    app.prompts.save("Πού είναι η βάση;", session_id="s-1")
    app.ingest("talk", [{"user": "Η βάση είναι εδώ.", "assistant": "Ναι."}], agent_id="a", flush=False)
    write(tmp_path / "notes", "one.md", "# One\n\nΗ βάση είναι εδώ.\n")
    app.documents.add(str(tmp_path / "notes"))
    return app


def test_upkeep_derives_the_terms_of_an_earlier_version_again_once_and_the_indexes_follow(greek: Engram) -> None:
    assert set(older(greek).values()) == {0}
    mutations = greek.store.tuples("select * from sync_mutations order by 1")

    [done] = greek.maintenance.run("heartbeat").passes

    [step] = [one for one in done.steps if one.name == "terms"]
    assert step.counts == {"renewed": 128}
    assert [matching(greek, index) for index in soundness.INDEXES] == [125, 1, 1, 1]
    assert greek.store.tuples("select * from sync_mutations order by 1") == mutations
    assert reindex_notes(greek.store) == ()
    assert greek.doctor.examine().status == "ok"
    older(greek)
    [done] = greek.maintenance.run("heartbeat").passes
    assert next(one.counts for one in done.steps if one.name == "terms") == {}


def test_a_renewal_that_was_cut_off_goes_on_where_it_was(greek: Engram) -> None:
    older(greek)
    counted = 0
    for _ in range(6):
        counted += int(renew_terms(greek.store, until=0.0).get("renewed", 0))
    assert counted == 128
    assert [matching(greek, index) for index in soundness.INDEXES] == [125, 1, 1, 1]


def test_a_rebuild_of_all_indexes_has_the_words_too(greek: Engram) -> None:
    older(greek)
    greek.reindexing.run()
    assert [matching(greek, index) for index in soundness.INDEXES] == [125, 1, 1, 1]
    assert fts.unfinished(greek.store) == []
    assert index_version(greek.store)
    assert "βαση" in derived_terms("Βάση").split()

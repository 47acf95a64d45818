"""When a search finds, and when it is silent and says why; near spellings, who sees what, and other processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.config import Settings
from tests.memory import FakeClock
from tests.recall.searching import fill, ids, kept, silence

QUEUE = "The retry queue drains on restart because consumers acknowledge too early."


# --- silent, and why --------------------------------------------------------------------------------------------


def test_a_question_with_a_missing_word_still_finds(app: Engram) -> None:
    fill(app)
    saved = kept(app, QUEUE)
    assert ids(app, "why does the retry queue drain on fridays") == [saved]


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("How do I configure kubernetes ingress certificates?", id="every-word-unknown"),
        pytest.param("Which restart of kubernetes ingress renews certificates at midnight?", id="one-word-known"),
        pytest.param("¿Cómo se cocina la tortilla española?", id="spanish"),
        pytest.param("如何做红烧肉", id="chinese"),
    ],
)
def test_a_question_about_something_else_is_met_with_silence(app: Engram, question: str) -> None:
    fill(app)
    kept(app, QUEUE)
    assert silence(app, question).unknown


def test_beside_an_answer_what_shares_one_common_word_is_left_out(app: Engram) -> None:
    fill(app)
    saved = kept(app, QUEUE)
    assert ids(app, "what is there to know of the retry queue that drains on restart of consumers") == [saved]


def test_silence_names_the_words_this_memory_never_saw(app: Engram) -> None:
    fill(app)
    saved = kept(app, QUEUE, topic_key="queue/retry")
    found = silence(app, "Which restart of the kubernetes ingress renews the wildcard certificates at midnight?")
    assert found.unknown == ("kubernetes", "ingress", "renews", "wildcard", "certificates", "midnight")
    assert [one.id for one in found.nearest] == [saved]
    assert found.reason == "what has words of it is about other things"


def test_the_two_most_likely_of_what_is_not_likely_enough_are_named(app: Engram) -> None:
    fill(app)
    best = kept(app, QUEUE)
    next_best = kept(app, "The restart takes a minute.")
    kept(app, "The violins drain.")
    found = silence(
        app,
        "restart and retry of the kubernetes ingress whose wildcard certificates renewal at midnight upset a cluster",
    )
    assert [one.id for one in found.nearest] == [best, next_best]
    assert 0 < found.nearest[1].probability <= found.nearest[0].probability < 0.27
    assert found.nearest[0].words == ("restart", "retry")


def test_an_answer_that_may_well_be_about_something_else_says_that_it_is_unsure(app: Engram) -> None:
    fill(app)
    kept(app, QUEUE)
    assert not app.searches.search("when does the retry queue drain?").unsure
    half = app.searches.search("retry the kubernetes ingress with certificates", floor=0.0)
    assert half.results
    assert half.unsure


def test_a_summary_that_is_near_is_named_by_its_goal(app: Engram) -> None:
    fill(app)
    app.episodes.summarize("## Goal\nDrain the queue\n## Accomplished\nThe restart of it.", session_id="s-1")
    [near] = silence(app, "restart kubernetes ingress").nearest
    assert near.title == "Session summary: widgets. Drain the queue"


def test_other_projects_are_named_only_where_a_search_of_all_answers(app: Engram) -> None:
    fill(app)
    kept(app, "The line endings of the port.")
    kept(app, "A file is sent each night.", project="other")
    kept(app, "The authority answers in a day.", project="other")
    question = "encoding and endings of the file for the harbour authority"
    assert silence(app, question).elsewhere == ()
    kept(app, "The encoding of the file for the harbour authority is latin1.", project="other")
    assert silence(app, question).elsewhere == ("encoding", "file", "harbour", "authority")


def test_a_word_of_an_earlier_version_is_told_as_such(app: Engram) -> None:
    fill(app)
    saved = kept(app, "The PLC sends each telegram again.", title="Telegrams", topic_key="bug/telegrams")
    kept(app, "The gateway repeats each telegram.", title="Telegrams", topic_key="bug/telegrams")
    theirs = kept(app, "The stevedore waits.", topic_key="bug/lorry", project="other")
    kept(app, "The car waits.", topic_key="bug/lorry", project="other")

    found = silence(app, "plc kubernetes stevedore")
    assert [(one.word, one.id) for one in found.earlier] == [("plc", saved)]
    assert found.unknown == ("kubernetes", "stevedore")
    assert silence(app, "pl").earlier == ()
    assert [one.id for one in silence(app, "stevedore plc", all_projects=True).earlier] == [theirs, saved]
    app.observations.delete(saved)
    assert silence(app, "plc").earlier == ()


def test_the_addresses_and_times_of_a_pasted_log_do_not_silence_what_it_says(app: Engram) -> None:
    kept(app, "The pool hands out a connection twice when the worker restarts.", title="Pool deadlock")
    for number in range(30):
        kept(app, f"Chapter {number} of the handbook is about gardening.", title=f"Handbook {number}")
    log = " ".join(f"2026-03-04T10:{minute}:{minute}.123Z 0xe3d6{minute}b9" for minute in range(10, 30))
    found = app.searches.search(f"{log} pool deadlock: worker restarts, no connection")
    assert [hit.title for hit in found.results] == ["Pool deadlock"]
    assert app.searches.search("pool error 0x80070005 0x80070006 0x80070007").results == ()


def test_words_of_a_long_question_that_nobody_knows_speak_against_an_answer(app: Engram) -> None:
    kept(app, "Clients call /api/v2/ with a token.", title="Version two of the interface")
    found = app.searches.search(" ".join(f"v{number}" for number in range(1, 21)))
    assert found.results == ()
    assert found.silence is not None
    assert "v20" in found.silence.unknown


def test_what_is_left_out_on_purpose_is_said(app: Engram) -> None:
    kept(app, QUEUE)
    assert "left out: what has redis" in app.searches.search("retry queue -redis").warnings


def test_a_quoted_name_in_a_long_text_does_not_silence_it(app: Engram) -> None:
    saved = kept(
        app, "The deadlock of stock rows: lock them in the order of their bins.", title="Deadlock of stock rows"
    )
    fill(app)
    asked = 'ERROR deadlock detected while locking stock rows in relation "orders_line"'
    assert ids(app, asked) == [saved]


def test_a_long_log_is_read_by_what_it_says_and_not_by_its_times(app: Engram) -> None:
    kept(app, "The connection pool deadlocks when a worker restarts.", title="Pool deadlock")
    for number in range(40):
        kept(app, f"Backup {number} took {number} seconds at 10:{number}.", title=f"Backup {number}")
    log = " ".join(f"10:{number} {number * 7}ms {number:08x}" for number in range(10, 40))
    found = app.searches.search(f"{log} connection pool deadlocks worker restarts {log}")
    assert [hit.title for hit in found.results][:1] == ["Pool deadlock"]


def test_a_pasted_log_that_quotes_a_stop_word_and_has_options_is_read_as_words(app: Engram) -> None:
    saved = kept(app, "The linker needs rpath on BSD, or the loader misses librte.", title="Linker and rpath")
    fill(app)
    log = " ".join(f"0x{number:08x}" for number in range(30))
    assert ids(app, f'{log} cc -shared -rpath linker: the "in" keyword, loader misses librte') == [saved]


def test_two_known_words_in_two_memories_find_both(app: Engram) -> None:
    fill(app)
    one = kept(app, "The tariff is read when the app starts.", title="Tariffs are cached")
    other = kept(app, "Expo builds what is mobile.", title="Expo")
    assert sorted(ids(app, "mobile app")) == [one, other]


def test_an_answer_names_the_words_that_nobody_knows_and_a_pasted_log_does_not(app: Engram) -> None:
    fill(app)
    kept(app, QUEUE)
    assert app.searches.search("does the retry queue drain in darkness").unknown == ("darkness",)
    log = " ".join(f"unheard{letter}" for letter in "abcdefghijkl")
    assert app.searches.search(f"retry queue worker restart {log}", floor=0.0).unknown == ()


def test_an_id_that_nothing_has_is_told_as_an_id(app: Engram) -> None:
    fill(app)
    assert silence(app, "#9999").reason == "there is no memory #9999, or it was deleted"


def test_silence_about_unknown_words_only_says_so(app: Engram) -> None:
    kept(app, QUEUE)
    found = silence(app, "kubernetes")
    assert (found.reason, found.unknown, found.nearest) == (
        "no memory here has any of its words", ("kubernetes",), (),
    )  # fmt: skip


def test_an_empty_memory_is_silent(app: Engram) -> None:
    assert silence(app, "retry queue").unknown == ("retry", "queue")
    assert app.searches.search("retry queue").memories == 0


@pytest.mark.parametrize(("floor", "found"), [(0.0, True), (1.0, False), (-5.0, True), (9.0, False)])
def test_the_floor_says_how_much_of_a_question_an_answer_covers(app: Engram, floor: float, found: bool) -> None:
    fill(app)
    saved = kept(app, QUEUE)
    asked = ids(app, "restart of kubernetes ingress", floor=floor)
    assert (saved in asked) == found


def test_an_answer_says_nothing_of_silence(app: Engram) -> None:
    kept(app, QUEUE)
    assert app.searches.search("queue").silence is None


# --- near spellings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        pytest.param("pgbuoncer", "The pgbouncer pool.", id="exchanged"),
        pytest.param("pgbouncr", "The pgbouncer pool.", id="missing"),
        pytest.param("pgbouncerr", "The pgbouncer pool.", id="added"),
        pytest.param("pgbounser", "The pgbouncer pool.", id="changed"),
        pytest.param("pgbou", "The pgbouncer pool.", id="beginning"),
        pytest.param("databse", "The database.", id="a-stem-that-would-be-stemmed-again"),
        pytest.param("relase", "Release day.", id="another-one"),
        pytest.param("respones", "The response.", id="and-another"),
        pytest.param("polices", "Policies apply.", id="written-with-an-i"),
        pytest.param("зависвет", "Очередь зависает.", id="cyrillic"),
        pytest.param("ubersihct", "Übersicht der Zahlungen.", id="accents-and-two-slips"),
    ],
)
def test_a_misspelt_or_shortened_word_finds_what_it_means(app: Engram, typed: str, text: str) -> None:
    fill(app)
    saved = kept(app, text)
    found = app.searches.search(typed, explain=True)
    assert [hit.id for hit in found.results] == [saved]
    assert found.explain is not None
    [rung] = [rung for rung in found.explain.rungs if rung.name == "prefix and near spelling"]
    assert rung.why.startswith(f"read {typed} as ")


@pytest.mark.parametrize("typed", ["pgx", "redix-less", "xgbouncer", "pgbnoucre"])
def test_what_resembles_nothing_finds_nothing(app: Engram, typed: str) -> None:
    fill(app)
    kept(app, "The pgbouncer pool.")
    assert typed.split("-", maxsplit=1)[0] in silence(app, typed).unknown


def test_a_word_that_is_known_is_never_taken_for_another(app: Engram) -> None:
    fill(app)
    kept(app, "The pgbouncer pool.")
    saved = kept(app, "The pgbouncers of the club.", title="Pgbouncery")
    assert ids(app, "pgbouncery") == [saved]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("redis", "The redirect is red."),
        ("helm", "It is held back."),
        ("apple", "The application is applied."),
        ("proxy", "A pro wrote it."),
    ],
)
def test_a_short_word_is_not_read_as_what_its_stem_resembles(app: Engram, typed: str, text: str) -> None:
    fill(app)
    kept(app, text)
    assert silence(app, typed).unknown == (typed,)


def test_an_answer_says_which_word_it_read_as_another(app: Engram) -> None:
    fill(app)
    saved = kept(app, "The pgbouncer pool is full.")
    note = "no memory contains pgbuoncer; it was read as pgbouncer"

    assert app.searches.search("pgbuoncer pool").warnings == (note,)
    assert app.searches.search("pgbuoncer tulips -pool").warnings == ("left out: what has pool",)  # not found by it
    assert app.searches.search(f"#{saved}").warnings == ()


def test_a_day_on_which_only_others_changed_is_no_word_that_they_know(app: Engram, clock: FakeClock) -> None:
    fill(app)
    kept(app, "The pump was sealed yesterday.", project="gadgets")
    clock.advance(days=3)
    kept(app, "Terraform applies.")
    clock.advance(days=1)
    assert app.searches.search("pump yesterday", project="gadgets", floor=0.0).warnings == ("yesterday: 2026-03-04",)


def test_an_answer_says_which_words_only_other_projects_know(app: Engram) -> None:
    fill(app)
    saved = kept(app, "The pool is full: apply twice.", title="Apply", type="decision")
    kept(app, "Terraform applies.", project="gadgets")
    note = "only other projects know terraform; all_projects=True searches them"

    assert app.searches.search("terraform apply").warnings == (note,)
    assert app.searches.search("terraform apply", all_projects=True).warnings == ()
    assert note not in app.searches.search('terraform apply "is full"').warnings  # so may the quotes
    pasted = " ".join(f"qu{letter}rk" for letter in "abcdefghijklmn")
    assert note not in app.searches.search(f"terraform apply twice pool full {pasted}", floor=0.0).warnings
    filtered = app.searches.search("terraform apply type:decision")  # the filter may be what hides it
    assert ([hit.id for hit in filtered.results], filtered.warnings) == ([saved], ())


# --- who sees what ----------------------------------------------------------------------------------------------


def test_project_rows_are_seen_from_their_project_and_the_others_from_everywhere(app: Engram) -> None:
    fill(app)
    row = {
        (project, scope): kept(app, f"The {scope} queue of {project}.", project=project, scope=scope)
        for project in ("widgets", "gadgets")
        for scope in ("project", "personal", "global")
    }
    everywhere = {one for (_, scope), one in row.items() if scope != "project"}
    assert set(ids(app, "queue", limit=20)) == everywhere | {row["widgets", "project"]}
    assert set(ids(app, "queue", project="gadgets", limit=20)) == everywhere | {row["gadgets", "project"]}
    assert set(ids(app, "queue", all_projects=True, limit=20)) == set(row.values())
    for scope in ("personal", "global"):
        mine = {row[project, scope] for project in ("widgets", "gadgets")}
        assert set(ids(app, "queue", scope=scope)) == set(ids(app, f"queue scope:{scope}")) == mine


def test_words_that_only_another_project_knows_find_nothing_here(app: Engram) -> None:
    fill(app)
    kept(app, QUEUE, project="gadgets")
    found = silence(app, "retry queue drains")
    assert (found.nearest, found.filtered) == ((), 0)
    assert (found.elsewhere, found.reason) == (
        ("retry", "queue", "drains"), "no memory seen from here has any of its words",
    )  # fmt: skip


def test_the_words_that_only_other_projects_know_are_named_beside_a_common_one(app: Engram) -> None:
    fill(app)
    kept(app, "The sync of the tulips.")
    kept(app, "The kubernetes ingress.", project="gadgets")
    question = "sync of the kubernetes ingress certificates"
    found = silence(app, question)
    assert (found.elsewhere, found.unknown) == (("kubernetes", "ingress"), ("certificates",))
    assert silence(app, question, all_projects=True, floor=1).elsewhere == ()


def test_a_word_read_as_one_of_another_project_is_told_as_unknown(app: Engram) -> None:
    fill(app)
    kept(app, "It boots the motor.", title="Boot", project="gadgets")
    found = silence(app, "booting of drones")
    assert found.unknown == ("drones",)
    found = silence(app, "booking of drones")
    assert (found.elsewhere, found.unknown) == ((), ("booking", "drones"))
    assert found.reason == "no memory here has any of its words"


def test_one_word_of_another_project_beside_unknown_ones_sends_nobody_there(app: Engram) -> None:
    fill(app)
    kept(app, "The placement of the motor.", project="gadgets")
    found = silence(app, "gps antenna placement")
    assert (found.elsewhere, found.unknown) == ((), ("gps", "antenna"))
    assert found.reason == "no memory here has any of its words"
    assert silence(app, "gps antenna placement", all_projects=True)


def test_an_id_that_is_not_there_sends_nobody_to_a_number_of_another_project(app: Engram) -> None:
    gone = kept(app, "Nothing of note.")
    app.observations.delete(gone)
    kept(app, f"The limit is {gone}.", project="gadgets")
    for asked in (f"#{gone}", "#9999"):
        found = silence(app, asked)
        assert (found.elsewhere, found.unknown) == ((), ())
        assert found.reason == f"there is no memory {asked}, or it was deleted"


def test_a_filter_that_took_nothing_away_is_not_blamed_for_what_only_another_project_knows(app: Engram) -> None:
    fill(app)
    kept(app, "The kubernetes ingress.", project="gadgets")
    found = silence(app, "kubernetes ingress type:policy")
    assert (found.elsewhere, found.filtered) == (("kubernetes", "ingress"), 0)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param('"retry acknowledge"', "no memory here has its words as the quotes ask", id="quotes"),
        pytest.param("retry -queue", "no memory here has its words as the minus asks", id="minus"),
        pytest.param(
            '"retry drains" -early', "no memory here has its words as the quotes and the minus ask", id="both"
        ),
        pytest.param('"zebra crossing"', "no memory here has any of its words", id="unknown-in-quotes"),
        pytest.param("zebra -queue", "no memory here has any of its words", id="unknown-beside-a-minus"),
        pytest.param("type:note -queue", "nothing passes the filters without the words left out", id="filters"),
    ],
)
def test_quotes_and_minus_are_blamed_only_for_words_that_are_known(app: Engram, asked: str, reason: str) -> None:
    kept(app, QUEUE)
    found = silence(app, asked)
    assert (found.reason, found.marked) == (reason, "any of" not in reason)


def test_other_projects_are_offered_only_where_there_are_any(app: Engram) -> None:
    kept(app, QUEUE)
    assert not silence(app, "zebra").others
    kept(app, QUEUE, project="gizmos")
    assert silence(app, "zebra").others
    assert not silence(app, "zebra", all_projects=True).others


@pytest.mark.parametrize("asked", ["kubernetes type:policy", "kubernetes since:2099", '"kubernetes ingress" sync'])
def test_what_a_filter_or_a_phrase_hides_is_not_said_to_be_elsewhere(app: Engram, asked: str) -> None:
    fill(app)
    kept(app, "The kubernetes cluster.")
    kept(app, "The kubernetes ingress.", project="gadgets")
    assert silence(app, asked).elsewhere == ()


ASKED = "retry queue restart kubernetes ingress certificates renewal"  # of which the memory has three, and covers .39


@pytest.fixture
def covered(app: Engram) -> Engram:
    """Sixteen memories of widgets that answer a little less of ``ASKED`` than the floor."""
    fill(app)
    for name in ("mail", "print", "index", "image", "audit"):
        kept(app, f"The {name} queue drains on restart.")
    kept(app, QUEUE)
    return app


def foreign(app: Engram, count: int, text: str = "Oboes and pianos") -> None:
    for number in range(count):
        kept(app, f"{text}, part {number}.", title=f"Part {number}", project="gadgets")


@pytest.mark.parametrize("question", ["retry queue kubernetes ingress -gluons", '"retry queue" kubernetes ingress'])
def test_what_a_phrase_or_an_exclusion_hides_is_not_elsewhere(app: Engram, question: str) -> None:
    fill(app)
    saved = kept(app, QUEUE)
    kept(app, "The kubernetes ingress of gluons.")
    assert saved in ids(app, question)


# --- other processes --------------------------------------------------------------------------------------------

SEARCHING = """
import sys
from pathlib import Path
from engram_py import Engram
from engram_py.config import Settings
with Engram(settings=Settings(Path(sys.argv[1])), directory=Path(sys.argv[2])) as app:
    for _ in range(40):
        found = app.searches.search("retry queue drain databse -redis", explain=True)
        assert 1 <= len(found.results) <= 10, found
        app.searches.search("kubernetes ingress")
        app.searches.search("type:bugfix")
    app.usage.flush()
    print("done")
"""


def test_a_word_that_stands_far_behind_in_sight_is_no_unknown_word(app: Engram) -> None:
    filler = " ".join(f"filler{number}" for number in range(60))
    with app.store.transaction():
        for number in range(5):
            kept(app, f"gadget {number} {filler}")
        for number in range(200):
            kept(app, f"turbine turbine v{number}", title=f"turbine {number}")
        for number in range(150):  # newer, and of somebody else
            kept(app, f"gadget {number} {filler}", project="elsewhere")

    assert ids(app, "turbine gadget")


def test_two_processes_search_while_a_third_saves(app: Engram, data_dir: Path, folder: Path) -> None:
    fill(app)
    kept(app, QUEUE)
    command = [sys.executable, "-c", SEARCHING, str(data_dir), str(folder)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for number in range(60):
        kept(app, f"The retry queue and the database, part {number}.", title=f"Part {number}", type="bugfix")
    for other in others:
        out, err = other.communicate(timeout=120)
        assert (other.returncode, out.strip()) == (0, "done"), err


def test_a_search_sees_what_another_process_saved_just_now(app: Engram, data_dir: Path, folder: Path) -> None:
    fill(app)
    assert ids(app, "retry queue") == []
    with Engram(settings=Settings(data_dir), directory=folder) as other:
        saved = kept(other, QUEUE)
    assert ids(app, "retry queue") == [saved]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("the", id="one"),
        pytest.param("who is it", id="english"),
        pytest.param("¿qué es lo que hay?", id="spanish"),
        pytest.param("the -queue", id="and-an-excluded-word"),
    ],
)
def test_a_query_of_stop_words_alone_finds_nothing_and_says_that_nothing_was_looked_up(app: Engram, query: str) -> None:
    kept(app, "The pool is what it is, and who is it that has it? ¿Qué es lo que hay?")

    found = silence(app, query)

    assert found.reason == "no word of it says what to look for, so nothing was looked up"
    assert (found.unworded, found.unknown, found.nearest) == (True, (), ())


def test_quoted_stop_words_are_looked_for(app: Engram) -> None:
    saved = kept(app, "Of an alarm at night: who is it for?")
    kept(app, "It is what the pool is, and who waits for it.")
    assert ids(app, '"who is it"') == [saved]
    assert silence(app, '"who is she"').reason == "no memory here has its words as the quotes ask"
    assert ids(app, '"who is she" for what') == []


def test_a_topic_key_of_stop_words_is_found_by_it(app: Engram) -> None:
    saved = kept(app, "The pool waits.", topic_key="how/it-is")
    assert ids(app, "how/it-is") == [saved]


def test_a_question_framed_by_its_only_word_asks_for_that(app: Engram) -> None:
    fill(app)
    saved = kept(app, "We decided on Postgres.")
    assert ids(app, "what did we decide?") == [saved]


def test_a_question_in_another_language_is_told_to_ask_in_the_memorys(app: Engram) -> None:
    fill(app)
    assert silence(app, "¿dónde están las copias de seguridad?").foreign
    assert not silence(app, "where are the backups kept safe?").foreign


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("Las copias de la base están en el servidor de noche, según el plan.", False, id="its-own"),
        pytest.param("Wir haben die Preise und das Lager nicht im Griff.", False, id="another-foreign-one"),
        pytest.param("Why `del` and `de la` are names: the column is de, and la is its code.", True, id="a-few-words"),
    ],
)
def test_a_question_in_another_language_is_told_so_only_where_no_memory_is_in_one(
    app: Engram, text: str, said: bool
) -> None:
    fill(app)
    kept(app, text)
    kept(app, "Dónde están las llaves de la oficina: en el armario.", project="gizmos")
    assert silence(app, "¿dónde se compra la leche para los gatos?").foreign is said
    assert silence(app, "¿dónde se compra la leche para los gatos?", type="policy").foreign is said


@pytest.mark.parametrize("asked", ["¿dónde están las copias de seguridad?", "where are the backups kept safe?"])
def test_only_a_question_in_another_language_without_an_answer_has_memories_read_for_theirs(
    app: Engram, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(app)
    kept(app, "Las copias de seguridad: dónde están? En el servidor.")
    monkeypatch.setattr("engram_py.recall.no_results._is_foreign_here", lambda *_: pytest.fail("it was asked"))
    app.searches.search(asked)


def test_a_dutch_question_is_held_to_what_it_asks_about_alone(app: Engram) -> None:
    fill(app)
    saved = kept(app, "Op vrijdag na twaalf uur wordt niets uitgerold; uitrollen kan weer op maandag.")
    assert ids(app, "mag ik vrijdag uitrollen") == [saved]
    assert silence(app, "waar komt het model vandaan?").unknown == ("model",)

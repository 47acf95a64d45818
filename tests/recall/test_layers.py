"""Searching episodes, turns and prompts (shared/spec/seed-capabilities.md section 4, rows 61 and 103), and files."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError
from engram_py.base.reasons import reason
from engram_py.interfaces.wording import render
from engram_py.memory.observations.values import Change
from engram_py.memory.sessions.values import Said
from engram_py.recall.layers import ALIASES, ALL, LAYERS, Layered, SaidResults
from engram_py.recall.substitutes import file_words
from engram_py.recall.values import Results
from tests.recall.searching import fill, ids, kept, silence
from tests.support import FakeClock

PORTS = "I said that the ports 4173 and 8443 stay open for the gateway."


@pytest.fixture
def talked(app: Engram, clock: FakeClock) -> Engram:
    """A memory of two conversations, a prompt, and a decision."""
    app.save(Draft("Chose nginx", "The gateway is nginx.", "decision"))
    app.ingest("old", [{"user": "Paint the whale blue.", "assistant": "Painted."}], agent_id="a", flush=False,
               session_date="2026-01-05")  # fmt: skip
    app.ingest("talk", [{"user": PORTS, "assistant": "The gateway keeps both of them. getUserById stays."},
                        {"user": "And which tests do we have?", "assistant": "Forty."}], agent_id="a")  # fmt: skip
    app.prompts.save("How do I restart the whale worker?", session_id="prompted")
    return app


def said(app: Engram, layer: str, query: str, **wanted: str) -> SaidResults:
    results = app.search_in(layer, query, **wanted)
    assert isinstance(results, SaidResults)
    return results


def found(app: Engram, layer: str, query: str) -> list[str]:
    return [one.content for one in said(app, layer, query).results]


def test_row_103_what_was_only_said_is_found_in_turns_and_not_in_memories(talked: Engram) -> None:
    assert found(talked, "turns", "painted") == ["Painted.", "Paint the whale blue."]
    for layer in ("memories", "episodes", None):
        results = talked.search_in(layer, "painted")
        assert isinstance(results, Results)
        assert not results.results
    assert not talked.search("painted").results


def test_episodes_are_the_summaries_of_sessions_and_prompts_what_hooks_kept_of_the_person(talked: Engram) -> None:
    results = talked.search_in("episodes", "gateway")
    assert isinstance(results, Results)
    assert [(hit.type, hit.topic_key) for hit in results.results] == [("session_summary", "session/talk")]
    assert found(talked, "prompts", "whale") == ["How do I restart the whale worker?"]
    assert found(talked, "turns", "whale") == ["Paint the whale blue."]


def test_all_has_every_layer_under_its_name(talked: Engram) -> None:
    results = talked.search_in(ALL, "gateway")
    assert isinstance(results, Layered)
    assert {name: len(one.results) for name, one in results.layers.items()} == {
        "memories": 2, "episodes": 1, "turns": 2, "prompts": 0, "documents": 0, "entities": 0,
    }  # fmt: skip
    text = render.text(results, now=talked.journal.moment(), door="python")
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Memories", "## Episodes", "## Turns"]
    assert text.endswith("Nothing in prompts, documents and entities.")


def test_a_search_of_all_layers_that_finds_nothing_says_so_once(talked: Engram) -> None:
    text = render.text(talked.search_in(ALL, "zirconium"), now=talked.journal.moment(), door="cli")
    assert text.startswith('In every layer: Nothing found for "zirconium"')
    assert text.count("Nothing found") == 1
    assert "## " not in text


def test_row_98_what_only_archived_memories_have_is_pointed_to(app: Engram) -> None:
    row = app.save(Draft("Chose ZeroMQ", "ZeroMQ for the bus.", "decision"))
    app.observations.update(row.id, Change(archived=True))

    found = app.search("zeromq")
    assert found.silence is not None
    assert found.silence.reason == reason("only_archived")
    said = render.text(found, now=app.journal.moment(), door="cli")
    assert "Only archived memories have these words. Next: add is:archived." in said
    assert [hit.id for hit in app.search("zeromq is:archived").results] == [row.id]


@pytest.mark.parametrize(("name", "layer"), ALIASES.items())
def test_the_names_of_osaurus_mean_ours(talked: Engram, name: str, layer: str) -> None:
    assert render.to_json(talked.search_in(name, "gateway"), door="python") == render.to_json(
        talked.search_in(layer, "gateway"), door="python"
    )


def test_a_layer_that_is_none_is_refused_with_those_there_are(talked: Engram) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        talked.search_in("documents2", "gateway")
    assert all(name in refused.value.hint for name in (*LAYERS, ALL))
    with pytest.raises(EmptyQueryError):
        talked.search_in("turns", "  ")


def test_the_hit_says_who_said_it_when_and_where(talked: Engram) -> None:
    results = said(talked, "turns", "what exactly did I say about ports?")
    [one] = results.results
    assert (one.session_id, one.role, one.project, one.content) == ("talk", "user", "widgets", PORTS)
    text = render.text(results, now=talked.journal.moment(), door="python")
    assert f"talk user, 2026-03-01 (now):\n  {PORTS}" in text


def test_a_long_turn_is_shown_by_the_passage_that_has_the_words(app: Engram) -> None:
    text = f"{'Nothing of interest here. ' * 100}The narwhal is in the basement. {'Nothing more. ' * 100}"
    app.ingest("long", [{"role": "user", "content": text}])

    results = said(app, "turns", "narwhal")
    [one] = results.results
    assert "The narwhal is in the basement." in one.content
    assert (len(one.content) < 600, one.truncated) == (True, True)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("whale since:2026-02-01", 0), ("whale until:2026-02-01", 1), ("whale project:other", 0), ('"whale blue"', 1),
        ('"blue whale"', 0), ("whale -blue", 0), ("user by id", 1), ("ports nowhere unheard", 1),
    ],
)  # fmt: skip
def test_filters_phrases_and_parts_of_names_hold_for_turns_too(talked: Engram, query: str, hits: int) -> None:
    assert len(found(talked, "turns", query)) == hits


def test_what_says_nothing_of_turns_is_left_out_and_said(talked: Engram) -> None:
    results = said(talked, "turns", "whale type:bugfix", scope="personal")
    assert len(results.results) == 1
    assert reason("idle_arguments", arguments=("scope", "type:bugfix"), layer="turns") in results.warnings


def test_row_61_a_question_for_ones_own_words_is_answered_from_turns_and_prompts(talked: Engram) -> None:
    context = talked.contexts.assemble(query="what exactly did I say about ports")
    assert context.section == "transcript"
    [said] = context.items("transcript")
    assert isinstance(said, Said)
    assert said.content == PORTS

    context = talked.contexts.assemble(query="what did I say about the whale?")
    assert {one.layer for one in context.items("transcript") if isinstance(one, Said)} == {"turns", "prompts"}


def test_what_a_hook_kept_twice_is_given_once(app: Engram) -> None:
    app.prompts.save(PORTS, session_id="talk")
    app.ingest("talk", [{"user": PORTS, "assistant": "Ok."}])

    assert len(app.contexts.assemble(query="what exactly did I say about ports").items("transcript")) == 1


def test_turns_that_are_destroyed_are_found_no_more_nor_left_in_the_file(app: Engram) -> None:
    app.ingest("c", [{"user": "The narwhal is in the basement.", "assistant": "Ok."}])
    app.clearing.clear("turns")

    assert found(app, "turns", "narwhal") == []
    files = [path.read_bytes() for path in app.store.path.parent.glob("engram.db*")]
    assert not any(b"narwhal" in one for one in files)
    assert all(check.result == "ok" for check in app.doctor.examine(check="search_index").checks)


FILE = "deploy/docker-compose.yml"


@pytest.fixture
def about(app: Engram) -> int:
    """A memory about a file, which its text does not name, beside others."""
    fill(app)
    return kept(app, "It must run with noeviction, or holds vanish.", title="Redis", files=(FILE,))


@pytest.mark.parametrize("query", [
    FILE, "docker-compose.yml", "./deploy/docker-compose.yml:3-7", "deploy\\docker-compose.yml",
    "what did we learn about `docker-compose.yml`?",
])  # fmt: skip
def test_the_name_of_a_file_finds_what_is_about_it(app: Engram, about: int, query: str) -> None:
    found = app.searches.search(query)
    assert [hit.id for hit in found.results] == [about]
    assert found.unknown == ()


def test_what_is_about_a_file_stands_before_what_has_the_words_of_its_name(app: Engram, about: int) -> None:
    naming = kept(app, "Ports are listed in docker-compose.yml.", title="Ports")
    worded = kept(app, "The docker compose plugin is needed.", title="Docker compose")
    assert ids(app, "docker-compose.yml") == [about, naming, worded]


def test_the_other_words_of_a_question_choose_among_what_is_about_a_file(app: Engram, about: int) -> None:
    other = kept(app, "The wallet passes have a queue of their own.", title="Wallet", files=(FILE,))
    assert ids(app, "wallet queue docker-compose.yml")[0] == other
    assert ids(app, "noeviction docker-compose.yml")[0] == about


@pytest.mark.parametrize(
    "query",
    ["docker-compose.yml -noeviction", '"docker-compose.yml"', "docker-compose.yml type:decision"],
)
def test_what_is_about_a_file_is_held_to_what_the_query_asks(app: Engram, about: int, query: str) -> None:
    assert ids(app, query) == []


def test_what_is_about_a_file_of_another_project_is_not_shown(app: Engram) -> None:
    fill(app)
    theirs = kept(app, "It must run with noeviction.", title="Redis", project="gadgets", files=(FILE,))
    assert ids(app, "docker-compose.yml") == []
    assert ids(app, "docker-compose.yml", all_projects=True) == [theirs]


def test_a_name_that_no_memory_is_about_is_words(app: Engram, about: int) -> None:
    assert set(silence(app, "e.g. node.js").unknown) >= {"js"}
    worded = kept(app, "The node for builds runs js.", title="Builds")
    assert ids(app, "node.js") == [worded]


@pytest.fixture
def below(app: Engram) -> int:
    """A memory that has a word in the folders of a path alone, beside others."""
    fill(app)
    return kept(app, "Totals are rounded once. **Where**: backend/src/main/kotlin/shop/Fares.kt", title="Rounding")


@pytest.mark.parametrize(
    "query",
    ["src/main/kotlin upgrade", "what is in main/kotlin/ here", "file:backend/src/main/kotlin kotlin", "kotlin"],
)
def test_folders_count_where_a_path_is_typed(app: Engram, below: int, query: str) -> None:
    assert ids(app, query) == [below]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("why does tasks/mailer.py:12 retry?", ["tasks/mailer.py"]),
        ("(see `./src/App.tsx`, please).", ["src/App.tsx"]),
        ("src\\auth.py and src/", ["src/auth.py"]),
        ("a.py a.py b.py c.py d.py e.py", ["a.py", "b.py", "c.py", "d.py"]),
        ("node.js, e.g.", ["node.js", "e.g"]),
        ("Is it 3.5 or 10 %? https://a.example/b.py src/*.py src/ / // ... -", []),
        ("", []),
        ("a/" * 4_000, []),
    ],
)
def test_a_path_or_a_name_with_an_extension_may_be_a_file(text: str, words: list[str]) -> None:
    assert list(file_words(text)) == words

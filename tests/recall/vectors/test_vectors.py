"""Vectors beside the memory: computed after the writes, found by meaning, and never in anybody's way."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.database.backup import restore
from engram_py.base.database.mutation_queue import set_meta
from engram_py.base.database.store import Store
from engram_py.base.reasons import reason
from engram_py.base.settings import Settings, following, keep_setting
from engram_py.guidance.context.values import Context
from engram_py.memory.observations.values import Change, Observation
from engram_py.recall.contradictions import Conflicts, ask_by_meaning
from engram_py.recall.documents.documents import Documents
from engram_py.recall.fusion import weighted_sum
from engram_py.recall.vectors import table
from engram_py.recall.vectors.holder import Nearby
from engram_py.recall.vectors.values import EmbedderFailedError, Nearest
from engram_py.recall.vectors.vectors import Vectors
from tests.embedders import SETTING, TinyEmbedder
from tests.memory.anchors.repositories import Repo
from tests.support import FakeClock, Git, Opener, RepoMaker, draft

LOGIN = "Access tokens last fifteen minutes. The gateway refreshes them without asking the user to log in again."
QUEUE = "Jobs wait in the queue until a worker takes them. A job that fails three times is set aside for a person."


@pytest.fixture
def tiny() -> TinyEmbedder:
    return TinyEmbedder()


def vectors_of(app: Engram, tiny: TinyEmbedder, *, setting: str = SETTING) -> Vectors:
    return Vectors(app.store, app.settings.clock, embedder=setting, load=tiny.load)


@pytest.fixture
def vectors(app: Engram, tiny: TinyEmbedder) -> Vectors:
    return vectors_of(app, tiny)


@pytest.fixture
def kept(app: Engram, vectors: Vectors) -> int:
    """An observation about logins that has its vectors."""
    row = save(app, LOGIN)
    vectors.compute()
    return row


def save(app: Engram, content: str, *, title: str = "Note", **more: Any) -> int:
    return app.save(draft(content, title=title, **more)).id


def found(vectors: Vectors, text: str, **more: Any) -> list[int]:
    near = vectors.nearest(text, **more)
    assert near.note is None
    return [key for key, _ in near.hits]


def test_a_process_that_stays_takes_the_embedder_that_is_set_meanwhile(app: Engram, tiny: TinyEmbedder) -> None:
    login = save(app, LOGIN)
    folder = app.settings.data_dir
    vectors = Vectors(app.store, app.settings.clock, load=tiny.load, follow=following(folder, "embedder"))
    try:
        assert not vectors.enabled
        keep_setting(folder, "embedder", SETTING)
        assert vectors.enabled
        until = time.monotonic() + 10
        while vectors.state().done < 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert found(vectors, "refreshing the accessed tokenization") == [login]
        keep_setting(folder, "embedder", "")
        assert not vectors.enabled
    finally:
        vectors.close()


def test_the_nearest_in_meaning_comes_first_whatever_its_words(app: Engram, vectors: Vectors) -> None:
    queue, login = save(app, QUEUE, title="Work queue"), save(app, LOGIN, title="Tokens")
    vectors.compute()
    assert found(vectors, "refreshing the accessed tokenization") == [login, queue]
    assert found(vectors, "queueing and failing jobs", limit=1) == [queue]


def test_how_near_other_observations_are_is_told_when_asked_for(app: Engram, vectors: Vectors) -> None:
    ids = [save(app, f"{QUEUE} Number {number}.", title=f"Queue {number}") for number in range(5)]
    login = save(app, LOGIN)
    vectors.compute()
    near = vectors.nearest("failing jobs in a queue", limit=2, also=[login, 999])
    assert login in dict(near.hits)
    assert len(near.hits) == 3
    assert near.population == len(ids) + 1
    assert near.deviation > 0


def test_a_search_of_a_project_sees_its_own_rows_and_what_is_shared(open_memory: Opener, tiny: TinyEmbedder) -> None:
    app = open_memory()
    own = save(app, LOGIN)
    other = app.save(draft(LOGIN + " Here too."), project="gadgets").id
    personal = app.save(draft(LOGIN + " For me.", scope="personal"), project="gadgets").id
    vectors = vectors_of(app, tiny)
    vectors.compute()
    assert set(found(vectors, "tokens", within=("widgets",))) == {own, personal}
    assert set(found(vectors, "tokens", within=("gadgets",))) == {other, personal}
    assert set(found(vectors, "tokens")) == {own, other, personal}
    assert found(vectors, "tokens", within=("nowhere",)) == [personal]


def test_whoever_decides_what_is_seen_narrows_what_is_found(app: Engram, vectors: Vectors) -> None:
    decision = save(app, LOGIN, type="decision")
    save(app, LOGIN + " Broken.", type="bugfix")
    vectors.compute()
    assert found(vectors, "tokens", sees=lambda ids: {decision} & set(ids)) == [decision]


def test_a_project_larger_than_what_is_picked_out_is_searched_all_the_same(
    app: Engram, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.recall.vectors.index._SMALL_PROJECT", 3)
    ids = {save(app, f"{QUEUE} Number {number}.") for number in range(6)}
    app.save(draft(QUEUE), project="gadgets")
    vectors.compute()
    assert set(found(vectors, "queue", within=("widgets",))) == ids


def test_what_few_may_see_is_found_behind_the_first_thousand(
    app: Engram, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.recall.vectors.index.NEAREST", 4)
    for number in range(30):
        save(app, f"{LOGIN} Number {number}.", title=f"Tokens {number}")
    far = save(app, QUEUE)
    vectors.compute()
    assert found(vectors, "tokens that last", sees=lambda ids: {far} & set(ids)) == [far]


OTHERS = (
    "Money is kept as whole cents", "Letters are rendered by a worker", "Nightly export from the replica",
    "Forms are checked on the server", "Uploads failed behind the proxy", "Screen readers skip our date picker",
    "Calendar was slow with many visits", "Health data never leaves Europe", "Doctors may share one address",
    "Reminder messages went out twice", "Soft deletion for ten years", "Feature switches in the database",
)  # fmt: skip


def test_a_scan_asks_about_what_says_the_same_thing_in_other_words(
    app: Engram, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.recall.contradictions.FEW", 10)
    for title in OTHERS:
        save(app, "So it is.", title=title)
    old = save(app, "Signed.", title="Authenticating certificates")
    new = save(app, "No longer.", title="Authentications certified")
    vectors.compute()
    scanner = Conflicts(app.store, app.journal, app.projects, vectors)

    assert scanner.scan(apply=True).inserted == 1

    [asked] = app.relations.pending()
    assert {asked.source_observation, asked.target_observation} == {old, new}
    assert scanner.scan().already_related == 1


def test_what_is_saved_is_compared_by_meaning_once_its_vectors_are_there(
    app: Engram, tiny: TinyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.recall.contradictions.FEW", 10)

    def ask(store: Store, ids: Sequence[int]) -> Sequence[tuple[int, int]]:
        return ask_by_meaning(store, app.journal, comparing, ids)

    comparing: Vectors = Vectors(app.store, app.settings.clock, embedder=SETTING, load=tiny.load, ask=ask)
    for title in OTHERS:
        save(app, "So it is.", title=title)
    old = save(app, "Signed.", title="Authenticating certificates")
    assert comparing.compute().warnings == ()
    new = save(app, "No longer.", title="Authentications certified")

    assert comparing.compute().warnings == (reason("may_contradict", new=new, old=old),)

    [asked] = app.relations.pending()
    assert (asked.source_observation, asked.target_observation) == (new, old)
    assert [(note.label, note.id) for note in app.get(new).relations] == [("contested", old)]
    app.observations.update(new, Change(content="No longer at all."))
    assert comparing.compute().warnings == (), "a pair is asked about once"
    app.relations.judge(asked.sync_id, "not_conflict")
    assert app.get(new).relations == ()


def test_an_import_is_compared_with_nothing(app: Engram, tiny: TinyEmbedder) -> None:
    asked: list[Sequence[int]] = []

    def ask(store: Store, ids: Sequence[int]) -> Sequence[tuple[int, int]]:
        asked.append(ids)
        return ()

    vectors = Vectors(app.store, app.settings.clock, embedder=SETTING, load=tiny.load, ask=ask)
    for number in range(21):
        save(app, f"Text {number}.", title=f"Number {number}")
    vectors.compute()
    last = save(app, "One more.", title="Number 21")
    vectors.compute()
    assert asked == [(last,)]


def test_row_131_a_weighted_sum_joins_words_and_vectors_where_it_is_set(tmp_path: Path, tiny: TinyEmbedder) -> None:
    with Engram(tmp_path, directory=tmp_path, settings=Settings(data_dir=tmp_path, fusion="weighted")) as app:
        login, queue = save(app, LOGIN, title="Tokens"), save(app, QUEUE, title="Work queue")
        explained = app.searches.search("refreshing tokens", explain=True).explain
        assert explained is not None
        assert all(step.name != "vectors" for step in explained.rungs)
        app.__dict__.pop("searches")
        app.__dict__["vectors"] = vectors = vectors_of(app, tiny)
        vectors.compute()

        found = app.searches.search("refreshing the tokens of a queue", explain=True)

        assert [hit.id for hit in found.results] == [login, queue]
        assert found.explain is not None
        [step] = [step for step in found.explain.rungs if step.name == "vectors"]
        assert step.why == reason("weighted_sum", vectors=0.7, words=0.3)


def test_a_weighted_sum_takes_seven_tenths_of_the_cosine() -> None:
    near = Nearest(((1, 0.5), (3, 0.4)), population=3)
    found = dict(weighted_sum([(1, 1.0), (2, 3.0)], near))
    assert list(found) == [1, 3, 2]
    assert found == pytest.approx({1: 0.7 * 0.5 + 0.3 * 0.5, 3: 0.7 * 0.4, 2: 0.3 * 0.75})


@pytest.mark.parametrize(
    ("prompts", "lane"),
    [
        pytest.param(["¿por qué falla el login?", "añade una prueba para el parser", "borra las tablas de la cola"],
                     "multilingual", id="spanish"),
        pytest.param(["登录为什么失败", "给解析器加一个测试", "删除队列的表"], "multilingual", id="chinese"),
        pytest.param(["почему не работает вход?", "добавь тест для парсера", "что это за таблица?"],
                     "multilingual", id="russian"),
        pytest.param(["why does the login fail?", "add a test of the parser", "¿por qué falla el login?"],
                     "sentence", id="mostly-english"),
        pytest.param(["¿por qué falla el login?"], "sentence", id="too-few"),
        pytest.param([], "sentence", id="none"),
    ],
)  # fmt: skip
def test_the_lane_that_fits_reads_the_language_of_the_latest_prompts(
    app: Engram, tiny: TinyEmbedder, prompts: list[str], lane: str
) -> None:
    for prompt in prompts:
        app.prompts.save(prompt)
    states = {name: vectors_of(app, tiny, setting=name).state() for name in ("", "sentence", "multilingual")}
    assert {state.fitting for state in states.values()} == {lane}
    assert [name for name, state in states.items() if state.misfits] == ["sentence"] * (lane == "multilingual")


def test_what_a_query_excludes_does_not_come_back_by_its_meaning(app: Engram, vectors: Vectors) -> None:
    app.__dict__["vectors"] = vectors
    gateway = save(app, LOGIN, title="Tokens of the gateway")
    plain = save(app, "Access tokens of the web shop last an hour, then somebody has to log in.", title="Tokens")
    vectors.compute()
    assert {hit.id for hit in app.searches.search("access tokens").results} == {gateway, plain}
    assert [hit.id for hit in app.searches.search("access tokens -gateway").results] == [plain]


# --- kept true ---------------------------------------------------------------------------------------------


def test_a_text_that_changes_is_computed_again_and_one_that_does_not_is_not(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder
) -> None:
    changed, same = save(app, LOGIN), save(app, QUEUE)
    vectors.compute()
    tiny.embedded.clear()
    app.observations.update(changed, Change(content=QUEUE + " Rewritten."))
    app.observations.pin(same)
    state = vectors.state()
    assert (state.done, state.observations) == (1, 2)

    done = vectors.compute()

    assert (done.observations, tiny.embedded) == (1, [f"Note: {QUEUE} Rewritten."])
    assert found(vectors, "worker takes jobs of the queue")[0] in (changed, same)
    assert table.count_pending(app.store, table.MEMORIES, 1, same) == 0


def test_a_text_that_was_changed_back_is_not_computed_again(
    app: Engram, vectors: Vectors, kept: int, tiny: TinyEmbedder
) -> None:
    tiny.embedded.clear()
    app.observations.update(kept, Change(content=QUEUE))
    app.observations.update(kept, Change(content=LOGIN))
    assert vectors.compute().observations == 0
    assert tiny.embedded == []
    assert vectors.state().done == 1


def test_a_text_that_changes_while_it_is_computed_is_computed_once_more(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder
) -> None:
    row = save(app, LOGIN)
    changed: list[str] = []

    def change(text: str) -> None:
        if LOGIN in text and not changed:
            changed.append(text)
            app.observations.update(row, Change(content=QUEUE))

    tiny.refuses = change
    vectors.compute()
    assert tiny.embedded[-1] == f"Note: {QUEUE}"
    assert vectors.state().done == 1


@pytest.mark.parametrize("computed", ["before", "after"])
def test_a_deleted_observation_is_not_found_and_comes_back_with_its_vector(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder, computed: str
) -> None:
    row, other = save(app, LOGIN), save(app, QUEUE)
    if computed == "before":
        vectors.compute()
    app.observations.delete(row)
    vectors.compute()
    assert ([text for text in tiny.embedded if LOGIN in text] == []) is (computed == "after")
    assert found(vectors, "tokens") == [other]
    with app.store.transaction():
        app.store.update("observations", {"id": row}, {"deleted_at": None})
    vectors.compute()
    assert found(vectors, "tokens that last")[0] == row
    app.observations.delete(row, hard=True)
    assert app.store.value("select count(*) from observation_vectors where observation_id = :id", id=row) == 0
    assert found(vectors, "tokens that last") == [other]


def test_an_export_holds_no_vector(app: Engram, vectors: Vectors, tmp_path: Path) -> None:
    save(app, LOGIN)
    before = app.transfer.export(tmp_path / "before.json").bytes
    vectors.compute()
    after = app.transfer.export(tmp_path / "after.json").bytes
    assert after == before
    queued = {row[0] for row in app.store.rows("select distinct entity from sync_mutations")}
    assert queued == {"observation", "session", "project"}


def test_another_model_under_the_same_name_has_its_vectors_computed_anew(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder, clock: FakeClock
) -> None:
    ids = [save(app, LOGIN), save(app, QUEUE)]
    vectors.compute()
    for other in (TinyEmbedder(seed=7), TinyEmbedder(dimension=40)):
        again = vectors_of(app, other)
        near = again.nearest("tokens")
        assert "run `engram vectors on`" in str(near.note)
        assert again.compute().observations == len(ids)
        assert set(found(again, "tokens that last")) == set(ids)
        assert again.state().dimension == other.dimension
        assert again.state().others == ()


def test_two_settings_share_a_file_and_what_no_setting_used_for_a_week_is_deleted(
    app: Engram, tiny: TinyEmbedder, clock: FakeClock
) -> None:
    row = save(app, LOGIN)
    first = vectors_of(app, tiny, setting="openai:http://127.0.0.1:1/v1#first")
    second = vectors_of(app, TinyEmbedder(dimension=40), setting="openai:http://127.0.0.1:1/v1#second")
    first.compute()
    second.compute()
    assert found(first, "tokens") == found(second, "tokens") == [row]
    assert second.state().others == ("openai:http://127.0.0.1:1/v1#first",)

    clock.advance(days=8)
    save(app, QUEUE)
    vectors_of(app, TinyEmbedder(dimension=40), setting="openai:http://127.0.0.1:1/v1#second").compute()

    assert second.state().others == ()
    sizes = app.store.rows("select distinct length(vectors) from observation_vectors")
    assert [row[0] for row in sizes] == [40]


def test_vectors_can_be_deleted_and_computed_again(app: Engram, vectors: Vectors, kept: int) -> None:
    assert vectors.turned_off(delete=True).deleted == 1
    assert vectors.state().bytes == 0
    assert "nothing was computed yet" in str(vectors.nearest("tokens").note)
    vectors.compute()
    assert found(vectors, "tokens") == [kept]


def test_a_file_that_was_replaced_is_read_anew(
    app: Engram, vectors: Vectors, tmp_path: Path, data_dir: Path, clock: FakeClock
) -> None:
    kept = save(app, LOGIN)
    vectors.compute()
    copy = app.backups.create(tmp_path / "copy.db").path
    save(app, QUEUE)
    vectors.compute()
    assert len(found(vectors, "tokens")) == 2
    restore(data_dir, Path(copy), clock=clock)
    assert found(vectors, "tokens") == [kept]
    assert vectors.nearest("tokens").population == 1


# --- failing -----------------------------------------------------------------------------------------------


def down(text: str) -> EmbedderFailedError:
    return EmbedderFailedError(SETTING, "connection refused", hint="is it running?")


def test_a_model_that_fails_breaks_neither_a_save_nor_a_search_and_the_note_says_why(
    app: Engram, vectors: Vectors, kept: int, tiny: TinyEmbedder
) -> None:
    tiny.refuses = down
    save(app, QUEUE)
    near = vectors.nearest("tokens")
    assert near.hits == ()
    assert all(part in str(near.note) for part in (SETTING, "connection refused", "is it running?"))
    with pytest.raises(EmbedderFailedError):
        vectors.compute()
    tiny.refuses = lambda text: None
    assert vectors.compute().observations == 1


def test_after_a_failure_searches_do_without_for_a_while_instead_of_waiting_each(
    app: Engram, vectors: Vectors, kept: int, tiny: TinyEmbedder
) -> None:
    asked: list[str] = []

    def fail(text: str) -> EmbedderFailedError:
        asked.append(text)
        return down(text)

    tiny.refuses = fail
    assert [vectors.nearest(f"question {number}").note is None for number in range(5)] == [False] * 5
    assert asked == ["question 0"]


def test_one_text_that_the_model_refuses_holds_up_no_other(app: Engram, vectors: Vectors, tiny: TinyEmbedder) -> None:
    good, bad, last = save(app, LOGIN), save(app, "POISON for the tokenizer."), save(app, QUEUE)
    tiny.refuses = lambda text: down(text) if "POISON" in text else None
    assert vectors.compute().observations == 3
    assert set(found(vectors, "anything at all")) == {good, last}
    tiny.refuses = lambda text: None
    assert vectors.compute().observations == 1
    assert set(found(vectors, "anything at all")) == {good, bad, last}


def test_a_vector_of_nothing_is_kept_as_none(app: Engram, vectors: Vectors, kept: int) -> None:
    with app.store.transaction():
        app.store.execute("update observation_vectors set vectors = x''")
    fresh = vectors_of(app, TinyEmbedder())
    assert found(fresh, "tokens") == []
    assert fresh.compute().observations == 1
    assert found(fresh, "tokens") == [kept]


@pytest.mark.parametrize(
    "text", ["", "   ", "\0", "\ud800\udfff tokens", "?" * 1_000_000, "\u202etokens", "🙂" * 5_000, "the"]
)
def test_any_question_is_answered_or_left_alone(app: Engram, vectors: Vectors, kept: int, text: str) -> None:
    assert vectors.nearest(text).note is None


def test_without_an_embedder_nothing_is_done_and_nothing_imported(app: Engram) -> None:
    save(app, LOGIN)
    off = Vectors(app.store, app.settings.clock)
    off.start()
    assert not off.enabled
    assert off.nearest("tokens") == off.nearest("")
    assert off.nearest("tokens").hits == ()
    with pytest.raises(EmbedderFailedError, match="none is set"):
        off.compute()
    assert app.store.value("select count(*) from embedders") == 0


# --- in the background --------------------------------------------------------------------------------------


@pytest.fixture
def opened(data_dir: Path, folder: Path) -> Iterator[Engram]:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        yield app


@pytest.fixture
def running(opened: Engram, tiny: TinyEmbedder) -> Iterator[Vectors]:
    """Vectors that are computed in the background; to end them twice does no harm."""
    vectors = vectors_of(opened, tiny)
    vectors.start()
    yield vectors
    vectors.close()
    vectors.close()


def test_a_server_computes_after_each_write_its_own_and_that_of_others(opened: Engram, running: Vectors) -> None:
    first = save(opened, LOGIN)
    _until(lambda: running.state().done == 1)
    assert found(running, "tokens") == [first]
    second = save(opened, QUEUE)
    _until(lambda: running.state().done == 2)
    assert set(found(running, "queue")) == {first, second}


@pytest.fixture
def telling(opened: Engram, tiny: TinyEmbedder) -> Iterator[Vectors]:
    """A server with a model that reads, which other processes may ask; it knows a dozen queues and one login."""
    for number in range(12):
        save(opened, f"{QUEUE} Number {number}.", title=f"Queue {number}")
    save(opened, LOGIN, title="Tokens")
    vectors = vectors_of(opened, tiny, setting="sentence")
    vectors.start()
    _until(lambda: vectors.state().done == 13)
    yield vectors
    vectors.close()


unix_alone = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets with a path")


@unix_alone
def test_a_process_without_a_model_is_told_by_a_running_server_what_is_near(opened: Engram, telling: Vectors) -> None:
    nearby = Nearby(opened.settings.data_dir, seconds=10)

    near = nearby.nearest("refreshing the accessed tokenization", limit=5)

    assert near.hits == telling.nearest("refreshing the accessed tokenization", limit=5).hits
    assert near.deviations() == telling.nearest("refreshing the accessed tokenization", limit=5).deviations()
    login = near.hits[0][0]
    assert nearby.nearest("tokens", sees=lambda ids: {row for row in ids if row != login}).hits[0][0] != login
    telling.close()
    assert not nearby.is_there
    assert nearby.nearest("tokens") == Nearest()


@unix_alone
def test_a_prompt_in_other_words_is_pointed_to_a_memory_while_a_server_runs(
    opened: Engram, telling: Vectors, folder: Path
) -> None:
    def shown() -> Context | None:
        with Engram(settings=Settings(opened.settings.data_dir), directory=folder) as hook:
            return hook.prompt_gate.gated("detokenized gatewayaccess asking relogins userless", "s-1").shown

    spoken = shown()
    telling.close()

    assert spoken is not None
    assert [item.title for item in spoken.sections[-1].items if isinstance(item, Observation)] == ["Tokens"]
    assert shown() is None


@unix_alone
def test_a_prompt_does_not_wait_for_a_server_that_is_at_work(
    opened: Engram, telling: Vectors, tiny: TinyEmbedder
) -> None:
    released = threading.Event()

    def hold(text: str) -> None:
        released.wait(60)

    tiny.refuses = hold
    begun = time.monotonic()

    assert Nearby(opened.settings.data_dir).nearest("a question nobody asked before") == Nearest()

    assert time.monotonic() - begun < 5
    released.set()


def test_a_server_whose_model_fails_tries_again_and_saves_meanwhile(
    opened: Engram, running: Vectors, tiny: TinyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram_py.recall.vectors.computing._FIRST_REST_SECONDS", 0.01)
    tiny.refuses = down
    save(opened, LOGIN)
    assert running.state().done == 0
    tiny.refuses = lambda text: None
    _until(lambda: running.state().done == 1)


def test_a_save_does_not_wait_for_a_model_that_is_at_work(opened: Engram, running: Vectors, tiny: TinyEmbedder) -> None:
    at_work, released = threading.Event(), threading.Event()

    def hold(text: str) -> None:
        if LOGIN in text:
            at_work.set()
            assert released.wait(60)

    tiny.refuses = hold
    try:
        save(opened, LOGIN)
        assert at_work.wait(60)
        assert save(opened, QUEUE)
        assert opened.search("queue worker").results[0].snippet == QUEUE
        assert running.nearest("queue").hits == ()
    finally:
        released.set()


def hold_lease(app: Engram, until: str) -> None:
    """As another process would."""
    [embedder] = table.embedders(app.store)
    with app.store.transaction():
        set_meta(app.store, f"lease:vectors {embedder['id']}", f"another {until}")


@pytest.mark.usefixtures("kept")
def test_while_one_process_computes_another_leaves_it_to_that(app: Engram, vectors: Vectors, clock: FakeClock) -> None:
    save(app, QUEUE)
    hold_lease(app, "2026-03-01T10:03:00.000Z")
    done = vectors.compute()
    assert done.observations == 0
    assert done.warnings == (reason("vectors_elsewhere"),)
    hold_lease(app, "2031-03-01T10:03:00.000Z")  # by a clock that was set back since
    assert vectors.compute().observations == 1
    save(app, LOGIN + " Again.")
    hold_lease(app, "2026-03-01T10:03:00.000Z")
    clock.advance(minutes=4)
    assert vectors.compute().observations == 1


def _until(condition: Any) -> None:
    """Look again whenever the machine has had a moment; the test's own time limit ends it."""
    moment = threading.Event()
    while not condition():
        moment.wait(0.01)


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "login.md").write_text(f"# Login\n\n{LOGIN}\n", encoding="utf-8")
    (root / "queue.md").write_text(f"# Queue\n\n{QUEUE}\n", encoding="utf-8")
    for number, name in enumerate(("Billing", "Printers", "Holidays", "Lunch")):
        (root / f"{name}.md").write_text(f"# {name}\n\nOur {name} plan, {number} pages.\n", encoding="utf-8")
    return root


def test_a_document_is_found_in_other_words_than_its_own(app: Engram, vectors: Vectors, handbook: Path) -> None:
    documents = Documents(app.core, lambda: vectors)
    documents.add(str(handbook))
    question = "retokenizing, reaccessing, regateways"
    assert documents.search(question).results == ()
    done = vectors.compute()
    assert (done.observations, done.documents, done.state.documents_done, done.state.lacking) == (0, 6, 6, 0)
    assert documents.search(question).results[0].source.startswith("notes/login.md")


def test_a_document_that_changed_is_computed_anew_and_one_that_is_gone_is_not_found(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder, handbook: Path
) -> None:
    documents = Documents(app.core, lambda: vectors)
    documents.add(str(handbook))
    vectors.compute()
    tiny.embedded.clear()
    (handbook / "queue.md").write_text(f"# Queue\n\n{LOGIN} Rewritten.\n", encoding="utf-8")
    (handbook / "login.md").unlink()
    documents.update("notes")
    assert vectors.pending() == (0, 1)
    assert vectors.compute().documents == 1
    assert tiny.embedded == [f"Queue: {LOGIN} Rewritten."]
    found = documents.search("refreshing the accessed tokenization").results
    assert [hit.source for hit in found] == ["notes/queue.md:3"]


def test_another_model_computes_the_documents_that_were_there_before(
    app: Engram, vectors: Vectors, tiny: TinyEmbedder, handbook: Path
) -> None:
    documents = Documents(app.core, lambda: vectors)
    documents.add(str(handbook))
    vectors.compute()
    other = vectors_of(app, TinyEmbedder(seed=1), setting="model2vec:other/model")
    assert other.compute().documents == 6
    other.turned_off(delete=True)
    assert app.store.value("select count(*) from passage_vectors") == 0


def test_commits_have_no_vectors(app: Engram, vectors: Vectors, make_repo: RepoMaker, git: Git) -> None:
    repo = Repo(make_repo("work/widgets"), git)
    repo.commit("Retry uploads\n\nThe provider answers 409 to a second upload.", {"a.py": ["a = 1"]})
    with Engram(app.settings.data_dir, directory=repo.root) as here:
        assert here.documents.update("git").items
        assert here.store.value("select count(*) from passages") == 1
        assert vectors.compute().documents == 0

"""Finding: which rows answer, in which order, within which limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError, InvalidTextError
from engram_py.base.reasons import reason
from engram_py.interfaces.wording.reasons import spelled
from tests.recall.searching import fill, ids, kept, silence
from tests.support import FakeClock, Opener, draft


def test_a_topic_key_finds_its_observation_first(app: Engram) -> None:
    app.save(draft("auth tokens auth tokens auth tokens", title="Auth tokens"))
    saved = app.save(draft("Fifteen minutes.", title="Lifetime", topic_key="auth/tokens"))
    for spelling in ("auth/tokens", "Auth/Tokens", " auth//tokens "):
        found = app.search(spelling)
        assert (found.results[0].id, found.rung, found.results[0].score) == (saved.id, "exact", 1.0)
    assert len(found.results) == 2


def test_an_id_answers_with_just_its_observation(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes."))
    app.save(draft(f"It replaces {saved.id} and others.", title="Other"))
    found = app.search(f" #{saved.id} ")
    assert ([hit.id for hit in found.results], found.rung, found.results[0].score) == ([saved.id], "exact", 1.0)
    assert ids(app, f"[#{saved.id}]") == [saved.id]


def test_an_id_that_nothing_has_is_a_number_to_look_for(app: Engram) -> None:
    saved = kept(app, "Fifteen minutes.")
    other = kept(app, f"It replaces {saved} and others.", title="Other")
    app.observations.delete(saved)
    assert ids(app, f"#{saved}") == [other]
    assert ids(app, "#999999999999999999") == ids(app, "#0") == []


def test_one_missing_word_never_empties_the_answer(app: Engram) -> None:
    saved = app.save(draft("The retry queue drains on restart.", title="Queue"))
    for question in (
        "why does the retry queue drain on fridays in kubernetes",
        "why does the retry queue drain on fridays",
    ):
        assert ids(app, question) == [saved.id]


def test_asked_for_all_words_first_a_text_with_every_word_comes_before_one_that_repeats_some(app: Engram) -> None:
    fill(app)
    kept(app, "The queue, the queue, the queue.", title="Queue queue queue")
    both = kept(app, f"{'A long text about other things. ' * 60} The queue. {'And so on. ' * 40} A worker.")
    kept(app, "Every worker rests.", title="Worker")
    kept(app, "Workers and workers.", title="Workers")
    assert ids(app, "worker queue", match_mode="all")[0] == both


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_note_comes_before_a_long_text_that_says_the_same_among_other_things(app: Engram, mode: str) -> None:
    fill(app)
    for number in range(6):
        kept(app, f"Every worker rests {number}.", title=f"Rest {number}")
        kept(app, f"A queue of cars {number}.", title=f"Cars {number}")
    said = "The worker of the queue met a deadlock after the upgrade. The fix was to take the lock first."
    other = "Another thing was said about the weather in town. " * 25
    note = kept(app, said, title="Incident")
    kept(app, f"{other}{said} {other}", title="Log")
    assert ids(app, "queue worker deadlock", match_mode=mode)[0] == note


def test_of_two_long_texts_the_one_whose_words_stand_together_comes_first(app: Engram) -> None:
    fill(app)
    filler = "A long text about other things. " * 40
    together = kept(app, f"{filler} The worker of the queue met a deadlock. {filler} {filler}", type="passive")
    kept(app, f"The worker. {filler} A queue. {filler} A deadlock. The worker again. {filler}", type="passive")
    kept(app, f"{filler} {filler} The worker. {filler}", type="passive")
    assert ids(app, "queue worker deadlock fridays", match_mode="any")[0] == together


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        pytest.param("getUserById fails", ["getUserById", "user", "get_user_by_id", "userById fail"], id="camel"),
        pytest.param("parseHTTPResponse", ["http response", "parse-http-response", "httpResponse"], id="acronym"),
        pytest.param("MAX_RETRY_COUNT", ["retry", "maxRetryCount", "max-retry-count", "MAX_RETRY_COUNT"], id="snake"),
        pytest.param("rate-limit-window", ["rateLimit", "window", "rate_limit_window", "ratelimitwindow"], id="kebab"),
        pytest.param("src/auth/token_store.py", ["token_store.py", "auth store", "tokenStore"], id="path"),
        pytest.param("os.path.realpath", ["realpath", "os.path"], id="dotted"),
        pytest.param("Zahlungsübersicht prüfen", ["zahlungsubersicht", "PRÜFEN", "prufen"], id="umlaut"),
        pytest.param("café crème", ["cafe creme", "CAFÉ", "cafe\u0301"], id="accents"),
        pytest.param("用户登录失败时重试三次", ["登录失败", "用户", "重试", "三次"], id="chinese"),
        pytest.param("再試行キューを確認する", ["再試行", "キュー", "確認"], id="japanese"),
        pytest.param("로그인 실패를 확인", ["로그인", "실패"], id="korean"),
        pytest.param("ระบบล็อกอินล้มเหลว พื้นที่จัดเก็บ", ["ล็อกอิน", "ล้มเหลว", "พื้นที่"], id="thai"),
        pytest.param(normalize("NFD", "로그인 데이터 データ"), ["로그인", "데이터", "データ"], id="from-a-mac"),
        pytest.param("Очередь повторов зависает", ["очередь", "ПОВТОРОВ", "очередь зависает"], id="cyrillic"),
        pytest.param("انتهت صلاحية الرمز", ["صلاحية", "الرمز"], id="arabic"),
        pytest.param("retried the deployments", ["retry deployment", "retries", "DEPLOYMENT"], id="stems"),
    ],
)
def test_words_are_found_by_their_parts_and_in_any_script(app: Engram, text: str, queries: list[str]) -> None:
    kept(app, "Nothing of the kind 其他 другое.", title="Other")
    saved = kept(app, text)
    assert {query: ids(app, query) for query in queries} == {key: [saved] for key in queries}


def test_a_word_of_the_title_outranks_the_same_word_of_the_text(app: Engram) -> None:
    in_title = app.save(draft("Something about other things altogether.", title="Postgres", type="passive"))
    in_text = app.save(draft("Something with postgres in it altogether.", title="Backend", type="passive"))
    assert ids(app, "postgres") == [in_title.id, in_text.id]


def test_a_project_without_memory_says_so_and_names_the_similar_ones(app: Engram) -> None:
    app.save(draft("The queue drains."))
    for found in (app.search("queue", project="widgetz"), app.search("queue project:widgetz")):
        assert found.results == ()
        assert any(
            '"widgetz" has no memory yet' in warning and "widgets" in warning
            for warning in (spelled(told, "cli") for told in found.warnings)
        )


@pytest.mark.parametrize(("limit", "count", "said"), [
    (0, 1, True), (-3, 1, True), (1, 1, False), (20, 20, False), (21, 20, True), (10_000, 20, True), (2**70, 20, True),
])  # fmt: skip
def test_a_limit_is_held_between_one_and_twenty_and_said(app: Engram, limit: int, count: int, said: bool) -> None:
    for number in range(25):
        app.save(draft(f"queue {number}"))
    found = app.search("queue", limit=limit)
    assert len(found.results) == count
    assert any("limit" in warning for warning in map(str, found.warnings)) == said


def test_ten_are_answered_unless_the_project_says_otherwise(folder: Path, open_memory: Opener) -> None:
    app = open_memory()
    for number in range(25):
        app.save(draft(f"queue {number}"))
    assert len(app.search("queue").results) == 10
    (folder / ".engram.json").write_text('{"budgets": {"search_limit": 3}}', encoding="utf-8")
    assert len(open_memory().search("queue").results) == 3


def test_equal_rows_have_one_order_the_newest_first(app: Engram, clock: FakeClock, open_memory: Opener) -> None:
    saved = []
    for number in range(12):
        saved.append(kept(app, "The queue drains.", session=f"session-{number}", topic_key=f"queue/{number}"))
        clock.advance(minutes=16)
    assert ids(app, "queue", limit=20) == saved[::-1]
    assert ids(app, "drains", limit=5) == saved[::-1][:5]
    assert ids(open_memory(), "queue", limit=20) == saved[::-1]


def test_a_hit_shows_enough_to_choose_by(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("word " * 1_000 + "needle " + "word " * 1_000, type="decision", topic_key="auth/tokens"))
    app.observations.pin(saved.id)
    [hit] = app.search("needle").results
    assert (hit.sync_id, hit.title, hit.type, hit.project) == (saved.sync_id, "Token lifetime", "decision", "widgets")
    assert (hit.scope, hit.topic_key, hit.pinned, hit.state) == ("project", "auth/tokens", True, "active")
    assert (hit.created_at, hit.review_after) == ("2026-03-01T10:00:00.000Z", "2026-09-01T10:00:00.000Z")
    assert "needle" in hit.snippet
    assert hit.truncated
    assert len(hit.snippet) <= 2_400


def test_the_passages_of_one_answer_share_its_budget_and_the_best_gets_the_most(app: Engram) -> None:
    filler = "Nobody knows what else there is to say of all of this. " * 60
    best = app.save(draft(f"{filler}Retrying consumers acknowledge late. {filler}", title="Retrying consumers")).id
    for number in range(6):
        app.save(draft(f"{filler}The consumers of plant {number} grew. {filler}", title=f"Plant {number}"))
    hits = app.search("retrying consumers acknowledge", match_mode="any").results

    assert hits[0].id == best
    assert "Retrying consumers acknowledge late." in hits[0].snippet
    assert len(hits[0].snippet) > 2 * max(len(hit.snippet) for hit in hits[1:])
    assert 1_500 < sum(len(hit.snippet) for hit in hits) < 2_400
    assert all(hit.truncated for hit in hits)


def test_behind_the_fifth_what_is_half_as_good_as_the_best_is_left_out(app: Engram) -> None:
    app.save(draft("The consumers retry with backoff and jitter, then acknowledge.", title="Consumers acknowledge"))
    for number in range(9):
        app.save(draft(f"The consumers of field {number} acknowledge {number * 'and grow '}.", title=f"Field {number}"))

    assert len(app.search("consumers acknowledge retry backoff jitter", limit=20).results) == 5
    assert len(app.search("consumers acknowledge", limit=20).results) == 10


@pytest.mark.parametrize(
    ("filters", "refusal"),
    [
        pytest.param({"scope": "team"}, InvalidArgumentError, id="scope"),
        pytest.param({"match_mode": "fuzzy"}, InvalidArgumentError, id="mode"),
        pytest.param({"type": "\ud800"}, InvalidTextError, id="type"),
        pytest.param({"session_id": "\ud800"}, InvalidTextError, id="session"),
    ],
)
def test_a_filter_nobody_knows_is_refused(app: Engram, filters: dict[str, Any], refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        app.search("queue", **filters)


@pytest.mark.parametrize("query", ["", "  ", "\n\t", "\u3000"])
def test_a_blank_query_is_refused(app: Engram, query: str) -> None:
    with pytest.raises(EmptyQueryError):
        app.search(query)


@pytest.mark.parametrize("query", ['"', '""""', "***", "( ) - : ^", "\0", "🎉🎉", "\u202e\u200f", "\ud800"])
def test_a_query_without_a_word_finds_nothing_and_says_why(app: Engram, query: str) -> None:
    app.save(draft("The queue drains."))
    found = silence(app, query)
    assert (found.reason, found.unknown) == (reason("no_word"), ())


@pytest.mark.parametrize(
    "query",
    [
        pytest.param('queue AND OR NOT NEAR("x" y, 5) {title}: ^', id="operators"),
        pytest.param("title:queue", id="column"),
        pytest.param("queue*", id="prefix"),
        pytest.param('"queue', id="unbalanced-quote"),
        pytest.param("'queue' -- ; drop table observations", id="sql"),
        pytest.param("queue\0 \ufeff \x07", id="control"),
        pytest.param("queue \ud800\udfff", id="surrogates"),
        pytest.param("🎉 queue 👩‍👩‍👧", id="emoji"),
        pytest.param("\u202equeue\u202c شكرا", id="right-to-left"),
    ],
)
def test_any_text_with_a_known_word_finds_it(app: Engram, query: str) -> None:
    fill(app)
    saved = kept(app, "The queue drains. It drops x, y and table observations near title.")
    assert ids(app, query) == [saved]


def test_what_others_saved_is_counted_at_once(app: Engram, open_memory: Opener) -> None:
    other = open_memory()
    for number in range(1, 4):
        (app if number % 2 else other).save(Draft(f"Pump {number}", f"The pump number {number} drips."))
        assert (app.search("pump").memories, other.search("pump").memories) == (number, number)
    app.observations.delete(1)
    assert (app.search("pump").memories, other.search("pump").memories) == (2, 2)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("argon2", "Passwords are hashed with argon2id."),
        ("why argon2id?", "Passwords are hashed with argon2."),
        ("почему зависла очередь повторных задач при перезапусках", "Очереди повторов зависают после перезапуска."),
    ],
)
def test_a_name_with_a_digit_finds_the_name_that_goes_on_and_a_russian_word_its_other_cases(
    app: Engram, question: str, text: str
) -> None:
    fill(app)
    saved = kept(app, text)
    assert ids(app, question) == [saved]


def test_another_number_is_another_thing(app: Engram) -> None:
    fill(app)
    kept(app, "The route goes over port8080 and mlx50.")
    assert ids(app, "port80") == ids(app, "mlx5") == []


def test_an_empty_memory_is_silent(app: Engram) -> None:
    assert silence(app, "retry queue").unknown == ("retry", "queue")
    assert app.searches.search("retry queue").memories == 0

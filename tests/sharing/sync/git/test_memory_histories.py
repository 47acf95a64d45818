"""Readable memories, chunks and direct exchange between the same machines come to the same, whatever people do by hand
and in whatever order git brings it."""

from __future__ import annotations

import os
import random
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Change
from engram_py.sharing.sync.git.memory_file import MemoryFileError, merge, parse
from engram_py.sharing.sync.git.memory_folder import joined_lines
from tests.sharing.sync.git.conftest import Member, run_git

# `make histories` asks for 2,000; a run of everything takes a look at fewer.
EXAMPLES = int(os.environ.get("ENGRAM_HISTORY_EXAMPLES", "2"))
STEPS = 14

_PICK = st.integers(0, 20)
_TEXTS = st.sampled_from(
    ["wal because of locks", "retry\n\n---\nthe lock", "cache: stale\n# heading\ntail ", "ünïcode 漢字"]
)
_BY_HAND = st.sampled_from(["edit", "retitle", "rename", "remove", "begin", "crlf"])
_TITLES = st.sampled_from(["Use WAL", "Retry the lock", 'Quote "it": yes', "キャッシュ"])
_TOPICS = st.sampled_from([None, None, "db/wal", "db/lock"])
_START = datetime(2026, 1, 1, tzinfo=UTC)


class TextFolders(RuleBasedStateMachine):
    """Two or three people with clones of one repository. Each history is played in real git, and the same one comes to
    the same ids and dates again."""

    origin: Path
    empty: Path
    ids = random.Random(0)

    @initialize(people=st.integers(2, 3), driver=st.booleans())
    def start(self, people: int, driver: bool) -> None:
        self.folder = self.empty.parent / "history"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.driver, self.minutes = driver, 0
        TextFolders.ids = random.Random(people)
        bare = shutil.copytree(self.origin, self.folder / "widgets.git")
        self.people = [self._joined(f"p{place}", bare) for place in range(people)]
        self.written: dict[str, str] = {}

    def _joined(self, name: str, bare: Path) -> Member:
        root = self.folder / name / "widgets"
        run_git(
            self.folder, "clone", "-q", "-c", f"user.name={name}", "-c", f"user.email={name}@x", str(bare), str(root)
        )
        data = self.folder / name / "data"
        data.mkdir(mode=0o700)
        shutil.copyfile(self.empty, data / self.empty.name)
        return Member(name, root, Engram(settings=Settings(data, clock=self._now), directory=root, agent=name))

    def _now(self) -> datetime:
        self.minutes += 1
        now = _START + timedelta(minutes=self.minutes)
        os.environ["GIT_AUTHOR_DATE"] = os.environ["GIT_COMMITTER_DATE"] = f"{now:%Y-%m-%dT%H:%M:%S} +0000"
        return now

    # --- what people do ----------------------------------------------------------------------------------

    @rule(at=_PICK, title=_TITLES, text=_TEXTS, topic=_TOPICS)
    def save(self, at: int, title: str, text: str, topic: str | None) -> None:
        text = f"{text} {len(self.written)}"
        done = self._at(at).app.save(Draft(title, text, "decision", topic_key=topic))
        self.written[text.strip()] = done.sync_id

    @rule(at=_PICK, which=_PICK, text=_TEXTS)
    def change(self, at: int, which: int, text: str) -> None:
        member = self._at(at)
        rows = member.app.store.rows("select id, sync_id from observations where deleted_at is null order by sync_id")
        if rows:
            text = f"{text} {len(self.written)}"
            row = rows[which % len(rows)]
            member.app.observations.update(row["id"], Change(content=text))
            self.written[text.strip()] = row["sync_id"]

    @rule(at=_PICK, which=_PICK)
    def delete(self, at: int, which: int) -> None:
        member = self._at(at)
        rows = member.app.store.rows("select id from observations where deleted_at is null order by sync_id")
        if rows:
            member.app.observations.delete(rows[which % len(rows)]["id"])

    @rule(
        at=_PICK,
        which=_PICK,
        what=_BY_HAND,
        text=_TEXTS,
    )
    def by_hand(self, at: int, which: int, what: str, text: str) -> None:
        member, files = self._at(at), self._files(self._at(at))
        text = f"{text} {len(self.written)}"
        if what == "begin":
            path = member.root / ".engram" / "memories" / f"note-{which % 3}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Begun {which % 3}\n\n{text}\n", encoding="utf-8")
        elif files:
            path = files[which % len(files)]
            _edited(path, what, text)

    @rule(at=_PICK, hand=st.booleans())
    def share(self, at: int, hand: bool) -> None:
        """Sync, commit, and exchange with the others; ``hand``: what was edited is committed before it is synced."""
        member = self._at(at)
        if hand:
            self._commit(member)
        self._exchange(member)

    @rule(at=_PICK, to=_PICK)
    def tell(self, at: int, to: int) -> None:
        """Exchange directly, as through a server."""
        self._tell(self._at(at), self._at(to))

    @rule(at=_PICK)
    def pack(self, at: int) -> None:
        """Write chunks as well."""
        self._at(at).sync.sync(format="chunks")

    # --- what they rely on --------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            self._check()
        finally:
            for member in self.people:
                member.app.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check(self) -> None:
        before: set[str] = set()
        for _ in range(8):
            for member in self.people:
                self._exchange(member)
            heads = {member.git("rev-parse", "HEAD") for member in self.people}
            if len(heads) == 1 and heads == before:  # what somebody trusts now is written the next time
                break
            before = heads
        texts = [self._memory(member) for member in self.people]
        for text in texts[1:]:
            assert text == texts[0], "by the files alone"
        for member in self.people:
            read = member.sync.sync(format="text").memories_read
            assert read is None or read.refused == ()
            done = member.sync.sync(format="text").memories_written
            assert done is None or (done.written, done.removed) == ((), ()), "who is in step writes nothing"
            said = {parse(path.read_bytes(), path.name).content for path in self._files(member)}
            # Of two memories of one topic one stands behind the other: both have a file.
            sql = "select content from observations where deleted_at is null or folded_into is not null"
            assert said == {row[0] for row in member.app.store.tuples(sql)}
        for one in self.people:
            for other in self.people:
                self._tell(one, other)
        for one in self.people:
            for other in self.people:
                self._tell(one, other)
        assert len({member.app.replica.digest(projects=["widgets"]).value for member in self.people}) == 1
        self._nothing_lost()

    def _nothing_lost(self) -> None:
        """Every text that a memory ever acknowledged is there, or among the older ones of its memory."""
        store = self.people[0].app.store
        kept = {row[0].strip() for row in store.tuples("select content from observations")}
        kept |= {row[0].strip() for row in store.tuples("select content from observation_versions")}
        assert set(self.written) <= kept, set(self.written) - kept

    # --- the parts ----------------------------------------------------------------------------------------

    def _at(self, at: int) -> Member:
        return self.people[at % len(self.people)]

    def _files(self, member: Member) -> list[Path]:
        return sorted((member.root / ".engram" / "memories").glob("*.md"))

    def _trust(self, member: Member) -> None:
        """Everybody trusts everybody: what others say of a topic takes the place of one's own."""
        sources = [row[0] for row in member.app.store.tuples("select distinct source from arrivals")]
        projects = [row[0] for row in member.app.store.tuples("select name from projects")]
        member.app.trust.source(*(one for one in sources if not one.endswith("/branch")), projects=projects)

    def _memory(self, member: Member) -> list[tuple[Any, ...]]:
        sql = (
            "select title, content, type, topic_key from observations where deleted_at is null order by content, title"
        )
        return [tuple(row) for row in member.app.store.tuples(sql)]

    def _commit(self, member: Member) -> None:
        self._now()
        if run_git(member.root, "status", "--porcelain"):
            run_git(member.root, "add", "-A")
            run_git(member.root, "commit", "-q", "-m", f"by {member.name}")

    def _exchange(self, member: Member) -> None:
        member.sync.sync(format="text")
        self._commit(member)
        run_git(member.root, "fetch", "-q")
        self._merge(member)
        member.sync.sync(format="text")
        self._trust(member)
        self._commit(member)
        run_git(member.root, "push", "-q", "origin", "HEAD")

    def _merge(self, member: Member) -> None:
        """Merge what others pushed; of each conflict a person takes one side, or the driver joins both."""
        try:
            run_git(member.root, "merge", "-q", "--no-edit", "origin/main")
            return
        except AssertionError:
            names = run_git(member.root, "diff", "--name-only", "--diff-filter=U").splitlines()
        for name in names:
            self._resolve(member, name)
        run_git(member.root, "add", "-A")
        self._now()
        run_git(member.root, "commit", "-q", "--no-edit")

    def _resolve(self, member: Member, name: str) -> None:
        stages = {}
        for number in (1, 2, 3):
            try:
                stages[number] = (run_git(member.root, "show", f":{number}:{name}") + "\n").encode()
            except AssertionError:
                continue
        if 2 in stages and 3 in stages:
            joined = self._driven(member, stages)
            (member.root / name).write_bytes(joined or stages[random.Random(self.minutes).choice((2, 3))])

    def _driven(self, member: Member, stages: dict[int, bytes]) -> bytes | None:
        if not self.driver:
            return None
        return merge(stages.get(1, b""), stages[2], stages[3], partial(joined_lines, member.root))

    def _tell(self, one: Member, other: Member) -> None:
        for source, target in ((one, other), (other, one)):
            rows = source.app.replica.changes(max_rows=10_000).mutations
            target.app.replica.apply(rows, source=f"cloud:{source.name}")
            self._trust(target)


def _random_bytes(size: int) -> bytes:
    return TextFolders.ids.randbytes(size)  # each history begins its own


def _edited(path: Path, what: str, text: str) -> None:
    data = path.read_bytes()
    try:
        file = parse(data, path.name)
    except MemoryFileError:
        return
    match what:
        case "edit":
            path.write_bytes(data.replace(file.content.encode(), text.encode()))
        case "retitle":
            path.write_bytes(data.replace(f"# {file.title}".encode(), f"# {file.title}!".encode()))
        case "crlf":
            path.write_bytes(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        case "rename":
            path.rename(path.with_name(f"moved-{path.name}"))
        case "remove":
            path.unlink()


@pytest.mark.parametrize("minutes", range(3))  # which side of a conflict a person takes follows from them
def test_a_draft_of_ones_own_ends_where_git_took_another_ones(
    minutes: int, template: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TextFolders.origin, TextFolders.empty = template, empty
    monkeypatch.setattr(os, "urandom", _random_bytes)
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-01-01T00:00:00 +0000")
    history = TextFolders()
    history.start(people=3, driver=False)
    history.minutes += minutes
    history.by_hand(at=2, text="what nobody takes", what="begin", which=0)
    history.by_hand(at=1, text="retry", what="begin", which=0)
    history.share(at=1, hand=True)
    history.share(at=0, hand=True)
    history.by_hand(at=0, text="wal", what="begin", which=0)
    history.share(at=1, hand=True)
    history.teardown()


@pytest.mark.parametrize("part", range(2))
@pytest.mark.timeout(7200)
def test_text_folders_chunks_and_exchange_come_to_one_memory(
    part: int, template: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TextFolders.origin, TextFolders.empty = template, empty
    monkeypatch.setattr(os, "urandom", _random_bytes)
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-01-01T00:00:00 +0000")
    if EXAMPLES < 10:  # a run of everything plays the same ones, other ones in each part
        seed(part)(TextFolders)
    run_state_machine_as_test(
        TextFolders,
        settings=settings(
            max_examples=max(1, EXAMPLES // 2),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=[Phase.generate],
        ),
    )

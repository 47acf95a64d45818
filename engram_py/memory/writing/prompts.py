"""Keep prompts, and the summaries and learnings that sessions leave."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.host_formats import typed
from engram_py.base.capture.passive import learning_title, parse_learnings
from engram_py.base.capture.redact import redact_head
from engram_py.base.database.fts import erase
from engram_py.base.database.mutation_queue import new_sync_id
from engram_py.base.database.soundness import PROMPTS, TURNS
from engram_py.base.dataclass import replace
from engram_py.base.errors import NotFoundError
from engram_py.base.reasons import operation, sentence
from engram_py.base.text.normalize import TOPIC_KEY_LIMIT_CHARS, check_text, content_hash, normalize_topic_key
from engram_py.base.text.words import derived_terms
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.arguments import check_id, clamp, live_observation
from engram_py.memory.observations.validation import READ_LIMIT_CHARS, clean_content, intake_notes
from engram_py.memory.observations.values import Draft, Saved
from engram_py.memory.privacy.switches import Switches
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table
from engram_py.memory.sessions.sessions import Sessions
from engram_py.memory.sessions.values import PROMPTS_MOST, SUMMARY_TITLE, CapturedLearnings, Prompt, PromptSaved

# A hook stores a prompt with a process of its own: it loads nothing of what saves observations.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram_py.memory.writing.observations import Observations

# In one transaction, for which other writers wait.
_LEARNED_AT_ONCE = 20


class Prompts:
    """Keeps user prompts, so that the next session knows what was asked for."""

    def __init__(self, core: Core, sessions: Sessions, switches: Switches) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._sessions = sessions
        self._switches = switches

    def save(self, content: str, *, project: str | None = None, session_id: str | None = None) -> PromptSaved:
        """Store a prompt, redacted; the same words in the same session are stored once.

        Raises ConflictError (recording_off): the user switched recording off.
        """
        text, truncation, redacted = clean_content(typed(content) or content)
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id)
            self._switches.check_recording(place.project, session_id or self._sessions.current_id(place.project))
            session = self._sessions.ensure(session_id, place)
            known = table.equal_prompt(self._store, session_id=session.id, project=place.project, content=text)
            prompt = known or self._add(text, session.id, place.project)
        notes = (*intake_notes(redacted, truncation), *place.warnings)
        found = (place.project, place.source, session.id)
        return PromptSaved("duplicate" if known else "added", prompt.id, prompt.sync_id, *found, redacted, notes)

    def _add(self, text: str, session_id: str, project: str) -> Prompt:
        now, clock, sync_id = self._journal.now(), self._journal.stamp(), new_sync_id("prompt")
        values = {"sync_id": sync_id, "session_id": session_id, "project": project, "content": text}
        values |= {"terms": derived_terms(text), "created_at": now, "clock": clock}
        prompt_id = self._store.insert("user_prompts", values)
        self._journal.changed("prompt", sync_id, project=project, clock=clock)
        return Prompt(prompt_id, sync_id, session_id, project, text, now)

    def recent(self, project: str | None = None, *, all_projects: bool = False, limit: int = 20) -> tuple[Prompt, ...]:
        """Return the latest prompts; ``Search.prompts`` looks for words in them."""
        limit, _ = clamp("limit", limit, 1, PROMPTS_MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        return tuple(table.recent_prompts(self._store, projects=place.reads, limit=limit))

    def delete(self, prompt_id: int) -> Prompt:
        """Remove a prompt for good, leaving a tombstone. Raises NotFoundError (prompt_not_found)."""
        return self.delete_many([prompt_id])[0]

    def delete_many(self, ids: Sequence[int]) -> tuple[Prompt, ...]:
        """Remove several prompts for good, or none where one is missing. Raises NotFoundError (prompt_not_found)."""
        with self._store.transaction():
            found = self.named(ids, all_projects=True)
            for prompt in found:
                self._sessions.remove_prompt(prompt.id)
        for index in (PROMPTS, TURNS):  # a turn may hold its words
            erase(self._store, index)
        return found

    def named(
        self, ids: Sequence[int], *, project: str | None = None, all_projects: bool = False
    ) -> tuple[Prompt, ...]:
        """Return the prompts of these ids. Raises NotFoundError (prompt_not_found), also for one of another project."""
        reads = self._projects.for_read(project, all_projects=all_projects).reads
        found = []
        for prompt_id in dict.fromkeys(ids):
            check_id(prompt_id, "prompt id")
            prompt = table.prompt_by_id(self._store, prompt_id)
            if prompt is None or (reads is not None and prompt.project not in reads):
                where = f" in {', '.join(reads)}" if reads else ""
                raise NotFoundError(
                    f"no prompt {prompt_id}{where}",
                    hint=sentence("list them with ", operation("prompts")),
                    code="prompt_not_found",
                )
            found.append(prompt)
        return tuple(found)


def summary_topic(session_id: str) -> str:
    """Return the topic key of a session's summary: ``session/<id>``, with a digest where two ids would look alike."""
    plain = f"session/{session_id}"
    topic = normalize_topic_key(plain)
    if topic == plain:
        return topic
    import hashlib

    digest = hashlib.sha256(session_id.encode()).hexdigest()[:12]
    return f"{topic[: TOPIC_KEY_LIMIT_CHARS - 13].rstrip('/-')}-{digest}"


class Episodes:
    """Keeps the summary of a session and the learnings its messages list."""

    def __init__(self, core: Core, observations: Observations, sessions: Sessions, switches: Switches) -> None:
        self._store, self._projects = core.store, core.projects
        self._switches = switches
        self._observations = observations
        self._sessions = sessions

    def summarize(self, content: str, *, project: str | None = None, session_id: str | None = None) -> Saved:
        """Keep a session's summary: the observation with topic key ``session/<id>``, revised when sent again."""
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id)
            session = self._sessions.ensure(session_id, place)
            title, topic_key = f"{SUMMARY_TITLE}{place.project}", summary_topic(session.id)
            draft = Draft(title, content, type="session_summary", topic_key=topic_key)
            saved = self._observations.save(draft, project=place.project, session_id=session.id)
            self._sessions.summarize(session.id, live_observation(self._store, saved.id).content)
        # The answer tells how this call found the project, not the save inside it.
        warnings = tuple(dict.fromkeys((*saved.warnings, *place.warnings)))
        return replace(saved, project_source=place.source, project_path=place.path, warnings=warnings)

    def derive(self, content: str, *, session_id: str, tool_name: str) -> Saved:
        """Keep a summary that was made of a session's turns, under the same topic key. A session that ended stays so.

        Raises SessionNotFoundError.
        """
        with self._store.transaction(), self._sessions.reopened_for_a_save(session_id) as session:
            title, topic_key = f"{SUMMARY_TITLE}{session.project}", summary_topic(session.id)
            draft = Draft(title, content, "session_summary", topic_key=topic_key, tool_name=tool_name, origin="derived")
            return self._observations.save(draft, session_id=session.id)

    def capture(
        self,
        content: str,
        *,
        session_id: str | None = None,
        source: str | None = None,
        project: str | None = None,
        until: float | None = None,
    ) -> CapturedLearnings:
        """Keep the items of a text's last "Key Learnings" section, except those the project has, deleted ones included.

        A few at a time, so that nobody has to wait for the lock while a long list is kept. ``until``
        (``time.monotonic``) is when to stop; what is kept by then is passed quickly the next time.

        Raises ConflictError (recording_off): the user switched recording off.
        """
        # Redact before parsing: a private passage can span several items.
        check_text("content", content)
        hidden = redact_head(content, READ_LIMIT_CHARS)
        learnings = [clean_content(one)[0] for one in parse_learnings(hidden.text)]
        ids: list[int] = []
        done, more = 0, True
        while more:
            with self._store.transaction():
                place = self._projects.for_write(project, session_id=session_id)
                self._switches.check_recording(place.project, session_id or self._sessions.current_id(place.project))
                for text in (part := self._unknown(learnings[done:], place.project))[:_LEARNED_AT_ONCE]:
                    draft = Draft(learning_title(text), text, "passive", tool_name=source or "mcp-passive")
                    ids.append(self._observations.save(draft, project=place.project, session_id=session_id).id)
            more = len(part) > _LEARNED_AT_ONCE
            done = learnings.index(part[-1], done) if more else len(learnings)
            if more and until is not None and time.monotonic() >= until:
                break
            self._store.give_way()
        found, saved = len(learnings), len(ids)
        warnings = (*intake_notes(hidden.count, None), *place.warnings)
        return CapturedLearnings(found, saved, done - saved, tuple(ids), place.project, place.source, warnings)

    def _unknown(self, learnings: Sequence[str], project: str) -> list[str]:
        """Return the first of these texts that the project does not have and nobody deleted there: one more than are
        kept at once."""
        found: dict[str, str] = {}
        for text in learnings:
            known: dict[str, Any] = {"content_hash": content_hash(text), "project": project}
            if known["content_hash"] not in found and not (
                observation_table.hash_exists(self._store, **known)
                or observation_table.hash_was_deleted(self._store, **known)
            ):
                found[known["content_hash"]] = text
                if len(found) > _LEARNED_AT_ONCE:
                    break
        return [*found.values()]

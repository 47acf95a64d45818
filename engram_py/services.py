"""Build each service of an open memory from its ``Core`` and other services.

Each is imported when it is first asked for, so that a command or a hook pays for what it uses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.database.filesystem import SOCKETS
from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of
from engram_py.base.settings import following

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.database.compaction import Compaction
    from engram_py.base.database.store import Store
    from engram_py.guidance.context.contexts import Contexts
    from engram_py.guidance.context.prompt_gate import PromptGate
    from engram_py.guidance.context.session import SessionMemory
    from engram_py.guidance.failures.failures import Failures
    from engram_py.guidance.failures.fixes import Fixes
    from engram_py.guidance.guards.guards import Guards
    from engram_py.guidance.ledger.citations import Citations
    from engram_py.guidance.ledger.costs import Costs
    from engram_py.guidance.ledger.ledger import Ledger
    from engram_py.guidance.ledger.moments import Moments
    from engram_py.guidance.ledger.worth import Worths
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.entities.entities import Entities
    from engram_py.memory.identity.identity import Identity
    from engram_py.memory.observations.browse import Browsing
    from engram_py.memory.observations.changes import Changes
    from engram_py.memory.observations.facts import Facts, Notes
    from engram_py.memory.observations.observations import Observations
    from engram_py.memory.observations.usage import Usage
    from engram_py.memory.privacy.clear import Clearing
    from engram_py.memory.privacy.switches import Switches
    from engram_py.memory.relations.relations import Relations
    from engram_py.memory.sessions.checkpoints import Checkpoints
    from engram_py.memory.sessions.prompts import Episodes, Prompts
    from engram_py.memory.sessions.sessions import Sessions
    from engram_py.memory.sessions.spool import Spool
    from engram_py.memory.sessions.transcripts import Transcripts
    from engram_py.recall.bulk import Bulk
    from engram_py.recall.contradictions import Conflicts, Topics
    from engram_py.recall.documents.documents import Documents
    from engram_py.recall.layers import Layers
    from engram_py.recall.query import Query
    from engram_py.recall.search import Search
    from engram_py.recall.values import DocumentHit
    from engram_py.recall.vectors.vectors import NearMeaning, Vectors
    from engram_py.upkeep.distill.distilling import Distilling
    from engram_py.upkeep.distill.ingesting import Ingesting
    from engram_py.upkeep.distill.summarizing import Learning
    from engram_py.upkeep.distill.values import Flushed
    from engram_py.upkeep.doctor import Doctor
    from engram_py.upkeep.evaluation.evaluation import Evaluations
    from engram_py.upkeep.evaluation.experiment import Experiments
    from engram_py.upkeep.evaluation.tasks import Lesson
    from engram_py.upkeep.maintenance import Maintenance, Reports, Statistics
    from engram_py.upkeep.reindex import Reindexing

logger = logger_of(__name__)

_READING_SECONDS = 2.0


def sessions(app: Engram) -> Sessions:
    """Start, end and list sessions."""
    from engram_py.memory.sessions.sessions import Sessions

    return Sessions(app.core, mode=app.caller.mode, agent=app.caller.agent, hosts=app.caller.hosts)


def observations(app: Engram) -> Observations:
    """Save, read, correct and delete observations."""
    from engram_py.memory.observations.observations import Observations
    from engram_py.recall.contradictions import Candidates

    candidates = Candidates(app.store, app.journal)
    return Observations(app.core, app.sessions, candidates, anchors=app.anchors, usage=app.usage, switches=app.switches)


def bulk(app: Engram) -> Bulk:
    """List, change and delete many observations at once."""
    from engram_py.recall.bulk import Bulk

    return Bulk(app.core, app.observations, app.sessions, app.anchors)


def changes(app: Engram) -> Changes:
    """List what was changed here, and take it back."""
    from engram_py.memory.observations.changes import Changes

    return Changes(app.store, app.journal, app.observations, app.relations, app.merging)


def topics(app: Engram) -> Topics:
    """Suggest the topic key of an evolving answer."""
    from engram_py.recall.contradictions import Topics

    return Topics(app.store, app.projects)


def statistics(app: Engram) -> Statistics:
    """Count what is kept."""
    from engram_py.upkeep.maintenance import Statistics

    return Statistics(app.store, app.projects)


def browsing(app: Engram) -> Browsing:
    """List whole rows."""
    from engram_py.memory.observations.browse import Browsing

    return Browsing(app.core)


def facts(app: Engram) -> Facts:
    """Keep and list what is known about entities, a sentence each."""
    from engram_py.memory.observations.facts import Facts

    def renew(slug: str, project: str, scope: str) -> None:
        app.entities.renew(slug, project, scope)

    return Facts(app.core, lambda: app.observations, renew)


def notes(app: Engram) -> Notes:
    """Keep a line about the day, and list those of one."""
    from engram_py.memory.observations.facts import Notes

    return Notes(app.core, lambda: app.observations)


def anchors(app: Engram) -> Anchors:
    """Tell which files observations are about, and whether they changed."""
    from engram_py.memory.anchors.anchors import Anchors

    return Anchors(app.core)


def usage(app: Engram) -> Usage:
    """Count how often observations are shown."""
    from engram_py.memory.observations.usage import Usage

    return Usage(app.store, app.journal)


def relations(app: Engram) -> Relations:
    """Keep verdicts on pairs of observations."""
    from engram_py.memory.relations.relations import Relations

    return Relations(app.core)


def conflicts(app: Engram) -> Conflicts:
    """Find pairs that nobody compared yet."""
    from engram_py.recall.contradictions import Conflicts

    return Conflicts(app.store, app.journal, app.projects, app.vectors)


def entities(app: Engram) -> Entities:
    """Name things: aliases, edges, summaries, and what mentions them."""
    from engram_py.memory.entities.entities import Entities

    return Entities(app.core, app.observations, app.facts, app.relations)


def identity(app: Engram) -> Identity:
    """Keep who the person is, and how they want to be worked with."""
    from engram_py.memory.identity.identity import Identity

    return Identity(app.core, app.sessions, lambda: app.observations)


def prompts(app: Engram) -> Prompts:
    """Keep what users asked for."""
    from engram_py.memory.sessions.prompts import Prompts

    return Prompts(app.core, app.sessions, app.switches)


def episodes(app: Engram) -> Episodes:
    """Save summaries of sessions and captured learnings."""
    from engram_py.memory.sessions.prompts import Episodes

    return Episodes(app.core, app.observations, app.sessions, app.switches)


def transcripts(app: Engram) -> Transcripts:
    """Buffer what was said in a session, as its transcript grows."""
    from engram_py.memory.sessions.transcripts import Transcripts, transcript_roots

    roots = transcript_roots(app.settings.agent_folders)
    days = app.settings.turn_days
    return Transcripts(app.store, app.journal, app.citations, days=days, roots=roots)


def spool(app: Engram) -> Spool:
    """Store what hooks could not store in time."""
    from engram_py.memory.sessions.spool import Spool

    return Spool(app.core, app.sessions, app.prompts, lambda: app.episodes, lambda: app.transcripts, app.switches)


def checkpoints(app: Engram) -> Checkpoints:
    """Keep the state of agents, byte for byte."""
    from engram_py.memory.sessions.checkpoints import Checkpoints

    return Checkpoints(app.core, app.sessions)


def searches(app: Engram) -> Search:
    """Find observations."""
    from engram_py.recall.search import Search

    beside = partial(_beside_memories, app)
    return Search(app.core, anchors=app.anchors, usage=app.usage, vectors=app.vectors, documents=beside)


def layers(app: Engram) -> Layers:
    """Find memories, episodes, and what was said word for word."""
    from engram_py.recall.layers import Layers

    return Layers(app.store, lambda: app.searches, app.search, lambda: app.documents.search)


def evaluations(app: Engram) -> Evaluations:
    """Run the user's own retrieval tests."""
    from engram_py.upkeep.evaluation.evaluation import Evaluations

    return Evaluations(app.core, app.searches)


def experiments(app: Engram) -> Experiments:
    """Compare an agent with and without the memory."""
    from engram_py.upkeep.evaluation.experiment import Experiments

    return Experiments(app.core, _fill)


def vectors(app: Engram) -> Vectors:
    """Tell how near observations are to a question in meaning, where an embedder is set."""
    from engram_py.recall.vectors.vectors import Vectors

    settings = app.settings
    follow = following(settings.data_dir, "embedder") if app.caller.mode == "process" else None
    ask = partial(_ask_by_meaning, app)
    return Vectors(
        app.store, settings.clock, embedder=settings.embedder, key=settings.embedder_key, follow=follow, ask=ask
    )


def _ask_by_meaning(app: Engram, store: Store, ids: Sequence[int]) -> Sequence[tuple[int, int]]:
    from engram_py.base.database.mutation_queue import Journal
    from engram_py.recall.contradictions import ask_by_meaning

    return ask_by_meaning(store, Journal(store, app.settings.clock, app.settings.zone), app.vectors, ids)


def contexts(app: Engram) -> Contexts:
    """Assemble what a session or a prompt is given to read."""
    from engram_py.guidance.context.contexts import Contexts

    return Contexts(
        app.core,
        lambda: app.searches,
        usage=app.usage,
        anchors=app.anchors,
        read_shared=partial(_read_shared_unasked, app),
        files=lambda project: app.vault_files.own(project) if project else (),
        overview=lambda project: app.documents.overview(project) if _has_documents(app) else None,
    )


def prompt_gate(app: Engram) -> PromptGate:
    """Decide whether a prompt is given anything unasked."""
    from engram_py.guidance.context.prompt_gate import PromptGate

    return PromptGate(app.core, lambda: app.contexts, app.citations, lambda: app.moments, partial(_near_meaning, app))


def _near_meaning(app: Engram) -> NearMeaning | None:
    """Tell the meaning of a prompt: by this server's model, or that of a running one; None without either."""
    if app.caller.mode == "process" and app.vectors.enabled:
        return app.vectors
    if not (app.settings.data_dir / SOCKETS).exists():  # most have no vectors: nothing is imported
        return None
    from engram_py.recall.vectors.vectors import Nearby

    nearby = Nearby(app.settings.data_dir)
    return nearby if nearby.is_there else None


def session_memory(app: Engram) -> SessionMemory:
    """Tell what one session knows of itself, and what is known of a file."""
    from engram_py.guidance.context.session import SessionMemory

    return SessionMemory(app.core, app.sessions, app.anchors)


def documents(app: Engram) -> Documents:
    """Index and search the user's own texts: commits, decision records, folders."""
    from engram_py.recall.documents.documents import Documents

    return Documents(app.core, lambda: app.vectors)


def distilling(app: Engram) -> Distilling:
    """Summarize the sessions that left no summary, from their turns."""
    from engram_py.upkeep.distill.distilling import Distilling

    return Distilling(app.core, lambda: app.episodes, lambda: app.spool, lambda: app.learning, app.switches)


def ingesting(app: Engram) -> Ingesting:
    """Keep conversations that other programs tell of."""
    from engram_py.upkeep.distill.ingesting import Ingesting

    return Ingesting(app.core, app.sessions, app.switches, lambda: app.distilling)


def learning(app: Engram) -> Learning:
    """Keep what sessions taught about entities and the person."""
    from engram_py.upkeep.distill.summarizing import Learning

    rooms = (lambda: app.observations, lambda: app.facts, lambda: app.identity, lambda: app.entities)
    return Learning(app.store, app.journal, app.sessions, *rooms)


def costs(app: Engram) -> Costs:
    """Add up what answers cost, and which of them agents used."""
    from engram_py.guidance.ledger.costs import Costs

    return Costs(app.core)


def ledger(app: Engram) -> Ledger:
    """Count what answers and injections cost."""
    from engram_py.guidance.ledger.ledger import Ledger

    return Ledger(app.store, app.journal)


def citations(app: Engram) -> Citations:
    """Record what sessions were shown unasked, and what of it they cited."""
    from engram_py.guidance.ledger.citations import Citations

    return Citations(app.core)


def moments(app: Engram) -> Moments:
    """Record what came of a memory that spoke because of what an agent was doing."""
    from engram_py.guidance.ledger.moments import Moments

    return Moments(app.core)


def failures(app: Engram) -> Failures:
    """Keep the commands that failed and what made them pass, and tell it when an error returns."""
    from engram_py.guidance.failures.failures import Failures

    return Failures(app.core, lambda: app.moments, partial(_fixes, app))


def _fixes(app: Engram) -> Fixes:
    from engram_py.guidance.failures.fixes import Fixes

    return Fixes(app.core, app.anchors, app.usage, lambda: app.observations)


def worths(app: Engram) -> Worths:
    """Add up what came of what was given."""
    from engram_py.guidance.ledger.worth import Worths

    return Worths(app.core)


def guards(app: Engram) -> Guards:
    """Say what decisions speak against, before it is done and in a diff."""
    from engram_py.guidance.guards.guards import Guards

    return Guards(
        app.core,
        app.moments,
        observations=lambda: app.observations,
        sessions=lambda: app.sessions,
        directory=lambda: app.projects.settings_here().directory,
    )


def switches(app: Engram) -> Switches:
    """Tell what hooks may do."""
    from engram_py.memory.privacy.switches import Switches

    return Switches(app.core)


def clearing(app: Engram) -> Clearing:
    """Destroy raw messages, a project, everything."""
    from engram_py.memory.privacy.clear import Clearing

    return Clearing(app.core)


def doctor(app: Engram) -> Doctor:
    """Find what is wrong with the file, and repair it."""
    from engram_py.upkeep.doctor import Doctor

    return Doctor(app.core, app.backups, app.vectors)


def compaction(app: Engram) -> Compaction:
    """Keep the index in few pieces."""
    from engram_py.base.database.compaction import Compaction

    return Compaction(app.store)


def reindexing(app: Engram) -> Reindexing:
    """Rebuild what searches are answered from."""
    from engram_py.upkeep.reindex import Reindexing

    return Reindexing(app.store)


def maintenance(app: Engram) -> Maintenance:
    """Run the passes of upkeep."""
    from engram_py.upkeep.maintenance import Maintenance, steps_of

    rooms = (lambda: app.entities, lambda: app.identity, lambda: app.learning, lambda: app.vault, lambda: app.documents)
    hours, distill = app.settings.consolidate_hours, partial(_distill, app)
    return Maintenance(app.store, app.journal, partial(steps_of, app.core, *rooms), distill, hours=hours)


def upkeep_reports(app: Engram) -> Reports:
    """List the runs of upkeep, and what is used most."""
    from engram_py.upkeep.maintenance import Reports

    return Reports(app.core)


# --- what several of them do together -----------------------------------------------------------------------


def _read_shared_unasked(app: Engram) -> bool:
    """Read what others committed before a project is said to have no memory; return whether anything came."""
    try:
        done = app.read_shared(until=time.monotonic() + _READING_SECONDS)
    except EngramError as exc:
        logger.info("the .engram folder was not read: %s", exc.message)
        return False
    return done is not None and done.applied > 0


def read_shared_first(app: Engram) -> None:
    """Read what others committed to the repository here, where its project has no memory yet."""
    from engram_py.memory.projects.table import count_observations

    project = app.projects.for_read().project
    if project and app.has_shared_folder() and not count_observations(app.store, project):
        _read_shared_unasked(app)


def _fill(folder: Path, directory: Path, lessons: Sequence[Lesson]) -> None:
    """Save lessons in a memory of their own, as the project of a directory."""
    from engram_py.app import Engram as Opened
    from engram_py.memory.observations.values import Draft

    with Opened(folder, directory=directory) as app:
        for one in lessons:
            saved = app.save(Draft(one.title, one.content, one.type))
            if one.guards:
                app.observations.guard(saved.id, one.guards)
            if one.unchecked:
                app.trust.disown(saved.id, one.unchecked)


def _distill(app: Engram, everything: bool) -> Flushed:
    return app.distilling.flush() if everything else app.distilling.run()


def _has_documents(app: Engram) -> bool:
    return bool(app.store.value("select exists (select 1 from documents)"))


def _beside_memories(
    app: Engram, query: Query, projects: tuple[str, ...] | None, known: float, said: Sequence[str]
) -> tuple[DocumentHit, ...]:
    return app.documents.beside(query, projects, known, said) if _has_documents(app) else ()

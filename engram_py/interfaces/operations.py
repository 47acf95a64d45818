"""The operations that several interfaces offer: the service's method of each, and the arguments that callers name.

A tool, a route or a command of an operation takes its parameters from the row here, so that a new argument is one line
and a service. What only one interface has (actions of a tool, a confirmation) stays with that interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from engram_py.base.errors import EmptyFieldError
from engram_py.memory.relations.values import VERBS

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.memory.observations.values import Changed, Editor, Origin, Saved

OBSERVATION = object()
"""The kind of a parameter that is the number of an observation."""


R = TypeVar("R")


class Parameter(NamedTuple):
    """An argument that a caller names.

    ``tool`` describes it in the list of tools; None: a tool accepts it and does not list it. ``help`` describes it in
    commands and routes; empty: as ``tool`` does. ``option`` is the option of a command with the name of its value;
    empty: made of ``name``; None: a command has none. ``kind`` is str, int, float, bool, list (of texts) or
    ``OBSERVATION``. ``named`` is the service's own name of it, where that differs. ``blank``: a needed text may be
    empty. ``stdin``: a command reads standard input for ``-``.
    """

    name: str
    tool: str | None = ""
    help: str = ""
    option: str | None = ""
    kind: Any = str
    default: object = None
    needed: bool = False
    choices: tuple[str, ...] = ()
    named: str = ""
    blank: bool = False
    stdin: bool = False

    @property
    def description(self) -> str:
        """What commands and routes say about it."""
        return self.help or self.tool or ""


class Operation(Generic[R]):
    """A method of a service, with the parameters that callers name. ``method`` finds it in an open memory."""

    def __init__(self, method: Callable[[Engram], Callable[..., R]], *parameters: Parameter) -> None:
        self.method, self.parameters = method, parameters

    def __call__(self, app: Engram, given: Mapping[str, Any], **fixed: Any) -> R:
        """Call the method with the parameters that are ``given`` and not None, and with ``fixed``.

        Raises EmptyFieldError for a needed text that is blank, and what the method raises.
        """
        for parameter in self.parameters:
            text = given.get(parameter.name)
            if parameter.needed and not parameter.blank and isinstance(text, str) and not text.strip():
                raise EmptyFieldError(parameter.name)
        named = {
            parameter.named or parameter.name: given[parameter.name]
            for parameter in self.parameters
            if given.get(parameter.name) is not None
        }
        return self.method(app)(**(named | fixed))


_SCOPE = Parameter("scope", "project, personal (yours, every project) or global.", "project, personal or global.")
_PROJECT = Parameter("project", "Default: the current one.", "The project; default: the project of this folder.")
_ANY_SCOPE = _SCOPE._replace(tool="")
_SESSION = Parameter("session_id", "Default: this run of the server.", "The session it belongs to.", "--session")
# A read takes a session from a server alone: it says whose project is meant.
_READ = (_SCOPE, _PROJECT, _SESSION._replace(option=None))
_WRITE = (_SCOPE, _PROJECT, _SESSION)


def _save(app: Engram) -> Callable[..., Saved]:
    from engram_py.memory.observations.arguments import draft_of

    def save(
        *, project: str | None = None, session_id: str | None = None, origin: Origin = "agent", **fields: Any
    ) -> Saved:
        return app.observations.save(draft_of(fields, origin=origin), project=project, session_id=session_id)

    return save


def _update(app: Engram) -> Callable[..., Changed]:
    from engram_py.memory.observations.arguments import change_of

    def update(id: int, *, by: Editor = "agent", **fields: Any) -> Changed:
        return app.observations.update(id, change_of(fields), by=by)

    return update


SAVE = Operation(
    _save,
    Parameter("title", "Verb + what, e.g. Fixed token refresh race.", "The title, one line.", needed=True),
    Parameter(
        "content", "Lines **What**, **Why**, **Where** (files), **Learned**.", "The text.",
        needed=True, stdin=True,
    ),
    Parameter(
        "type", "decision, bugfix, pattern, discovery, architecture, config, preference, ...",
        "decision, bugfix, pattern, ...", default="manual",
    ),
    Parameter(
        "topic_key", "family/name of an evolving answer; saving to it again revises it.",
        "Topic key; saving to it again revises the observation.", "--topic",
    ),
    *_WRITE,
    Parameter("aliases", "More words to find it by.", "Another word to find it by; may be repeated.", "--alias", list),
    Parameter(
        "files", "What it is about: path or path:10-20.",
        "A file it is about: path or path:10-20; may be repeated.", "--file", list,
    ),
    Parameter("operation_id", None, "A second save with the same id returns the first result."),
    Parameter("tool_name", None, option=None),
)  # fmt: skip
UPDATE = Operation(
    _update,
    Parameter("id", "", "Its number, as in 12 or #12.", kind=OBSERVATION, needed=True),
    Parameter("title", "", "New title."),
    Parameter("content", "The whole new text.", stdin=True),
    Parameter(
        "find", "Literal text to replace in the content.", "Literal text to replace everywhere in the content."
    ),
    Parameter("replace", "The text that replaces it."),
    Parameter("type", "", "New type."),
    _ANY_SCOPE,
    Parameter("topic_key", "", "New topic key.", "--topic"),
    Parameter("archived", option=None, kind=bool),
    Parameter("salience", None, "Weight among equal hits, 0 to 1; default for new ones: 0.5.", kind=float),
    Parameter(
        "expires_at", None, "The last day on which it is shown unasked, or `never`.", "--expires DATE"
    ),
)  # fmt: skip

# --- what finds -------------------------------------------------------------------------------------------------

SEARCH = Operation(
    lambda app: app.layers.search,
    Parameter(
        "query",
        'Words, a question, topic key or #id; "phrases", -word, type: topic: file: since: is:stale.',
        option=None,
        needed=True,
        blank=True,
    ),
    Parameter("type", "", "Only this type."),
    _PROJECT,
    Parameter("all_projects", "Search every project.", "Every project.", "--all", bool),
    _ANY_SCOPE,
    Parameter(
        "match_mode",
        None,
        "any: best first. all: hits with all words come first.",
        "--match",
        default="any",
        choices=("any", "all"),
    ),
    Parameter(
        "limit",
        "Default 10, most 20.",
        "Most results, 1 to 20; default: budgets.search_limit in .engram.json, else 10.",
        kind=int,
    ),
    Parameter("as_of", "Search as of a day.", "Search the memory as it was on that day.", "--as-of DATE"),
    Parameter("explain", "Add the ranking's numbers.", "Add the numbers of the ranking.", kind=bool),
    Parameter(
        "in", None, "memories (the default), episodes, turns, prompts, documents, entities or all.", named="layer"
    ),
    Parameter("sort", None, "The order of the results.", choices=("relevance", "recency", "salience")),
    Parameter(
        "collection",
        None,
        "Only the documents of this collection; several with commas.",
        "-c --collection NAME",
    ),
)
CONTEXT = Operation(
    lambda app: app.contexts.assemble,
    _PROJECT,
    _ANY_SCOPE,
    Parameter(
        "query",
        "Get what this prompt needs.",
        "Print the context for this prompt, often none.",
        stdin=True,
    ),
    Parameter(
        "mode",
        "session, query, cascade, full.",
        "session, query, cascade or full; default: query with a query, else session.",
    ),
    Parameter(
        "budget_tokens",
        "Default: 1500; query 800, cascade 2000, full 10000.",  # guidance/context/contexts.py
        "Most tokens (4 bytes each); default: session 1,500, query 800, cascade 2,000, full 10,000.",
        kind=int,
    ),
    Parameter("compact", "Titles only.", kind=bool),
    Parameter("max_bytes", None, "Most bytes of mode session; default 6,000.", kind=int),
)
TIMELINE = Operation(
    lambda app: app.observations.timeline,
    Parameter("observation_id", "", "Its number, as in 12 or #12.", kind=OBSERVATION, needed=True),
    Parameter("before", "How many before it.", "Observations before it.", kind=int, default=5),
    Parameter("after", "How many after it.", "Observations after it.", kind=int, default=5),
)

SUGGEST_TOPIC_KEY = Operation(
    lambda app: app.topics.suggest,
    Parameter("type", default=""),
    Parameter("title", default=""),
    Parameter("content", default=""),
)

# --- what a session said --------------------------------------------------------------------------------------

SAVE_PROMPT = Operation(lambda app: app.prompts.save, Parameter("content", needed=True), _SESSION, _PROJECT)
CAPTURE = Operation(
    lambda app: app.episodes.capture,
    Parameter("content", "Text with a ## Key Learnings list.", needed=True, blank=True),
    _SESSION,
    Parameter("source", "Where the text came from, e.g. subagent-stop."),
    _PROJECT._replace(tool=None),
)

# --- entities and facts ---------------------------------------------------------------------------------------

_NAME = Parameter("entity", "Its name, an alias or its slug.", needed=True, named="name")

LIST_ENTITIES = Operation(
    lambda app: app.entities.listed,
    Parameter("candidates", "Include names that are mentioned too seldom to have a page.", kind=bool),
    Parameter("archived", "Include archived entities.", kind=bool),
    Parameter("kind", "Only this kind, as in person or project."),
    *_READ,
)
SHOW_ENTITY = Operation(lambda app: app.entities.show, _NAME, *_READ)
ENTITY_GRAPH = Operation(
    lambda app: app.entities.graph,
    _NAME,
    Parameter("depth", "Most edges between the entity and the others, 1 to 4.", kind=int, default=2),
    *_READ,
)
LINK_ENTITIES = Operation(
    lambda app: app.entities.link,
    Parameter("entity", "An entity.", needed=True, named="subject"),
    Parameter("predicate", "snake_case, as in works_at or depends_on.", needed=True),
    Parameter("object", "Another entity.", needed=True),
    Parameter("fact", "The sentence that says so; default: made from the three names."),
    Parameter("kind", "The kind of the first entity: person, service, library."),
    Parameter("object_kind", "The kind of the other entity."),
    *_WRITE,
)
ALIAS_ENTITY = Operation(
    lambda app: app.entities.alias, _NAME, Parameter("aliases", "Other names.", kind=list, needed=True), *_READ
)
MERGE_ENTITIES = Operation(
    lambda app: app.entities.merge, _NAME, Parameter("into", "The entity that stays.", needed=True), *_READ
)
ARCHIVE_ENTITY = Operation(
    lambda app: app.entities.archive, _NAME, Parameter("restore", "Bring it back from the archive.", kind=bool), *_READ
)
_ABOUT = Parameter(
    "entity", "A person, service, library, repository.", "Its name or slug, as in billing-service.", needed=True
)
ADD_FACT = Operation(
    lambda app: app.facts.add,
    _ABOUT,
    Parameter(
        "text",
        "One sentence that stays true; without it, list the facts.",
        "One sentence.",
        needed=True,
        stdin=True,
    ),
    Parameter("kind", "What it is: person, service.", "The kind of the entity: person, service, library."),
    Parameter("category", "milestone, status, preference, ...", "Such as relationship, milestone, status, preference."),
    Parameter("source", "The source: meeting.", "The source of the fact, such as meeting."),
    Parameter("source_ref", "The id of the source.", "The id of the source, such as a meeting's number."),
    Parameter("date", "Since when it is true.", "Since when it is true; default: now."),
    *_WRITE,
)
LIST_FACTS = Operation(
    lambda app: app.facts.of,
    _ABOUT,
    Parameter("past", "List replaced facts too.", "Include replaced facts.", kind=bool),
    *_READ,
)

# --- the person, notes, and files of the vault ----------------------------------------------------------------

_OWN_SCOPE = Parameter("scope", "personal (every project, the default) or project.")
_OWN = (_OWN_SCOPE, _PROJECT, _SESSION)

ADD_STATEMENT = Operation(
    lambda app: app.identity.add,
    Parameter("text", "One sentence, as in 'Always answer in German'.", needed=True, stdin=True),
    *_OWN,
)
LIST_STATEMENTS = Operation(
    lambda app: app.identity.listed,
    Parameter("scope", "Only personal, or only project; default: both."),
    _PROJECT,
    _SESSION._replace(option=None),
)
REMOVE_STATEMENT = Operation(
    lambda app: app.identity.remove,
    Parameter("statement", "Its id, its text, or a part that only this one has.", needed=True, named="what"),
    _PROJECT,
    _SESSION._replace(option=None),
)
SHOW_PROFILE = Operation(lambda app: app.identity.profile, *_OWN)
WRITE_PROFILE = Operation(
    lambda app: app.identity.write_profile,
    Parameter("text", "The new profile.", needed=True),
    *_OWN,
)
ADD_NOTE = Operation(
    lambda app: app.notes.add,
    Parameter("text", "Without it, list the notes of the day.", "The note.", needed=True),
    _PROJECT,
    _SESSION,
)
LIST_NOTES = Operation(lambda app: app.notes.of_day, Parameter("day", "2026-03-14, today or yesterday."), _PROJECT)
_PATH = Parameter("path", "Relative to the vault: knowledge/databases.md.", needed=True)
WRITE_FILE = Operation(
    lambda app: app.vault_files.write,
    _PATH,
    Parameter(
        "content",
        "The whole text, or what to append.",
        "The text.",
        needed=True,
        named="text",
        blank=True,
        stdin=True,
    ),
    Parameter("append", "Append the content.", "Append the text to the file.", kind=bool),
    _PROJECT,
)
READ_FILE = Operation(lambda app: app.vault_files.read, _PATH._replace(tool="Without it, list the files."), _PROJECT)
LIST_FILES = Operation(lambda app: app.vault_files.list, Parameter("under", "List this folder only."), _PROJECT)

IMPORT_VAULT = Operation(
    lambda app: app.vault.take_in,
    Parameter("prune", help="Delete memories whose bullet was removed.", kind=bool),
    Parameter("dry_run", help="Print what would be changed, and change nothing.", kind=bool),
    _PROJECT,
)

# --- verdicts -------------------------------------------------------------------------------------------------

JUDGE = Operation(
    lambda app: app.relations.judge,
    Parameter("judgment_id", "From mem_save.", "The id that the save gave, as in rel-0123456789abcdef.", needed=True),
    Parameter(
        "relation", "How the new memory relates to the old one.", f"{', '.join(VERBS)}.", needed=True, choices=VERBS
    ),
    Parameter("reason", "", "Why."),
    Parameter("evidence", "", "What the verdict is based on."),
    Parameter("confidence", "0 to 1; below 0.7 ask the user first.", "0 to 1.", kind=float),
    _SESSION._replace(tool=None, option=None),
)
COMPARE = Operation(
    lambda app: app.relations.compare,
    Parameter("memory_id_a", "", "The number of the first observation.", kind=OBSERVATION, needed=True, named="one"),
    Parameter("memory_id_b", "", "The number of the second observation.", kind=OBSERVATION, needed=True, named="other"),
    Parameter("relation", "How a relates to b.", f"{', '.join(VERBS)}.", needed=True, choices=VERBS),
    Parameter("confidence", "0 to 1.", kind=float, needed=True),
    Parameter("reasoning", "At most 200 characters.", "Why; at most 200 characters.", "--reason", needed=True),
    Parameter("model", "Which model judged.", option=None),
)

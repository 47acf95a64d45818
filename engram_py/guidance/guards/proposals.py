"""Find the guard that a decision's text offers: "use X, not Y", "never Y in W", "do not edit W".

Silent unless a sentence says it as a rule, the whole of it, and names something that can be matched: a program, a
package, a call or another piece of code in backticks, a path, a branch. What narrows a rule in words that no matcher
has ("in library code", "for tests") makes it silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, reason
from engram_py.guidance.guards.matching import commands_of, has_text, is_in, runs
from engram_py.guidance.guards.values import MOST_CHARS, Guard, Offered
from engram_py.memory.observations.table import VISIBLE
from engram_py.memory.observations.values import REVIEW_MONTHS

TYPES = tuple(REVIEW_MONTHS)  # decisions, policies, preferences

_OFFERING = f"""
select id, title, content, type, project from observations
where guards is null and deleted_at is null and lifecycle = 'active' and origin <> 'derived' and arrival is null
  and type in (select value from json_each(:types)) and {VISIBLE}
order by updated_at desc, id desc limit :limit
"""
_MOST_CHARS, _MOST_USE_CHARS, _MOST_OFFERING = 12_000, 80, 200
_THING = r"`[^`\n]{1,80}`|'[^'\n]{1,40}'|\"[^\"\n]{1,40}\"|[@\w][\w@./+*-]*(?:\(\))?"
_WHO = r"(?:(?:we|i|you|agents|everybody|always|please|just)\s+)*(?:(?:will|shall|should|must|always|now)\s+)*"
_CHOOSE = (
    r"(?:use|uses|using|prefer|choose|chose|chosen|adopt|run|import|install|pick|picked|standardi[sz]e on"
    r"|stick (?:to|with))"
)
_DOING = r"(?:use|run|call|import|install|add|invoke|depend on|introduce|write)"
_NEVER = r"(?:never|(?:do|does|must|should|shall|may|will) not|don't|mustn't|shouldn't|won't)"
_AVOID = rf"(?:{_NEVER}\s+(?:ever\s+)?{_DOING}|(?:avoid|stop|no)(?:\s+(?:using|running|calling|importing|installing))?)"
_INSTEAD = r"(?:,?\s+(?:and\s+)?(?:instead of|rather than|not|never|over)(?:\s+(?:using|with|via|plain|bare|raw))?)"
_EDIT = r"(?:(?:hand-)?edit|modify|change|touch|alter|write to|write into)"
_KNOWN = "json|lock|yaml|yml|toml|sql|proto|py|ts|tsx|go|rs|rb|md"
_PLACE = rf"`[^`\n]{{1,120}}`|[\w@*.][\w@*.-]*/[\w@*./-]*|[\w@*-]+(?:\.[\w-]+)*\.(?:{_KNOWN})"
_BRANCH = r"`[\w./-]+`|main|master|develop|trunk|production"
_WHERE = rf"(?:\s+(?:in|under|inside|within)\s+(?P<where>{_THING}|[\w ]{{1,40}}?))?"
_ALWAYS = r"(?:\s+(?:any ?more|any longer|at all|again|here|directly|by hand|manually|anywhere|everywhere))*"
_REST = rf"(?P<rest>{_WHERE}{_ALWAYS})"
_WHY = (
    r"(?:\s*$|\s*\.(?:\s|$)|\s*[;:!()]|\s*,(?!\s*(?:in|on|for|when|if|at|during|but)\b)"
    r"|\s+[-–—]+\s|\s+(?:because|since|as (?:it|they|we|this|that)|so that"
    r"|for (?:speed|consistency|everything|all|installs?|installing|package management|dependenc|packages|scripts"
    r"|this (?:project|repo)|security))\b)"
)
_SWAP = re.IGNORECASE
_USE_NOT = regex(rf"{_WHO}{_CHOOSE}\s+(?P<use>[^;:,\n]{{1,60}}?){_INSTEAD}\s+(?P<not>{_THING}){_REST}{_WHY}", _SWAP)
_TITLE = regex(
    rf"(?P<use>[^.;:,\n]{{1,40}}?)(?:,?\s+(?:instead of|rather than|not|over))\s+(?P<not>{_THING}){_REST}\s*[.!]?$",
    _SWAP,
)
_NEVER_USE = regex(rf"{_WHO}{_AVOID}\s+(?P<not>{_THING}){_REST}{_WHY}", _SWAP)
_NEVER_EDIT = regex(
    rf"{_WHO}{_NEVER}\s+(?:ever\s+)?{_EDIT}\s+(?:(?:any|the|files?|code|anything)\s+)*(?:(?:in|under|inside|of)\s+)?"
    rf"(?:the\s+)?(?P<place>{_PLACE}){_REST}{_WHY}",
    _SWAP,
)
_NEVER_PUSH = regex(
    rf"{_WHO}{_NEVER}\s+(?:ever\s+)?(?P<verb>commit|push)\s+(?:anything\s+)?(?:directly\s+|straight\s+)?(?:to|on|onto)\s+"
    rf"(?:the\s+)?(?P<branch>{_BRANCH})(?:\s+branch)?(?:\s+directly)?{_WHY}",
    _SWAP,
)
_NO_FORCE = regex(
    rf"{_WHO}(?:{_NEVER}\s+(?:ever\s+)?force[- ]push|no force[- ]push(?:es|ing)?)\b(?:\s*$|\s*[.;:!,])", _SWAP
)
_USE_AFTER = regex(
    r"^[\s,;:.!)–—-]*(?:always\s+|instead,?\s+)?(?:use|run|prefer|add|write|create|import|call)\s+"
    r"(?P<use>[^;:,\n]{1,60}?)(?:\s+instead)?\s*(?:\.(?:\s|$)|[;:,]|\s\(|$)",
    _SWAP,
)
_PRESCRIBED = regex(
    rf"{_WHO}{_CHOOSE}\s+(?P<use>[^;:,\n]{{1,80}}?)(?:{_INSTEAD}\s|\s*(?:\.(?:\s|$)|[;:,]|\s\(|$))", _SWAP
)
_HEDGED = regex(
    r"\b(?:could|might|would|consider(?:ed|ing)?|previously|used to|was|were|proposed|alternatives?|options?|whether|"
    r"unless|except|sometimes|temporar\w+|currently|today|some|until|existing|usually|when|if|while|where possible|"
    r"tests? only|only|without|both|either|try to|ideally|generally|too|enough|just because)\b|\?",
    _SWAP,
)
_SECTION = regex(r"^\s*(?:#+\s*|\*\*)(?P<name>[^*\n]+?)(?:\*\*)?:?\s*$")
_ELSEWHERE = regex(
    r"context|background|alternativ|option|considered|pros|cons|reject|problem|status|history|question|example", _SWAP
)
_MARKS = regex(
    r"^[\s>+-]*(?:\*\s+)?(?:\d+[.)]\s+)?(?:\[[ x]\]\s*)?(?:\*\*[^*\n]{1,30}\*\*:?\s*)?"
    r"(?:decision|rule|policy|preference)?:?\s*",
    _SWAP,
)
_ENDS = regex(r"(?<=[.!?;])\s+(?=[A-Z`\"'a-z])")
_ANYWHERE = regex(
    r"(?:this|our|the|any|all)?\s*(?:repo|repository|project|code ?base|code|new code|source)s?|here|anywhere", _SWAP
)

_PROGRAMS = """
npm npx pnpm bunx pip pip3 pipx pipenv poetry conda pdm tox nox flake8 isort pylint ruff mypy eslint tslint jest mocha
webpack gulp grunt rollup cmake bazel mvn gradle docker podman docker-compose kubectl terraform tofu ansible
ansible-playbook vagrant apt-get wget curl rsync scp svn rustup nvm asdf pyenv virtualenv easy_install twine nosetests
phpunit lerna bower yarn sed awk perl git uv cargo pytest bundler composer prettier
"""
_PROGRAM = frozenset(_PROGRAMS.split())
# Programs whose names are words of every text: in backticks alone.
_WORDS_TOO = "make go ant black bun rush turbo helm gem bundle rm brew apt yum sudo tar ssh java node python"
_QUOTED = frozenset(_WORDS_TOO.split())
_PYTHON = """
requests urllib urllib3 httpx aiohttp flask django fastapi nose mock simplejson orjson ujson pandas polars numpy peewee
sqlalchemy psycopg2 psycopg asyncpg boto boto3 celery pytz dateutil optparse argparse click typer unittest pickle loguru
structlog attrs pydantic marshmallow lxml bs4 selenium playwright tensorflow torch jinja2 pkg_resources distutils
"""
_SCRIPT = """
moment lodash underscore axios jquery request enzyme chai sinon redux mobx bluebird left-pad node-fetch express koa
fastify date-fns dayjs luxon ky got superagent zod yup joi winston pino prisma typeorm sequelize knex classnames vitest
styled-components formik react-query rxjs
"""
_PACKAGES = {"py": frozenset(_PYTHON.split()), "js": frozenset(_SCRIPT.split())}
_FILES = {"py": ("**/*.py",), "js": ("**/*.{js,jsx,ts,tsx,mjs,cjs,vue,svelte}",)}
_IMPORTS = {"py": r"^\s*(?:import|from)\s+{}\b", "js": r"""(?:from|import|require)\s*\(?\s*['"]{}['"/]"""}
_LANGUAGES = {
    "python": ("**/*.py",), "typescript": ("**/*.{ts,tsx}",), "javascript": ("**/*.{js,jsx,mjs,cjs}",),
    "go": ("**/*.go",), "rust": ("**/*.rs",), "ruby": ("**/*.rb",), "java": ("**/*.java",), "kotlin": ("**/*.kt",),
    "sql": ("**/*.sql",), "css": ("**/*.{css,scss}",), "terraform": ("**/*.tf",), "dockerfiles": ("**/Dockerfile*",),
    "shell scripts": ("**/*.sh",),
}  # fmt: skip
_CODE = (
    "**/*.{py,pyi,js,jsx,ts,tsx,mjs,cjs,vue,svelte,go,rs,rb,java,kt,scala,c,h,cc,cpp,hpp,cs,php,swift}",
    "**/*.{sh,sql,tf,css,scss,html,yml,yaml}",
)
_CALL = regex(r"[A-Za-z_$][\w.$:]*\(\)?")
_CODEY = regex(r"[a-z][A-Z]|[._:(@#!<>=*/-]|\w_\w")
_PATHS = regex(r"(?:\./)?[\w@.*{},+-]+(?:/[\w@.*{},+-]*)*")


def proposal(title: str, content: str) -> Guard | None:
    """Return the guard that a text offers, None where no sentence says one for certain."""
    for sentence, is_title in _sentences(title, content):
        if _HEDGED.search(sentence):
            continue
        guard = _guard_of(sentence, is_title)
        if guard is None or max(map(len, (guard.added, guard.command, guard.use))) >= MOST_CHARS:
            continue
        if not (guard.command and any(_runs_in(one, guard.command) for one in _prescribed(guard, title, content))):
            return guard
    return None


def _prescribed(guard: Guard, title: str, content: str) -> Iterator[str]:
    """Yield what a text says to use: an agent that does it is not warned."""
    yield guard.use
    found = (_PRESCRIBED.match(sentence) for sentence, _ in _sentences(title, content))
    yield from (_clean_use(one["use"]) for one in found if one)


def _runs_in(text: str, pattern: str) -> bool:
    """Return whether a command in a text runs a pattern: from its first program on, else from any of its words."""
    words = text.split()
    for at, word in enumerate(words):
        if any(runs(pattern, one) for one in commands_of(" ".join(words[at:]))):
            return True
        if _is_program(word):  # the rest are its arguments: `uv pip` runs no `pip`
            return False
    return False


def offers(store: Store, projects: Sequence[str] | None, *, limit: int) -> list[Offered]:
    """Return the guards that the latest 200 decisions of these projects offer and nobody answered."""
    rows = store.rows(_OFFERING, projects=projects, types=list(TYPES), limit=_MOST_OFFERING)
    found = ((row, proposal(row["title"], row["content"])) for row in rows)
    return [Offered(row["id"], row["title"], row["project"], guard) for row, guard in found if guard][:limit]


def offer_note(store: Store, observation_id: int, title: str, content: str) -> tuple[Reason, ...]:
    """Return the note of a save whose text offers a guard that nobody answered."""
    guard = proposal(title, content)
    sql = "select 1 from observations where id = :id and guards is null"
    if guard is None or store.row(sql, id=observation_id) is None:
        return ()
    what = next((text for text in (guard.command, guard.added) if text), ", ".join(guard.paths))
    return (reason("guard_offered", id=observation_id, what=what, use=guard.use),)


def _sentences(title: str, content: str) -> Iterator[tuple[str, bool]]:
    yield title.strip(), True
    skipped = fenced = False
    for line in content[:_MOST_CHARS].split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif section := _SECTION.match(line):
            skipped = bool(_ELSEWHERE.search(section["name"]))
        elif line.strip() and not skipped and not fenced:
            text = _MARKS.sub("", line, count=1)
            ends = [*(one.end() for one in _ENDS.finditer(text)), len(text)]
            for start, end, after in zip([0, *ends], ends, [*ends[1:], len(text)], strict=False):
                goes_on = text[start:end].rstrip().endswith(";")  # "never Y; use X"
                yield text[start : after if goes_on else end].strip(), False


def _guard_of(sentence: str, is_title: bool) -> Guard | None:
    if found := _NEVER_PUSH.match(sentence):
        return Guard(command=f"git {found['verb'].lower()}", branch=_bare(found["branch"]), use="a branch")
    if _NO_FORCE.match(sentence):
        return Guard(command="git push --force")
    if found := _NEVER_EDIT.match(sentence):
        return _edit(_bare(found["place"]), found["where"], _use_after(sentence[found.end("rest") :]))
    if found := _USE_NOT.match(sentence) or (is_title and _TITLE.match(sentence)) or None:
        return _instead(found["not"], found["where"], found["use"])
    if found := _NEVER_USE.match(sentence):
        return _instead(found["not"], found["where"], _use_after(sentence[found.end("rest") :]))
    return None


def _use_after(text: str) -> str:
    found = _USE_AFTER.match(text)
    return found["use"] if found else ""


def _command_in(use: str) -> str:
    """Return the command that a rule says to run: from the first program or code on, else all of it."""
    words = use.split()
    starts = (at for at, word in enumerate(words) if word.startswith("`") or _is_program(_clean_use(word)))
    return _clean_use(" ".join(words[next(starts, 0) :]))


def _is_program(word: str) -> bool:
    return word in _PROGRAM or word in _QUOTED


def _clean_use(text: str) -> str:
    return text.replace("`", "").strip(" *_\"'")[:_MOST_USE_CHARS]


def _bare(thing: str) -> str:
    return thing.strip("`'\"").strip().rstrip(".,")


def _edit(place: str, where: str | None, use: str) -> Guard | None:
    if where or not _PATHS.fullmatch(place) or ".." in place or not re.search(r"[./*]", place):
        return None
    folder = "**" if place.endswith("/") else ""  # the one below the root, not every folder of that name
    return Guard(paths=(place.removeprefix("./") + folder,), use=_clean_use(use))


def _instead(thing: str, where: str | None, said: str) -> Guard | None:
    """Return the guard against a thing; nothing where what is to be used would break it."""
    quoted, name, use = thing[:1] in "`'\"", _bare(thing), _clean_use(said)
    guard = _command(name, quoted) or _package(name, quoted, use) or _code(name, thing[:1] == "`")
    if guard is None or not name or name.lower() == use.lower():
        return None
    if guard.command:
        if where and not _ANYWHERE.fullmatch(where.strip()):
            return None
        return replace(guard, use=_command_in(said))
    files = _files(where, guard.within)
    return replace(guard, within=files, use=use) if files and not has_text(use, name) else None


def _files(where: str | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    if where is None or _ANYWHERE.fullmatch(where.strip()):
        return usual
    named = _bare(where).lower()
    if named in _LANGUAGES:
        return _LANGUAGES[named]
    place = _bare(where)
    return (place,) if _PATHS.fullmatch(place) and re.search(r"[/*]", place) else ()


def _command(name: str, quoted: bool) -> Guard | None:
    first, _, rest = name.partition(" ")
    if first in _PROGRAM or (quoted and first in _QUOTED):
        return Guard(command=name if rest else f"{name} *")
    return None


def _package(name: str, quoted: bool, use: str) -> Guard | None:
    """Return the guard of an import; a package whose name is a word stands in backticks, or beside one of its kind."""
    for language, names in _PACKAGES.items():
        beside = any(word in names for word in re.findall(r"[\w-]+", use.lower()))
        if name in names and (quoted or beside):
            pattern = _IMPORTS[language].format(re.escape(name))
            return Guard(added=pattern, regex=True, within=_FILES[language])
    return None


def _code(name: str, ticked: bool) -> Guard | None:
    """Return the guard of a piece of code as it is written. None for a plain word, which comments have as well."""
    if not ticked or len(name) < 4 or (" " in name.strip() and not re.search(r"[(*=<>]", name)):
        return None
    if _CALL.fullmatch(name):
        return Guard(added=name.removesuffix(")"), within=_CODE)
    if not _CODEY.search(name) or is_in(name, ("*.md",)) or name.startswith(("http://", "https://", "-", "/")):
        return None
    return Guard(added=name, within=_CODE)

"""What tests do to a database file from outside: other processes, damage, foreign and newer schemas."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from engram_py import Engram
from engram_py.base.database import migrations
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Draft, Saved

PAGE = 4096

_PREAMBLE = """
import sys
from pathlib import Path
from engram_py.base.database.store import Store
from engram_py.base.database.mutation_queue import get_meta, set_meta
folder = Path(sys.argv[1])
"""


def command(code: str, *arguments: object) -> list[str]:
    """What starts another Python that runs ``code`` with Store, get_meta, set_meta and ``folder`` at hand."""
    return [sys.executable, "-c", _PREAMBLE + code, *map(str, arguments)]


def elsewhere(code: str, *arguments: object) -> str:
    """What another process prints that runs ``code``."""
    return subprocess.run(command(code, *arguments), check=True, capture_output=True, text=True).stdout.strip()


def opened(data_dir: Path) -> Engram:
    """A memory whose calls belong to project widgets, without looking at the working directory."""
    return Engram(settings=Settings(data_dir), directory=data_dir.parent, project="widgets")


def save(app: Engram, text: str, **fields: str) -> Saved:
    return app.save(Draft(f"About {text}", f"The content of {text}.", **fields))  # type: ignore[arg-type]


def filled(data_dir: Path, texts: Sequence[str] = ("one", "two", "three")) -> Path:
    """The closed database of a memory that holds an observation for each of ``texts``."""
    with opened(data_dir) as app:
        for text in texts:
            save(app, text)
    return data_dir / "engram.db"


def titles(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("select title from observations order by id")]


def damage_table(path: Path, table: str) -> None:
    """Overwrite the first page of a table in a closed database: it opens, and the table cannot be read."""
    with closing(sqlite3.connect(path)) as connection:
        [page] = connection.execute("select rootpage from sqlite_master where name = ?", (table,)).fetchone()
    raw = bytearray(path.read_bytes())
    raw[(page - 1) * PAGE : page * PAGE] = b"\xa5" * PAGE
    path.write_bytes(raw)


def make_newer(path: Path) -> None:
    """Record a migration this program does not know."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"insert into {migrations.LEDGER} (migration_set, name, applied_at) values (?, ?, ?)",
            (migrations.SET, "9999_future", "2030-01-01"),
        )


def make_foreign(path: Path) -> None:
    """A database as Engram itself has it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table sessions (id text primary key, project text not null)")
        connection.execute("create table observations (id integer primary key, title text, content text)")
        connection.execute("insert into observations (title, content) values ('theirs', 'kept')")


def make_of_schema(path: Path, count: int) -> None:
    """A database on which only the first ``count`` migrations were applied, as an earlier program left it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(_of_schema(count))


@cache
def _of_schema(count: int) -> bytes:
    """The file of the schema before, and one migration more."""
    from sqlite_utils import Database, Migrations

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "engram.db")
        if count > 1:
            path.write_bytes(_of_schema(count - 1))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma journal_mode = wal")
            plan = Migrations(migrations.SET)
            for file in migrations.migration_files()[:count]:
                plan(name=file.stem)(migrations._step(file))
            plan.apply(Database(connection, execute_plugins=False))
        return path.read_bytes()


WRITE_FOREVER = """
store = Store.open(folder)
number = 0
while True:
    number += 1
    with store.transaction():
        set_meta(store, f"row-{number}", "x")
    if number == 1:
        print("writing", flush=True)
"""


@contextmanager
def another_process_writing(data_dir: Path) -> Iterator[None]:
    with subprocess.Popen(command(WRITE_FOREVER, data_dir), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        try:
            yield
        finally:
            process.kill()

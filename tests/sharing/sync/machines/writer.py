"""A process that writes to a memory until it is killed, and notes what was acknowledged.

python writer.py DATA_DIR FOLDER SEED LOG
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
from engram_py.memory.observations.values import Change

TOPICS = (None, None, "db/wal", "db/lock", "api/retry")
WORDS = ("wal", "lock", "retry", "cache", "socket", "token")


def main() -> None:
    data_dir, folder, seed, log = sys.argv[1:]
    dice = random.Random(seed)
    with Engram(Path(data_dir), directory=Path(folder)) as app, Path(log).open("a", encoding="utf-8") as noted:

        def note(*fields: str) -> None:
            noted.write("\t".join(fields) + "\n")
            noted.flush()
            os.fsync(noted.fileno())

        for turn in range(sys.maxsize):
            text = f"{dice.choice(WORDS)} because of {dice.choice(WORDS)}, {seed}-{turn}"
            try:
                act(app, dice, text, note)
            except EngramError as exc:  # a topic that is taken, a row that is gone: part of a busy memory
                print(exc.message, file=sys.stderr)


def act(app: Engram, dice: random.Random, text: str, note) -> None:  # type: ignore[no-untyped-def]
    ids = [row[0] for row in app.store.rows("select id from observations where deleted_at is null order by id")]
    choice = dice.random()
    if choice < 0.5 or len(ids) < 5:
        draft = Draft(f"{dice.choice(WORDS)} {dice.choice(WORDS)}", text, "decision", topic_key=dice.choice(TOPICS))
        note("wrote", app.save(draft).sync_id, text)
        return
    one = dice.choice(ids)
    if choice < 0.75:
        note("wrote", app.observations.update(one, Change(content=text)).sync_id, text)
    elif choice < 0.82:
        app.observations.delete(one)
    elif choice < 0.85:
        # Said before it is done: a writer killed in between may have destroyed it.
        note("destroys", app.observations.get(one).observation.sync_id, "")
        app.observations.delete(one, hard=True)
    elif choice < 0.92:
        app.observations.pin(one, pinned=dice.random() < 0.5)
    elif choice < 0.97:
        app.relations.compare(one, dice.choice(ids), "related", confidence=0.8, reasoning="of one kind")
    else:
        app.prompts.save(text)


if __name__ == "__main__":
    main()

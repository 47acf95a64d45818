"""Puts a set into a fresh memory by the product's own doors, and finds one again that was filled before."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench.datasets import Dataset, Memory
from bench.keeping import copied, fingerprint, kept
from bench.wire import Server, engram_command, environment, text_of

# What decides about the bytes of an imported memory; a change of any of it fills a kept one anew.
_DECIDES = (
    "migrations/*.sql",
    "engram_py/base/capture/*.py",
    "engram_py/base/text/words.py",
    "engram_py/sharing/interchange/*.py",
    "engram_py/memory/observations/validation.py",
    "bench/datasets.py",
    "bench/memories.py",
)


def import_into(data_dir: Path, folder: Path, dataset: Dataset) -> None:
    """``engram import`` of the set as an export of Engram's (version 0.2.0), in the order of arrival."""
    file = data_dir.with_name(data_dir.name + ".json")
    file.write_text(json.dumps(export_of(dataset), ensure_ascii=False), encoding="utf-8")
    done = subprocess.run(
        engram_command("import", "--json", str(file)),
        cwd=folder,
        env=environment(data_dir),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    file.unlink()
    if done.returncode != 0:
        raise RuntimeError(f"engram import of {dataset.name}: {done.stderr[-1000:]}")
    new = json.loads(done.stdout)["observations"]["new"]
    if new != len(dataset.memories):
        raise RuntimeError(f"engram import of {dataset.name}: {new} of {len(dataset.memories)} arrived")


def export_of(dataset: Dataset) -> dict[str, object]:
    """The set as Engram would have exported it. Memories without a time share the moment of the export."""
    now = datetime.now(UTC)
    sessions: dict[str, dict[str, str]] = {}
    observations = []
    for memory in dataset.memories:
        moment = (memory.created_at or now).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        started = {"id": memory.session, "project": memory.project, "directory": "", "started_at": moment}
        sessions.setdefault(memory.session, started)
        observations.append(_exported(memory, moment))
    return {"version": "0.2.0", "sessions": list(sessions.values()), "observations": observations, "prompts": []}


def _exported(memory: Memory, moment: str) -> dict[str, object]:
    return {
        "sync_id": sync_id(memory.key),
        "session_id": memory.session,
        "type": "manual",
        "title": memory.title,
        "content": memory.content,
        "project": memory.project,
        "scope": "project",
        "created_at": moment,
        "updated_at": moment,
    }


def sync_id(key: str) -> str:
    """The identity a memory of the sets gets; the answers are read by it."""
    return f"obs-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def save_into(data_dir: Path, folder: Path, dataset: Dataset) -> dict[str, str]:
    """``mem_save`` of each memory in the order of arrival, so all of them are new; sync id -> key.

    A save insists on a title: what has none gets its key.
    """
    keys: dict[str, str] = {}
    with Server(engram_command("mcp"), data_dir=data_dir, folder=folder) as server:
        server.initialize()
        for memory in dataset.memories:
            saved, _ = server.call(
                "mem_save",
                title=memory.title or memory.key,
                content=memory.content or memory.title,
                project=memory.project,
                session_id=memory.session,
                response_format="json",
            )
            keys[json.loads(text_of(saved))["sync_id"]] = memory.key
    return keys


def kept_import(store: Path, folder: Path, dataset: Dataset) -> Path:
    """The data directory of the imported set below ``store``, filled now unless the same code filled it before."""
    wanted = fingerprint(_DECIDES, repr(dataset.memories))
    return kept(store, dataset.name, wanted, lambda fresh: import_into(fresh, folder, dataset))


def imported(data_dir: Path, folder: Path, dataset: Dataset, *, keep: Path | None = None) -> dict[str, str]:
    """Fill a data directory with the set, from what ``keep`` has of an earlier run; its keys by sync id."""
    if keep:
        copied(kept_import(keep, folder, dataset), data_dir)
    else:
        import_into(data_dir, folder, dataset)
    return {sync_id(memory.key): memory.key for memory in dataset.memories}


def without_settings() -> None:
    """Drop the user's ``ENGRAM_*`` settings from this process, as ``bench.wire.environment`` does for a server's."""
    for name in [name for name in os.environ if name.startswith("ENGRAM_") and name != "ENGRAM_BENCH_DATA"]:
        del os.environ[name]

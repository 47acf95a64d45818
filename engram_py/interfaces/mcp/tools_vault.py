"""The tools of notes and of the files of a vault. The profile ``layers`` offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram_py.interfaces.mcp.argument_types import Field
from engram_py.interfaces.mcp.tool_registry import READS, SETTLES, WRITES, tool
from engram_py.interfaces.mcp.tools_memory import Project, SessionId

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.observations.listing import Listing
    from engram_py.observations.values import Saved
    from engram_py.vault.values import FileList, FileText, FileWritten

Path = Annotated[str, Field(description="Relative to the vault: knowledge/databases.md.")]


@tool(title="Note of the day", hints=WRITES, aliases={"note": "text"})
def mem_note(
    app: Engram,
    text: Annotated[str | None, Field(description="Left out, the notes of the day are listed.")] = None,
    day: Annotated[str | None, Field(description="2026-03-14, today or yesterday.")] = None,
    project: Project = None,
    session_id: SessionId = None,
) -> Saved | Listing:
    """Append a note to today's: passing things that are no decision. Notes are never changed; the next session's start
    shows those of today and yesterday."""
    if text is None:
        return app.notes.of_day(day, project=project)
    return app.notes.add(text, project=project, session_id=session_id, origin="agent")


@tool(title="Write a file of the vault", hints=SETTLES)
def mem_write(
    app: Engram,
    path: Path,
    content: Annotated[str, Field(description="The whole text, or what to append.")],
    append: Annotated[bool, Field(description="Put it behind what is there.")] = False,
    project: Project = None,
) -> FileWritten:
    """Write or append a Markdown, text or JSON file of the person's vault, with the folders it needs."""
    return app.vault_files.write(path, content, append=append, project=project)


@tool(title="Read a file of the vault", hints=READS)
def mem_get(
    app: Engram,
    path: Annotated[str | None, Field(description="Left out, the files are listed.")] = None,
    under: Annotated[str, Field(description="List this folder only.")] = "",
    project: Project = None,
) -> FileText | FileList:
    """Read a file of the person's vault, or list its files."""
    if path is None:
        return app.vault_files.list(under, project=project)
    return app.vault_files.read(path, project=project)

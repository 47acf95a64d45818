"""The words of what setup did to an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.base.files import lines_of

if TYPE_CHECKING:
    from engram_py.interfaces.setup.installing import Done


def description(done: Done, *, dry_run: bool) -> str:
    """Return what was done, or would be, a line for each step."""
    lines = [f"{done.title} ({done.scope})" + ("" if done.changed else ": nothing to change")]
    for step in done.steps:
        if dry_run and step.diff:
            lines.append(step.diff.rstrip("\n"))
        elif done.changed:
            lines.append(f"  {'would be ' if dry_run else ''}{step.kind}: {step.what}")
        if step.replaces:
            verb = "would replace" if dry_run else "replaced"
            lines.append(f"  {verb} your server engram ({step.replaces}); `engram unsetup` restores it")
        if step.note:
            lines.append(f"  {step.note}")
    if done.changed and not dry_run and done.note:
        lines += [f"  {note}" for note in lines_of(done.note)]
    return "\n".join(lines)

"""The rare questions only git itself can answer, asked through GitPython, which is imported here alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.git.config_file import Entry
from engram_py.log import logger_of

if TYPE_CHECKING:
    from git import Git

logger = logger_of(__name__)

_TIMEOUT_SECONDS = 2.0


def merged_config(root: Path) -> list[Entry] | None:
    """The repository's configuration with its conditional includes; None when it cannot be had."""
    # Without this, `import git` raises where no git program is installed.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    try:
        import git

        # The root, not the git directory: given that, GitPython 3.2 stumbles over `includeIf "gitdir:…"`.
        with git.Repo(root) as repo, repo.config_reader() as reader:
            entries = []
            for name in reader.sections():
                section, _, subsection = name.partition(" ")
                for key, values in reader.items_all(name):
                    entries += [
                        Entry(section.lower(), subsection.strip('"') or None, key.lower(), str(v)) for v in values
                    ]
            return entries
    except Exception:  # whatever a damaged repository makes of GitPython, a name without git is the answer
        logger.debug("GitPython cannot read the configuration of %s", root, exc_info=True)
        return None


def git_head(git_dir: Path) -> tuple[str | None, str | None]:
    """The branch and the commit as git says them: for ref formats that only git reads."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    try:
        import git

        command = git.Git(str(git_dir))
        branch = _ask(command, "symbolic-ref", "--quiet", "--short", "HEAD")
        return branch, _ask(command, "rev-parse", "--verify", "--quiet", "HEAD")
    except Exception:
        logger.debug("git cannot read the HEAD of %s", git_dir, exc_info=True)
        return None, None


def _ask(command: Git, *arguments: str) -> str | None:
    status, out, _ = command.execute(
        ["git", *arguments], with_extended_output=True, with_exceptions=False, kill_after_timeout=_TIMEOUT_SECONDS
    )
    return str(out).strip() or None if status == 0 else None

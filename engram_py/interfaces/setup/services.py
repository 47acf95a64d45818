"""Files that let systemd or launchd start the server."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence

_LABEL = "io.engram.serve"
_SYSTEMD = """\
# ~/.config/systemd/user/engram.service
# systemctl --user daemon-reload && systemctl --user enable --now engram
# A token of your own belongs into the file that EnvironmentFile names (mode 600), as a line ENGRAM_HTTP_TOKEN=...
[Unit]
Description=engram: memory for coding agents

[Service]
Type=exec
ExecStart={command}
{environment}EnvironmentFile=-%h/.config/engram/serve.env
WorkingDirectory=%h
Restart=on-failure
RestartSec=2
NoNewPrivileges=true
UMask=0077

[Install]
WantedBy=default.target
"""


def systemd_unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a user unit that runs ``command``."""
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in environment.items())
    return _SYSTEMD.format(command=" ".join(_quoted(word).replace("$", "$$") for word in command), environment=lines)


def launchd_unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a launch agent that runs ``command``; it belongs into ``~/Library/LaunchAgents``."""
    values = {
        "Label": _LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    return plistlib.dumps(values, sort_keys=False).decode()


def _quoted(text: str) -> str:
    """Return one word of a systemd line, where ``%`` starts an expansion and quotes and backslashes are its own."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'

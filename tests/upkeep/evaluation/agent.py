"""A scripted agent: it does what its context says, and knows by itself how to mend ``greet.py``.

As a real one it is started with a prompt, reads the notes that the prompt names, and runs engram's hooks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

_DO = re.compile(r"In (\S+) replace `([^`]+)` by `([^`]*)`")


def hooked(prompt: str) -> str:
    """Return what engram gives a session that starts and its first prompt."""
    given = json.dumps({"session_id": "ab", "cwd": str(Path.cwd()), "prompt": prompt, "source": "startup"})
    told = ""
    for event in ("session-start", "user-prompt"):
        command = [sys.executable, "-m", "engram_py", "hook", event, "--agent", "claude-code", "--limit-ms", "60000"]
        told += subprocess.run(command, input=given, capture_output=True, text=True, check=False).stdout
    return told


def main(prompt: str) -> None:
    with Path(os.environ["AGENT_LOG"]).open("a") as log:
        log.write(f"{prompt.splitlines()[0]}\n")
    if "sleeps" in prompt:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", os.environ["AGENT_LOG"]])
        time.sleep(600)
    named = re.search(r"sessions are in (\S+)\.$", prompt)
    context = (Path(named[1]).read_text() if named else "") + hooked(prompt)
    topic = "greet.py" if "greet" in prompt else "cart.py"
    for file, old, new in dict.fromkeys(_DO.findall(context)) or []:
        if file == topic:
            Path(file).write_text(Path(file).read_text().replace(old, new))
            return
    if topic == "greet.py":
        Path(topic).write_text(Path(topic).read_text().replace("'Hi' + name", "'Hi ' + name"))


if __name__ == "__main__":
    main(sys.argv[1])

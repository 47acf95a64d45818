"""``engram`` and ``python -m engram_py``."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn


def main() -> None:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        # An agent waits for its hooks: they pay for neither click nor anything a command line needs.
        gc.disable()  # the process is over before there is anything to collect
        from engram_py.interfaces.hooks.entry import main as hook

        hook(sys.argv[2:])
    # Imports make objects that stay; looking through them for garbage again and again is a tenth of the start-up.
    gc.set_threshold(50_000, 20, 20)
    # Windows consoles and pipes speak a local code page unless told otherwise.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = _run()
    except KeyboardInterrupt:  # before there was a command to interrupt
        code = 130
    _end(code)


def _run() -> int:
    if sys.argv[1:2] == ["mcp"]:
        # An agent waits for its server as well: where it gives options alone, click is not loaded for them.
        from engram_py.interfaces.mcp.stdio import main as serve
        from engram_py.interfaces.mcp.stdio import options

        if (given := options(sys.argv[2:])) is not None:
            return serve(**given)
    from engram_py.interfaces.cli.main import run

    return run()


def _end(code: int) -> NoReturn:
    """End the process. Where nothing is left to do, without taking the interpreter apart: 12 ms of a command."""
    import threading

    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # what cannot be written any more is for the interpreter to say
            sys.exit(code)
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()

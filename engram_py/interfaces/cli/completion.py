"""``engram completion``."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import json_option


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="The shell to complete in.")
@json_option
def completion_command(shell: str, as_json: bool) -> None:
    """Print the script that completes commands and options with the Tab key.

    bash: engram completion bash > ~/.local/share/bash-completion/completions/engram
    zsh: engram completion zsh > a folder of $fpath, as _engram
    fish: engram completion fish > ~/.config/fish/completions/engram.fish
    """
    from click.shell_completion import get_completion_class

    from engram_py.interfaces.cli.main import cli

    completes = get_completion_class(shell)
    assert completes is not None
    script = completes(cli, {}, "engram", "_ENGRAM_COMPLETE").source()
    if as_json:
        import json

        script = json.dumps({"shell": shell, "script": script})
    click.echo(script)

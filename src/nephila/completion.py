"""Scripts with which a shell completes what may be written after `nephila`, made by shtab from the parsers of all commands."""

from __future__ import annotations

import argparse

from nephila.errors import ConfigError
from nephila.terminal import conclude, put

SHELLS = ("bash", "zsh", "fish")


def show(args: argparse.Namespace) -> int:
    """`nephila completion`."""
    made = script(args.shell)
    if args.json:
        return conclude(True, {"shell": args.shell, "script": made}, ())
    put(made)  # as it is: tabs count, and nothing in it comes from outside
    return 0


def script(shell: str) -> str:
    """The script for `shell`. Raises ConfigError for another than SHELLS."""
    import shtab

    if shell not in SHELLS:
        raise ConfigError(f"{shell}: no script for this shell; there are: {', '.join(SHELLS)}")
    made: str = shtab.complete(_whole(), shell)
    return made


def _whole() -> argparse.ArgumentParser:
    """One parser of all commands; nobody parses with it."""
    from nephila.cli import COMMANDS

    root = argparse.ArgumentParser("nephila", description="A web spider")
    root.add_argument("--version", action="store_true", help="which version this is")
    words = root.add_subparsers()
    for word, command in COMMANDS.items():
        parser = command.build()
        for action in parser._actions:
            _offer(action)
        words.add_parser(word, parents=[parser], add_help=False, help=command.about)
    return root


def _offer(action: argparse.Action) -> None:
    """What may stand in place of the value: folders, files, or one of a few words."""
    import shtab

    from nephila.job import VIEWS
    from nephila.settings import CHOICES

    words = {"view": VIEWS, "shell": SHELLS}.get(action.dest) or CHOICES.get(action.dest.removeprefix("key_"), ())
    if words and action.nargs != 0:
        action.choices = list(words)
    elif action.metavar == "DIR":
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif action.metavar == "FILE":
        action.complete = shtab.FILE  # type: ignore[attr-defined]

"""What was probably meant: the sentences for the mistakes that people make first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from nephila.errors import ConfigError

SHOWN_MAX, ENTRIES_MAX = 5, 1000


def jobs_in(place: Path) -> list[Path]:
    """Folders of crawls: this one, or those in it; the one that was begun or changed last comes first."""
    if is_job(place):
        return [place]
    with os.scandir(place) as entries:
        folders = [Path(entry.name) for entry, _ in zip(entries, range(ENTRIES_MAX), strict=False) if entry.is_dir()]
    return sorted(filter(is_job, folders), key=lambda folder: (folder / "crawl.toml").stat().st_mtime, reverse=True)


def is_job(folder: Path) -> bool:
    return (folder / "crawl.toml").is_file() or (folder / "crawl.db").exists()


def crawls_here() -> str:
    """ "; crawls here: a, b", or nothing."""
    found = jobs_in(Path())
    more = ", …" if len(found) > SHOWN_MAX else ""
    return f"; crawls here: {', '.join(str(folder) for folder in found[:SHOWN_MAX])}{more}" if found else ""


def missing(arguments: str, command: str) -> str:
    """Something has to follow the command that does not."""
    if arguments.startswith("DIR"):
        return f"say which crawl: {command} {arguments.replace(', ', ' ')}{crawls_here()}"
    return f"{arguments} is missing"


def command(word: str, commands: Iterable[str]) -> str:
    """`word` is none of the commands."""
    from nephila.values import nearest

    if "." in word or "/" in word or word.startswith("localhost"):
        return f"to crawl an address, say: nephila crawl {word}"
    near = nearest(word, commands, 0.65)
    hint = f"; did you mean nephila {near}?" if near else f"; there are: {', '.join(commands)}"
    return f"{word} is not a command{hint}"


def view(word: str, folder: Path | None, views: Iterable[str]) -> str:
    """`word` is none of the views."""
    from nephila.values import nearest

    if folder is not None and str(folder) in views:
        return f"the view comes first: nephila export {folder} {word}"
    if folder is None and is_job(Path(word)):
        return f"say which view of {word}, such as: nephila export mirror {word}; there are: {', '.join(views)}"
    near = nearest(word, views)
    return f"{word} is not a view; {f'did you mean {near}?' if near else 'there are: ' + ', '.join(views)}"


def check_seeds(seeds: Iterable[str]) -> None:
    """Raises ConfigError for an address that is rather a file of addresses, or the folder of a crawl."""
    for seed in seeds:
        if "://" in seed or len(seed) > 255 or "\0" in seed:
            continue
        if os.path.isfile(seed):
            raise ConfigError(
                f"{seed} is a file: -i {seed} crawls the addresses in it, https://{seed} a site of that name"
            )
        if "." not in seed and is_job(Path(seed)):
            raise ConfigError(f"{seed} is the folder of a crawl: nephila crawl -o {seed} carries on")

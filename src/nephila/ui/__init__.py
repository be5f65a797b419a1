"""The window: a server on this machine that shows a crawl, steers it, and replays what it kept (docs/window.md)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from nephila.errors import ConfigError

if TYPE_CHECKING:
    from nephila.views.source import Source


def run(
    source: AbstractContextManager[Source],
    title: str,
    port: int,
    tell: Callable[[str], object],
    folder: Path | None = None,
) -> None:
    """Serve until interrupted; see `serve.run`. Raises ConfigError when the extra is missing."""
    try:
        from nephila.ui import serve
    except ImportError as error:
        raise ConfigError(f"the window needs {error.name}: pip install 'nephila[ui]'") from error
    serve.run(source, title, port, tell, folder)

"""The window: a server on this machine that shows a crawl, steers it, and replays what it kept (docs/window.md)."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
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
    tell: Callable[[str, str], object],
    folder: Path | None = None,
    token: str = "",
) -> None:
    """Serve until interrupted; see `serve.run`. Raises ConfigError when the extra is missing."""
    try:
        from nephila.ui import serve
    except ImportError as error:
        raise ConfigError(f"the window needs {error.name}: pip install 'nephila[ui]'") from error
    serve.run(source, title, port, tell, folder, token)


def token(file: Path | None, env: Mapping[str, str]) -> str:
    """What programs have to send: of `file`, which is made with a new one when it is not there, or of NEPHILA_TOKEN; "" without either.
    Raises ConfigError."""
    try:
        if file is not None and not file.exists():
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
                new.write(secrets.token_urlsafe(32) + "\n")
        found = env.get("NEPHILA_TOKEN", "") if file is None else file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file {file} cannot be used: {getattr(error, 'strerror', None) or error}") from error
    if (found or file) and not re.fullmatch(r"[A-Za-z0-9._~+/=-]{16,256}", found):
        place = f"--token-file {file}" if file else "NEPHILA_TOKEN"
        raise ConfigError(f"{place}: a token has 16 to 256 letters, digits and -._~+/= (RFC 6750)")
    return found

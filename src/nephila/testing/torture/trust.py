"""The authority of the torture server: its certificates hold where its file is given (`--ca`), and nowhere else."""

from __future__ import annotations

import functools
import ssl
import tempfile
import weakref
from pathlib import Path
from shutil import rmtree

from nephila.testing.certificates import Authority, server_side

TRUSTED = {"ca": "authority.pem"}
"""Settings of a case whose certificate is to be believed; the file lies beside the configuration."""


@functools.cache
def authority(name: str = "Torture authority") -> Authority:
    """Made when first asked for, gone with the process. Another name is an authority that nobody trusts."""
    folder = Path(tempfile.mkdtemp(prefix="nephila-torture-"))
    found = Authority(folder, name)
    weakref.finalize(found, rmtree, folder, ignore_errors=True)
    return found


def believed(host: str, *alpn: str) -> ssl.SSLContext:
    """A server's side of TLS, with a good certificate for `host`."""
    return server_side(authority().issue([host]), alpn=alpn)

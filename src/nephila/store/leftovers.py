"""Uploads that a kill left half done: no object shows them, but the store keeps their parts, and charges for them.

obstore has no word for them, so S3 is asked itself, through the client that is there anyway (libcurl signs the requests).
Other stores throw such parts away after a week by themselves.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from nephila.store.objects import KEY_VARIABLE, REQUEST_S, Trouble

_UPLOAD = re.compile(r"<Upload>(.*?)</Upload>", re.DOTALL)


def abort(address: str, key: str = "") -> int:
    """Abort every unfinished upload of the folder at `address`. Returns how many there were. Only for who holds the job's lock:
    nobody else uploads there. Without a key that is known here, the bucket's own rule for unfinished uploads has to do it."""
    parts = urlsplit(address)
    id, _, secret = (key or os.environ.get(KEY_VARIABLE, "")).partition(":")
    id, secret = id or os.environ.get("AWS_ACCESS_KEY_ID", ""), secret or os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if parts.scheme != "s3" or not id or not secret:
        return 0
    asked = _Asked(address, id, secret)
    found = list(asked.uploads(unquote(parts.path).strip("/")))
    for name, upload in found:
        asked.send("DELETE", f"{quote(name)}?uploadId={quote(upload, safe='')}")
    return len(found)


class _Asked:
    """Signed requests to one bucket, path style."""

    def __init__(self, address: str, id: str, secret: str) -> None:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query))
        self._region = (
            given.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        )
        endpoint = (
            given.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL") or f"https://s3.{self._region}.amazonaws.com"
        )
        self._base, self._user = f"{endpoint.rstrip('/')}/{parts.netloc}", f"{id}:{secret}"

    def uploads(self, prefix: str) -> Iterator[tuple[str, str]]:
        """(key, upload id). The first thousand: no job leaves more."""
        query = f"?prefix={quote(f'{prefix}/' if prefix else '', safe='')}&uploads="
        for text in _UPLOAD.findall(self.send("GET", query).decode()):
            yield _field(text, "Key"), _field(text, "UploadId")

    def send(self, method: str, rest: str) -> bytes:
        import pycurl  # type: ignore[import-untyped]

        out, curl = io.BytesIO(), pycurl.Curl()
        try:
            curl.setopt(pycurl.URL, f"{self._base}{'' if rest[:1] == '?' else '/'}{rest}")
            curl.setopt(pycurl.CUSTOMREQUEST, method)
            curl.setopt(pycurl.AWS_SIGV4, f"aws:amz:{self._region}:s3")
            curl.setopt(pycurl.USERPWD, self._user)
            curl.setopt(pycurl.TIMEOUT, REQUEST_S)
            token = os.environ.get("AWS_SESSION_TOKEN")
            curl.setopt(pycurl.HTTPHEADER, [f"x-amz-security-token: {token}"] if token else [])
            curl.setopt(pycurl.WRITEFUNCTION, out.write)
            curl.perform()
            status = curl.getinfo(pycurl.RESPONSE_CODE)
        except pycurl.error as error:
            raise Trouble(f"unfinished uploads: {error.args[-1]}") from None
        finally:
            curl.close()
        if status >= 300:
            raise Trouble(f"unfinished uploads: the store answers {status}")
        return out.getvalue()


def _field(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return unescape(found[1]) if found else ""

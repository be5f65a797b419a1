"""URL → file name that every system accepts: Linux, macOS and Windows get the same names, and no two URLs one file.

Readable where possible (`/a/b?q=1` → `a/b@q=1.html`, percent-escapes of UTF-8 decoded), escaped as `%XX` where a character is
forbidden somewhere, shortened with a hash where too long. What still meets another name (`A` and `a`, NFC and NFD, a file
and a folder of one name) gets a hash of its URL; who comes first keeps the plain name, so names depend on the set of URLs
and their order alone, and stay when more URLs come later.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import unicodedata
from urllib.parse import unquote_to_bytes

SEGMENT_MAX = 200
"""Bytes of a name in UTF-8: 255 is the limit of most file systems, and drafts and archives add to it."""
PATH_MAX = 700
"""Bytes of a path below the mirror: macOS allows 1,024 in all."""
PATH_CHARS_MAX = 180
"""Characters (UTF-16 units) of a path below the mirror: most programs for Windows allow 260 in all."""
RESERVED = ("index.html", "index.jsonl")
"""Our own files at the top: no host may take their names."""

EXTENSIONS = {
    "text/html": ("html", "htm", "xhtml", "xht"),
    "application/xhtml+xml": ("xhtml", "xht", "html", "htm"),
    "text/x-ftp-listing": ("html", "htm"),
    "text/css": ("css",),
    "text/javascript": ("js", "mjs"),
    "application/javascript": ("js", "mjs"),
    "application/x-javascript": ("js", "mjs"),
    "application/json": ("json", "map", "webmanifest", "geojson", "jsonld", "ipynb"),
    "application/pdf": ("pdf",),
    "application/epub+zip": ("epub",),
    "application/msword": ("doc", "dot"),
    "application/vnd.ms-excel": ("xls", "xlt", "xla"),
    "application/vnd.ms-powerpoint": ("ppt", "pps", "pot"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("docx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("xlsx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ("pptx",),
    "application/zip": ("zip", "jar", "epub", "docx", "xlsx", "pptx", "odt", "ods", "odp", "apk", "xpi", "whl", "kmz"),
    "image/svg+xml": ("svg",),
    "image/png": ("png", "apng"),
    "image/jpeg": ("jpg", "jpeg", "jpe", "jfif"),
    "image/gif": ("gif",),
    "image/webp": ("webp",),
    "image/avif": ("avif",),
    "image/bmp": ("bmp", "dib"),
    "image/tiff": ("tif", "tiff"),
    "image/x-icon": ("ico", "cur"),
    "image/vnd.microsoft.icon": ("ico", "cur"),
    "audio/mpeg": ("mp3", "mpga", "mp2", "mpa"),
    "audio/ogg": ("ogg", "oga", "opus", "spx"),
    "audio/wav": ("wav",),
    "audio/mp4": ("m4a", "mp4"),
    "video/mp4": ("mp4", "m4v", "mp4v"),
    "video/webm": ("webm",),
    "video/ogg": ("ogv", "ogg"),
    "font/woff": ("woff",),
    "font/woff2": ("woff2",),
    "font/ttf": ("ttf",),
    "font/otf": ("otf",),
}
"""Media types → the endings of which a file must have one, so that it opens as what it is (browsers believe the ending of a file
alone); the first one is appended where none of them is there."""

_ACTIVE = frozenset({"html", "htm", "xhtml", "xht", "shtml", "mht", "mhtml", "svg", "svgz", "xml", "xsl", "xslt"})
"""A file of any other type must not end so, or it would open as a page. Plain text gets `.txt` behind it, the rest `.bin`."""

_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*%\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]'
)
"""Forbidden on Windows, invisible, or turning the direction of writing (a name must look like what it is)."""
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$) *(?=\.|$)|(?:desktop\.ini|autorun\.inf|thumbs\.db)$",
    re.I,
)
"""Devices of Windows, whatever the ending, and files that its Explorer obeys."""
_SHORT = re.compile(r"~(?=[0-9]{1,6}(?:\.|$))")
"""As Windows names files for programs that know eight letters only: LONGNA~1.HTM may be another file."""
_ESCAPES = re.compile(r"(?:%[0-9a-fA-F]{2})+")


def wanted(url: str, media_type: str) -> list[str]:
    """The segments of the plain name of a serialised URL: host first, then folders, then the file."""
    rest = url.partition("://")[2].partition("#")[0]
    before, mark, query = rest.partition("?")
    authority, _, path = before.partition("/")
    host = authority.rpartition("@")[2].replace(":", "_")
    if url.startswith("ftp:") and ":" not in authority:
        host += "_21"  # else two servers would share the folder of their host
    *folders, last = path.split("/")
    name = last or "index"
    stem, ending = _split(name, media_type)
    file = safe(_readable(stem) + (f"@{_readable(query)}" if mark else ""), f".{ending}" if ending else "")
    return [safe(host), *(safe(_readable(folder)) for folder in folders), file]


def _split(name: str, media_type: str) -> tuple[str, str]:
    """(stem, ending) of a file: its own ending when it fits the media type, else the one the media type needs."""
    stem, dot, own = name.rpartition(".")
    short = bool(stem and dot) and re.fullmatch(r"[A-Za-z0-9]{1,11}", own) is not None
    needed = EXTENSIONS.get(media_type, ())
    if needed:
        return (stem, own) if short and own.lower() in needed else (name, needed[0])
    plain = media_type == "text/plain"
    if (not short and plain) or (media_type and own.lower() in _ACTIVE and not media_type.endswith(("/xml", "+xml"))):
        return name, "txt" if plain else "bin"
    return (stem, own) if short else (name, "")


def _readable(text: str) -> str:
    """Percent-escapes that spell UTF-8 are decoded; others stay and are escaped once more by `safe`."""
    return unicodedata.normalize("NFC", _ESCAPES.sub(_decoded, text))


def _decoded(found: re.Match[str]) -> str:
    try:
        return unquote_to_bytes(found[0]).decode()
    except UnicodeDecodeError:
        return found[0]


def safe(stem: str, ending: str = "") -> str:
    """One segment that may be a name everywhere, at most SEGMENT_MAX bytes. Never empty, `.` or `..`."""
    name = _SHORT.sub("%7E", _UNSAFE.sub(_escaped, stem))
    if name[:1] in {"-", "~", ".", " "}:
        name = _escape(name[0]) + name[1:]
    if not ending and name[-1:] in {".", " "}:
        name = name[:-1] + _escape(name[-1])
    if _RESERVED.match(name + ending):
        name = "_" + name
    name = name or "_"
    if len((name + ending).encode()) > SEGMENT_MAX:
        name = f"{_cut(name, SEGMENT_MAX - 20 - len(ending))}~{_hash(stem)}"
    return name + ending


def _escaped(found: re.Match[str]) -> str:
    return _escape(found[0])


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore").rstrip(". ")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


class Names:
    """Hands out names, none twice. What was handed out is kept in a table of `con`, not in memory."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        con.execute(
            "CREATE TABLE name (folded TEXT PRIMARY KEY, path TEXT NOT NULL, folder INTEGER NOT NULL) WITHOUT ROWID"
        )
        for name in RESERVED:
            self._claim(name, folder=False)

    def give(self, url: str, media_type: str) -> str:
        """The path of a URL below the mirror, `/` between segments."""
        segments = wanted(url, media_type)
        plain = "/".join(segments)
        if len(plain.encode()) > PATH_MAX or len(plain.encode("utf-16-le")) > 2 * PATH_CHARS_MAX:
            stem, ending = _split(segments[-1], media_type)
            segments = [segments[0], "_long", f"{_cut(stem, 60)}~{_hash(url)}{'.' + ending if ending else ''}"]
        above = ""
        for segment in segments[:-1]:
            above = self._folder(f"{above}{segment}")
        return self._file(above, segments[-1], url)

    def _folder(self, path: str) -> str:
        """The folder of this name, as it was first spelled; another one where a file has the name."""
        while (there := self._there(path)) and not there[1]:
            path += "~d"
        return f"{there[0] if there else self._claim(path, folder=True)}/"

    def _file(self, above: str, name: str, url: str) -> str:
        path, tries = above + name, 0
        stem, dot, ending = name.rpartition(".")
        while self._there(path):
            mark = _hash(url + "\n" * tries)
            path, tries = f"{above}{stem}~{mark}.{ending}" if stem and dot else f"{above}{name}~{mark}", tries + 1
        return self._claim(path, folder=False)

    def _there(self, path: str) -> tuple[str, int] | None:
        found: tuple[str, int] | None = self._con.execute(
            "SELECT path, folder FROM name WHERE folded = ?", (_fold(path),)
        ).fetchone()
        return found

    def _claim(self, path: str, *, folder: bool) -> str:
        self._con.execute("INSERT INTO name VALUES (?, ?, ?)", (_fold(path), path, folder))
        return path


def _fold(path: str) -> str:
    """Equal for names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())

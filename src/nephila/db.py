"""crawl.db: the public schema, and its read side.

The schema is a contract with users: any SQLite tool may query it (docs/schema.md has every column). Rooms that only read
(`views`, `explain`, `status`) open it with `reader`; the only writer is `frontier.sqlite`. A fingerprint is stored as a
signed 64-bit integer: fingerprint − 2⁶³. Times are Unix seconds, UTC.

Ids ascend in the order of commit, so whoever follows a crawl finds what is new behind the highest id he knows; table `change`
names the rows that changed in another way. Triggers write it, so that nobody has to remember; none of them fires when a URL
is visited, which happens most. Whoever sets `url.state` to anything but done sets `rule` with it: that is what they look at.
(docs/decisions/0039-tables-in-three-forms.md)
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nephila.errors import Damaged, JobError

SCHEMA = 5
BIAS = 1 << 63
"""SQLite's integers are signed: a fingerprint is stored minus this."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE host (
  id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE, ip TEXT NOT NULL DEFAULT '',
  due REAL NOT NULL DEFAULT 0, delay REAL NOT NULL DEFAULT 0, ttfb REAL NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  parked_until REAL NOT NULL DEFAULT 0, verdict TEXT NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT '',
  robots BLOB, robots_state TEXT NOT NULL DEFAULT '', robots_status INTEGER NOT NULL DEFAULT 0,
  crawl_delay REAL NOT NULL DEFAULT -1,
  robots_fetched REAL NOT NULL DEFAULT 0, robots_expires REAL NOT NULL DEFAULT 0,
  pages INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE rule (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, since REAL NOT NULL, count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE rule_host (rule INTEGER NOT NULL, host TEXT NOT NULL, count INTEGER NOT NULL, examples TEXT NOT NULL,
  PRIMARY KEY (rule, host)) WITHOUT ROWID;
CREATE TABLE url (
  id INTEGER PRIMARY KEY, fp INTEGER NOT NULL, host INTEGER NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL,
  depth INTEGER NOT NULL, hops INTEGER NOT NULL DEFAULT 0, parent INTEGER NOT NULL, score INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL, due REAL NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, unread TEXT NOT NULL DEFAULT '',
  rule INTEGER NOT NULL DEFAULT 0, visit INTEGER NOT NULL DEFAULT 0);
CREATE INDEX url_aside ON url (state) WHERE state NOT IN ('queued', 'done');
CREATE INDEX url_special ON url (kind) WHERE state = 'queued' AND (parent = 0 OR hops > 0 OR kind = 'robots');
CREATE TABLE known (first INTEGER PRIMARY KEY, fps BLOB NOT NULL);
CREATE TABLE visit (
  id INTEGER PRIMARY KEY, url INTEGER NOT NULL, round INTEGER NOT NULL, started REAL NOT NULL,
  outcome TEXT NOT NULL, reason TEXT NOT NULL, status INTEGER NOT NULL, protocol TEXT NOT NULL, ip TEXT NOT NULL,
  media_type TEXT NOT NULL, charset TEXT NOT NULL, bytes INTEGER NOT NULL, ms INTEGER NOT NULL, digest TEXT NOT NULL,
  truncated TEXT NOT NULL, access TEXT NOT NULL, same_as INTEGER NOT NULL, moved_to TEXT NOT NULL,
  title TEXT NOT NULL, language TEXT NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  before INTEGER NOT NULL DEFAULT 0);
CREATE TABLE attempt (
  url INTEGER NOT NULL, round INTEGER NOT NULL, n INTEGER NOT NULL, started REAL NOT NULL, status INTEGER NOT NULL,
  reason TEXT NOT NULL, ms INTEGER NOT NULL, bytes INTEGER NOT NULL, retry_due REAL NOT NULL);
CREATE INDEX attempt_url ON attempt (url);
CREATE TABLE link (visit INTEGER PRIMARY KEY, flat INTEGER NOT NULL, targets BLOB NOT NULL);
CREATE TABLE relax (fp INTEGER PRIMARY KEY, depth INTEGER NOT NULL);
CREATE TABLE cookie (
  domain TEXT NOT NULL, host_only INTEGER NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  expires REAL NOT NULL, secure INTEGER NOT NULL, http_only INTEGER NOT NULL, PRIMARY KEY (domain, path, name)) WITHOUT ROWID;
CREATE TABLE archive (
  id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, worker INTEGER NOT NULL, pid INTEGER NOT NULL DEFAULT 0,
  committed INTEGER NOT NULL DEFAULT 0, records INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  sha256 TEXT NOT NULL DEFAULT '', store TEXT NOT NULL DEFAULT '');
CREATE TABLE item (id INTEGER PRIMARY KEY, url INTEGER NOT NULL, round INTEGER NOT NULL, n INTEGER NOT NULL, value TEXT NOT NULL);
CREATE INDEX item_url ON item (url);
CREATE TABLE change (id INTEGER PRIMARY KEY, url INTEGER NOT NULL, visit INTEGER NOT NULL);
CREATE TRIGGER url_change AFTER UPDATE OF url, kind, depth, parent, rule ON url
  BEGIN INSERT INTO change (url, visit) VALUES (old.id, 0); END;
CREATE TRIGGER visit_change AFTER UPDATE ON visit BEGIN INSERT INTO change (url, visit) VALUES (old.url, 0); END;
CREATE TRIGGER visit_gone AFTER DELETE ON visit BEGIN INSERT INTO change (url, visit) VALUES (old.url, old.id); END;
CREATE TABLE site_link (site TEXT NOT NULL, linker TEXT NOT NULL, PRIMARY KEY (site, linker)) WITHOUT ROWID;
"""


def database(folder: Path) -> Path:
    """Where the job's crawl.db lies. `--state-dir` leaves a pointer file `crawl.db.at`."""
    pointer = folder / "crawl.db.at"
    return Path(pointer.read_text().strip()) / "crawl.db" if pointer.exists() else folder / "crawl.db"


ASIDE = "u.state NOT IN ('queued', 'done')"
"""Said of table `url` besides the state that is looked for, it lets SQLite use the index of rows that are set aside."""


def visits_back(latest: str, most: int | None = None) -> str:
    """The head of a query: table `back` (id) of the visits that `latest` selects and of all before them of the same URLs.

    `latest`: a SELECT of url.visit, 0 where there is none. `most`: how many visits in all.
    """
    end = "" if most is None else f" LIMIT {most}"
    return f"""WITH RECURSIVE back (id) AS ({latest} UNION ALL
  SELECT w.before FROM back JOIN visit w ON w.id = back.id WHERE w.before > 0{end})"""


def meta(con: sqlite3.Connection) -> dict[str, str]:
    """Table `meta`: what is said once of the whole job (docs/schema.md)."""
    return dict(con.execute("SELECT key, value FROM meta").fetchall())


def reader(folder: Path) -> sqlite3.Connection:
    """A read-only connection to the job in `folder`. Raises JobError when there is none, Damaged when it is not readable."""
    path = database(folder)
    if not folder.is_dir():
        raise JobError(f"there is no folder {folder}")
    if not path.is_file():
        raise JobError(f"{folder} is not a crawl: it has no crawl.db")
    try:
        con = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
        con.execute("PRAGMA query_only = 1")
        (schema,) = con.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    except (sqlite3.Error, TypeError) as error:
        raise Damaged(f"{path} does not read as a crawl database ({error})") from error
    if int(schema) > SCHEMA:
        raise JobError(
            f"{path} was written by a newer Nephila (schema {schema}, this one knows {SCHEMA}): upgrade first"
        )
    return con


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")

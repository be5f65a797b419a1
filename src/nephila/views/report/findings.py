"""What is looked for: one row per finding, with the question that finds it.

The first column of every finding is the place where something is to be mended; the codes in column `problem` are explained in
`words`. Questions are put to the tables of `facts`. Thresholds have names here and reasons in docs/report.md.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from nephila.types import TLS_FAILURES, UNVERIFIED

TITLE_WIDTH_MIN, TITLE_WIDTH_MAX = 5, 70
"""Columns of text, of which a Chinese character takes two: lists of results show about 600 pixels."""
DESCRIPTION_WIDTH_MIN, DESCRIPTION_WIDTH_MAX = 50, 320
SLOW_MS = 2_000
HEAVY_PAGE_BYTES = 500_000
HEAVY_PART_BYTES = 1_000_000
DEPTH_MAX = 4
UNREACHED = 255

Grade = Literal["error", "warning", "notice"]


class Finding(NamedTuple):
    """`query` gives the rows of `NAME.csv`, in order, `shown` those of the page (the same without it), whose last column may be a
    count. `columns`: their names."""

    name: str
    grade: Grade
    columns: tuple[str, ...]
    query: str
    shown_columns: tuple[str, ...] = ()
    shown: str = ""

    @property
    def file(self) -> str:
        return f"{self.name}.csv"


_HIT = "FROM hit h JOIN address p ON p.id = h.page JOIN address t ON t.id = h.target"
_PAGE = "FROM page p JOIN address a ON a.id = p.id"
_AT = "JOIN address t ON t.fp = p.canonical_fp"
_ELSEWHERE = "p.canonical_fp NOT IN (0, a.fp)"
# The text is that of the page that min() chose (sqlite.org/lang_select.html#bareagg).
_BY_TARGET = (
    f"SELECT t.url, h.text, min(p.url), t.status, t.reason, count(DISTINCT h.page) AS n {_HIT} WHERE t.broken AND h.part = {{}}"
    " GROUP BY t.id ORDER BY n DESC, t.url"
)
_LISTED = "FROM listed l JOIN address a ON a.fp = l.fp JOIN address s ON s.id = l.sitemap"


def _text(name: str, low: int, high: int) -> str:
    """Missing, repeated, short and long ones of a text of the head. Pages alike to the byte repeat theirs rightly."""
    one = f"SELECT a.url AS url, '{{}}' AS problem, p.{name} AS text, p.{name}_width AS width, {{}} AS pages {_PAGE}"
    same = f"""(SELECT b.host, q.{name}_key AS text, count(*) AS n FROM page q JOIN address b ON b.id = q.id
      WHERE q.listable AND q.{name} != '' GROUP BY 1, 2 HAVING min(q.digest) != max(q.digest))"""
    return " UNION ALL ".join(
        (
            f"{one.format('missing', 1)} WHERE p.listable AND p.{name} = ''",
            f"{one.format('duplicate', 'g.n')} JOIN {same} g ON g.host = a.host AND g.text = p.{name}_key WHERE p.listable",
            f"{one.format('short', 1)} WHERE p.listable AND p.{name}_width BETWEEN 1 AND {low - 1}",
            f"{one.format('long', 1)} WHERE p.listable AND p.{name}_width > {high}",
        )
    )


def _several(*parts: tuple[str, str]) -> str:
    """(problem, rest of the question) each; `{}` in the rest stands where the problem goes."""
    return " UNION ALL ".join(rest.format(f"'{problem}'") for problem, rest in parts)


_TLS = ", ".join(repr(reason) for reason in sorted(TLS_FAILURES))

FINDINGS = (
    Finding(
        "broken_links", "error", ("page", "link", "text", "tag", "status", "reason"),
        f"SELECT p.url, t.url, h.text, h.tag, t.status, t.reason {_HIT} WHERE t.broken AND NOT h.part ORDER BY t.url, p.url, h.text",
        ("link", "text", "example", "status", "reason", "pages"), _BY_TARGET.format(0),
    ),
    Finding(
        "broken_parts", "error", ("page", "part", "text", "tag", "status", "reason"),
        f"SELECT p.url, t.url, h.text, h.tag, t.status, t.reason {_HIT} WHERE t.broken AND h.part ORDER BY t.url, p.url, h.text",
        ("part", "text", "example", "status", "reason", "pages"), _BY_TARGET.format(1),
    ),
    Finding(
        "soft_404", "error", ("page", "title", "linked_from", "pages"),
        """SELECT a.url, coalesce(p.title, ''), (SELECT min(f.url) FROM address f WHERE f.id = r.via), r.pages
          FROM address a JOIN reach r ON r.id = a.id LEFT JOIN page p ON p.id = a.id WHERE a.reason = 'soft_404' ORDER BY a.url""",
    ),
    Finding(
        "mixed_content", "error", ("page", "part", "tag"),
        "SELECT p.url, m.url, m.tag FROM mixed m JOIN address p ON p.id = m.page WHERE p.url LIKE 'https:%' ORDER BY p.url, m.url, m.tag",
    ),
    Finding(
        "certificates", "error", ("origin", "problem", "addresses"),
        f"""SELECT origin, CASE WHEN reason LIKE '{UNVERIFIED}%' THEN 'tls.' || substr(reason, {len(UNVERIFIED) + 1}) ELSE reason END
          AS problem, count(*) FROM address WHERE reason IN ({_TLS}) OR reason LIKE '{UNVERIFIED}%' GROUP BY 1, 2 ORDER BY 1, 2""",
    ),
    Finding(
        "redirects", "warning", ("address", "problem", "hops", "end", "status", "pages", "way"),
        """SELECT a.url, c.problem, c.hops, c.end, c.status, r.pages, c.way FROM chain c JOIN address a ON a.id = c.id
          JOIN reach r ON r.id = a.id WHERE c.problem != '' AND (r.pages > 0 OR a.seed OR EXISTS (SELECT 1 FROM listed l WHERE l.fp = a.fp))
          ORDER BY a.url""",
    ),
    Finding(
        "canonicals", "warning", ("page", "problem", "canonical", "status"),
        _several(
            ("several", f"SELECT a.url AS page, {{}} AS problem, p.canonical, 0 {_PAGE} WHERE p.canonicals > 1"),
            ("broken", f"SELECT a.url, {{}}, p.canonical, t.status {_PAGE} {_AT} WHERE {_ELSEWHERE} AND t.broken"),
            ("redirect", f"SELECT a.url, {{}}, p.canonical, t.status {_PAGE} {_AT} WHERE {_ELSEWHERE} AND t.moved"),
            ("disallowed", f"SELECT a.url, {{}}, p.canonical, 0 {_PAGE} {_AT} WHERE {_ELSEWHERE} AND t.reason = 'robots_disallow'"),
            ("chain", f"SELECT a.url, {{}}, p.canonical, t.status {_PAGE} {_AT} JOIN page q ON q.id = t.id WHERE {_ELSEWHERE}"
                " AND q.canonical_fp NOT IN (0, t.fp)"),
            ("noindex_target", f"SELECT a.url, {{}}, p.canonical, t.status {_PAGE} {_AT} JOIN page q ON q.id = t.id WHERE {_ELSEWHERE} AND q.noindex"),
            ("noindex", f"SELECT a.url, {{}}, p.canonical, 0 {_PAGE} WHERE {_ELSEWHERE} AND p.noindex"),
            ("other_site", f"SELECT a.url, {{}}, p.canonical, 0 {_PAGE} WHERE p.canonical != '' AND host_of(p.canonical) != a.host"),
        ) + " ORDER BY 1, 2",
    ),
    Finding(
        "robots", "warning", ("address", "problem", "linked_from", "pages"),
        _several(
            ("linked", """SELECT a.url AS address, {} AS problem, (SELECT f.url FROM address f WHERE f.id = r.via), r.pages FROM address a
              JOIN reach r ON r.id = a.id WHERE a.reason = 'robots_disallow' AND a.kind != 'embed' AND r.pages > 0"""),
            ("part", """SELECT a.url, {}, (SELECT f.url FROM address f WHERE f.id = r.via), r.pages FROM address a
              JOIN reach r ON r.id = a.id WHERE a.reason = 'robots_disallow' AND a.kind = 'embed'"""),
            ("listed", f"SELECT a.url, {{}}, s.url, 1 {_LISTED} WHERE a.reason = 'robots_disallow'"),
            ("listed_noindex", f"SELECT a.url, {{}}, s.url, 1 {_LISTED} JOIN page p ON p.id = a.id WHERE p.noindex"),
            ("unreachable", """SELECT a.origin || '/robots.txt', {}, '', count(*) FROM address a WHERE a.reason = 'robots_unreachable'
              GROUP BY a.origin"""),
        ) + " ORDER BY 1, 2",
    ),
    Finding(
        "sitemap", "warning", ("address", "problem", "sitemap", "status"),
        _several(
            ("not_linked", f"SELECT a.url AS address, {{}} AS problem, s.url, a.status {_LISTED} JOIN page p ON p.id = a.id JOIN reach r"
                " ON r.id = a.id WHERE p.listable AND r.pages = 0 AND NOT a.seed"),
            ("not_listed", f"SELECT a.url, {{}}, '', a.status {_PAGE} JOIN reach r ON r.id = a.id WHERE p.listable AND (r.pages > 0 OR a.seed)"
                " AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.fp = a.fp) AND a.host IN (SELECT DISTINCT host FROM listed)"),
            ("broken", f"SELECT a.url, {{}}, s.url, a.status {_LISTED} WHERE a.broken"),
            ("redirect", f"SELECT a.url, {{}}, s.url, a.status {_LISTED} WHERE a.moved"),
            ("canonical", f"SELECT a.url, {{}}, s.url, a.status {_LISTED} JOIN page p ON p.id = a.id WHERE {_ELSEWHERE}"),
            ("unreadable", "SELECT a.url, {}, a.url, a.status FROM address a WHERE a.reason = 'sitemap.broken'"),
        ) + " ORDER BY 1, 2",
    ),
    Finding(
        "hreflang", "warning", ("page", "problem", "language", "address"),
        _several(
            ("code", "SELECT a.url AS page, {} AS problem, h.code, h.url FROM alternate h JOIN address a ON a.id = h.page WHERE NOT h.valid"),
            ("broken", """SELECT a.url, {}, h.code, h.url FROM alternate h JOIN address a ON a.id = h.page JOIN address t ON t.fp = h.fp
              WHERE t.broken OR t.moved"""),
            ("no_return", """SELECT a.url, {}, h.code, h.url FROM alternate h JOIN address a ON a.id = h.page JOIN address t ON t.fp = h.fp
              JOIN page q ON q.id = t.id WHERE t.id != a.id AND NOT EXISTS (SELECT 1 FROM alternate b WHERE b.page = t.id AND b.fp = a.fp)"""),
            ("no_self", """SELECT a.url, {}, '', '' FROM (SELECT DISTINCT page FROM alternate) h JOIN address a ON a.id = h.page
              WHERE NOT EXISTS (SELECT 1 FROM alternate b WHERE b.page = a.id AND b.fp = a.fp)"""),
            ("twice", """SELECT a.url, {}, lower(h.code), min(h.url) FROM alternate h JOIN address a ON a.id = h.page
              GROUP BY a.id, lower(h.code) HAVING count(DISTINCT h.fp) > 1"""),
        ) + " ORDER BY 1, 2, 3",
    ),
    Finding(
        "titles", "warning", ("page", "problem", "title", "width", "pages"),
        _text("title", TITLE_WIDTH_MIN, TITLE_WIDTH_MAX) + " ORDER BY problem, text, url",
    ),
    Finding(
        "duplicates", "warning", ("page", "same_as", "title", "bytes", "pages"),
        f"""SELECT a.url, f.url, p.title, f.bytes, g.n {_PAGE} JOIN (SELECT digest, min(id) AS first, count(*) AS n FROM page
          WHERE digest != '' AND NOT soft AND canonical_fp IN (0, (SELECT fp FROM address WHERE id = page.id)) GROUP BY digest HAVING n > 1) g
          ON g.digest = p.digest JOIN address f ON f.id = g.first WHERE p.id != g.first AND NOT p.soft AND p.canonical_fp IN (0, a.fp)
          ORDER BY f.url, a.url""",
    ),
    Finding(
        "near_duplicates", "notice", ("page", "like", "title", "percent"),
        f"""SELECT a.url, f.url, p.title, n.percent {_PAGE} JOIN near n ON n.page = p.id JOIN address f ON f.id = n.leader
          ORDER BY f.url, n.percent DESC, a.url""",
    ),
    Finding(
        "slow", "warning", ("page", "milliseconds", "bytes"),
        f"SELECT a.url, a.ms, a.bytes {_PAGE} WHERE a.ms > {SLOW_MS} ORDER BY a.ms DESC, a.url",
    ),
    Finding(
        "heavy", "warning", ("address", "bytes", "media_type", "pages"),
        f"""SELECT a.url, a.bytes, a.media_type, r.pages FROM address a JOIN reach r ON r.id = a.id LEFT JOIN page p ON p.id = a.id
          WHERE a.outcome = 'OK' AND a.bytes > CASE WHEN p.id IS NULL THEN {HEAVY_PART_BYTES} ELSE {HEAVY_PAGE_BYTES} END
          AND (p.id IS NOT NULL OR a.kind = 'embed') ORDER BY a.bytes DESC, a.url""",
    ),
    Finding(
        "links_to_redirects", "notice", ("page", "link", "text", "leads_to"),
        f"""SELECT p.url, t.url, h.text, c.end {_HIT} JOIN chain c ON c.id = t.id WHERE c.problem IN ('', 'chain') AND NOT h.part
          ORDER BY t.url, p.url, h.text""",
        ("link", "text", "leads_to", "example", "pages"),
        f"""SELECT t.url, h.text, c.end, min(p.url), count(DISTINCT h.page) AS n {_HIT} JOIN chain c ON c.id = t.id
          WHERE c.problem IN ('', 'chain') AND NOT h.part GROUP BY t.id ORDER BY n DESC, t.url""",
    ),
    Finding(
        "descriptions", "notice", ("page", "problem", "description", "width", "pages"),
        _text("description", DESCRIPTION_WIDTH_MIN, DESCRIPTION_WIDTH_MAX) + " ORDER BY problem, text, url",
    ),
    Finding(
        "headings", "notice", ("page", "problem", "heading", "headings"),
        _several(
            ("missing", f"SELECT a.url AS page, {{}} AS problem, '', 0 {_PAGE} WHERE p.listable AND p.headings = 0"),
            ("empty", f"SELECT a.url, {{}}, '', p.headings {_PAGE} WHERE p.listable AND p.headings > 0 AND p.heading = ''"),
            ("several", f"SELECT a.url, {{}}, p.heading, p.headings {_PAGE} WHERE p.listable AND p.headings > 1"),
        ) + " ORDER BY 2, 1",
    ),
    Finding(
        "deep", "notice", ("page", "depth", "linked_from"),
        f"""SELECT a.url, r.depth, f.url {_PAGE} JOIN reach r ON r.id = a.id JOIN address f ON f.id = r.via
          WHERE r.depth > {DEPTH_MAX} AND r.depth < {UNREACHED} ORDER BY r.depth DESC, a.url""",
    ),
)  # fmt: skip

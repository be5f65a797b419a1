"""Numbers and dates as nations write them: `1.234,56 €`, `¥1,234`, `約 3万円`, `3. März 2024`, `2024年3月1日`.

What can be read in two ways and is not told which is no number and no date, with one exception that price lists need: a single
separator before exactly three digits parts thousands (`1.234` is 1234), unless `decimal` says that it is the decimal sign.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal

DIGITS_MAX = 30
_CHARS = 1000
"""Of a text so much is looked at."""
_NUMBER = re.compile(
    r"(?:^|(?<=[\s(:$€£¥]))(?P<sign>[-−])?[\s$€£¥]*(?P<digits>\d+(?:[.,'’٫٬]\d+| \d{3}(?!\d))*)|(?P<bare>\d+(?:[.,'’٫٬]\d+| \d{3}(?!\d))*)"
)
_UNIT = re.compile(
    r"\s*(?P<unit>[十百千万萬億亿兆]+|k\b|(?:tsd|mio|mrd|million(?:s|en)?|milliarden?|billions?)\b\.?)", re.I
)
_NEXT = re.compile(r"\d+(?:[.,]\d+)*")
_POWERS = {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "億": 8, "亿": 8, "兆": 12}
_WORDS = {"k": 3, "tsd": 3, "mio": 6, "million": 6, "mrd": 9, "milliard": 9, "billion": 9}

_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?(?!\d)")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})\s*[年년./-]\s*(\d{1,2})\s*[月월./-]\s*(\d{1,2})(?!\d)")
_DOTS = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_SLASHES = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?!\d)")
_DAY_MONTH = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.|º)?\s+(?:de |of )?([^\W\d_]{3,10})\.?,?\s+(?:de |del )?(\d{4})(?!\d)"
)
_MONTH_DAY = re.compile(r"([^\W\d_]{3,10})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)")
_MONTHS = {
    start: n
    for n, names in enumerate(
        (
            "jan ene gen",
            "feb fev fév",
            "mar mär mrz maa",
            "apr abr avr",
            "may mai mag mei",
            "jun juin giu",
            "jul juil lug",
            "aug ago aoû aou",
            "sep set",
            "oct okt ott out",
            "nov",
            "dec dez dic déc",
        ),
        1,
    )
    for start in names.split()
}
"""How months begin in English, German, French, Spanish, Italian, Portuguese and Dutch."""


def number(text: str, decimal: str = "") -> int | float | None:
    """The first number in a text; None: there is none. `decimal`: the decimal sign, `.` or `,`."""
    text = unicodedata.normalize("NFKC", text[:_CHARS])
    found = _NUMBER.search(text)
    if found is None:
        return None
    value = _value(found["digits"] or found["bare"], decimal)
    total, at = Decimal(0), found.end()
    while value is not None and (unit := _UNIT.match(text, at)):
        total, at, value = total + value.scaleb(_power(unit["unit"].lower())), unit.end(), None
        if unit["unit"][0] in _POWERS and (more := _NEXT.match(text, at)):
            value, at = _value(more[0], decimal), more.end()
    if value is not None:
        total += value
    elif at == found.end():
        return None
    total = -total if found["sign"] else total
    return int(total) if total == total.to_integral_value() else float(total)


def _value(written: str, decimal: str) -> Decimal | None:
    """Digits with what parts them."""
    written = re.sub("[ '’٬]", "", written).replace("٫", decimal or ".")
    marks = re.findall("[.,]", written)
    if decimal:
        point = decimal if decimal in marks else ""
    elif not marks:
        point = ""
    elif marks[-1] not in marks[:-1] and len(set(marks)) == len(marks) == 2:
        point = marks[-1]
    elif len(set(marks)) == 2:
        point = marks[-1] if marks.count(marks[-1]) == 1 else ""
    else:
        head, _, tail = written.partition(marks[0])
        point = "" if len(marks) > 1 or (len(tail) == 3 and len(head) <= 3 and head.strip("0")) else marks[0]
    other = {".": ",", ",": ".", "": ".,"}[point]
    plain = "".join(char for char in written if char not in other).replace(point or ".", ".")
    return Decimal(plain) if len(plain) <= DIGITS_MAX and plain.count(".") < 2 else None


def _power(unit: str) -> int:
    if unit[0] in _POWERS:
        return sum(_POWERS[char] for char in unit[:4])
    return next(power for word, power in _WORDS.items() if unit.startswith(word))


def moment(text: str, form: str = "") -> str | None:
    """The first date in a text as ISO 8601, with the time where ISO gives one; None: there is none that has one meaning.
    `form`: how it is written, as strptime takes it (`%d/%m/%y`)."""
    text = unicodedata.normalize("NFKC", text[:_CHARS]).strip()
    try:
        if form:
            read = datetime.strptime(text, form)
            return read.isoformat() if re.search("%[HIMSfcXsp]", form) else read.date().isoformat()
        if found := _ISO.search(text):
            day = date(int(found[1]), int(found[2]), int(found[3])).isoformat()
            return f"{day}T{found[4]}{found[5] or ''}" if found[4] else day
        if found := _YEAR_FIRST.search(text):
            return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
        if found := _DOTS.search(text):
            return date(int(found[3]), int(found[2]), int(found[1])).isoformat()
        if found := _SLASHES.search(text):
            return _slashes(int(found[1]), int(found[2]), int(found[3]))
        if (found := _DAY_MONTH.search(text)) and (month := _month(found[2])):
            return date(int(found[3]), month, int(found[1])).isoformat()
        if (found := _MONTH_DAY.search(text)) and (month := _month(found[1])):
            return date(int(found[3]), month, int(found[2])).isoformat()
    except ValueError:
        pass
    return None


def _slashes(first: int, second: int, year: int) -> str | None:
    """Day or month first: only a number above 12 tells, or two that are the same."""
    if first <= 12 and second <= 12 and first != second:
        return None
    return date(year, *((second, first) if first > 12 else (first, second))).isoformat()


def _month(name: str) -> int:
    name = name.casefold()
    return _MONTHS.get(name[:3], 0) or _MONTHS.get(name[:4], 0)

"""Numbers and dates as they are written in shops and advertisements of many countries."""

from __future__ import annotations

import time

import pytest

from nephila.page.national import moment, number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234,56 €", 1234.56),
        ("¥1,234", 1234),
        ("約 3万円", 30_000),
        ("3万5千円", 35_000),
        ("1億2,345万", 123_450_000),
        ("2千万", 20_000_000),
        ("１２３４円", 1234),
        ("٣٫٥", 3.5),
        ("1 234,50 €", 1234.5),
        ("1\u202f234,50 €", 1234.5),
        ("1'234.50 CHF", 1234.5),
        ("12,34,567.89", 1_234_567.89),
        ("1.234.567", 1_234_567),
        ("1.234", 1234),
        ("0.125", 0.125),
        ("12.5", 12.5),
        ("EUR 12,-", 12),
        ("-5 °C", -5),
        ("−5", -5),
        ("-€5", -5),
        ("10-20 €", 10),
        ("12 Mio. €", 12_000_000),
        ("5k", 5000),
        ("5km", 5),
        ("from $ 99", 99),
        ("none", None),
        ("", None),
        ("1" * 40, None),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


def test_the_decimal_sign_can_be_told() -> None:
    assert (number("1.234", "."), number("1.234", ",")) == (1.234, 1234)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("posted 2024-03-01", "2024-03-01"),
        ("2024-03-01T10:00:00Z", "2024-03-01T10:00:00Z"),
        ("2024年3月1日", "2024-03-01"),
        ("2024년 3월 1일", "2024-03-01"),
        ("2024. 3. 1.", "2024-03-01"),
        ("1.3.2024", "2024-03-01"),
        ("3. März 2024", "2024-03-03"),
        ("1er août 2024", "2024-08-01"),
        ("12 juillet 2021", "2021-07-12"),
        ("3 de marzo de 2024", "2024-03-03"),
        ("March 3rd, 2024", "2024-03-03"),
        ("25/12/2024", "2024-12-25"),
        ("12/25/2024", "2024-12-25"),
        ("03/04/2024", None),
        ("31.02.2024", None),
        ("today", None),
    ],
)
def test_dates(text: str, value: str | None) -> None:
    assert moment(text) == value


def test_the_form_of_a_date_can_be_told() -> None:
    assert moment("03/04/24", "%d/%m/%y") == "2024-04-03"
    assert moment("3.4.24 18:30", "%d.%m.%y %H:%M") == "2024-04-03T18:30:00"
    assert moment("no date", "%d") is None


@pytest.mark.parametrize("text", ["1" * 100_000, "1,1" * 50_000, "万" * 100_000, "1 111" * 50_000, "jan " * 50_000])
def test_long_texts_take_no_time(text: str) -> None:
    start = time.process_time()
    number(text)
    moment(text)
    assert time.process_time() - start < 0.2

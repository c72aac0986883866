"""Eighty rules that testers of a bank, a shop and a hospital write, each with a judge written from its meaning on plain
rows.

A case has the domains of the columns it replaces, its rules, and a judge that takes the new rows (and the old ones, in
the same order) and says whether the rule, as somebody would read it, is true of them. `refused` are rules that nothing
makes: they must be refused with a reason, and before anything is drawn."""

from __future__ import annotations

import calendar
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

Row = dict[str, str]
Rows = list[Row]
DAYS = {"dates": ["2020-01-01", "2023-12-31"]}
MONEY = {"decimals": ["0.00", "999.99"], "places": 2}
FEW = {"integers": [1, 60]}
COMPUTED = {"computed": True}


@dataclass(frozen=True)
class Case:
    """Rules with their columns and the judge of what they mean."""

    columns: dict[str, Any]
    keep: tuple[str, ...]
    judge: Callable[[Rows, Rows], bool]
    refused: bool = False


def table(count: int) -> Rows:
    """The original: people with accounts, amounts, days and bookings; every seventh `closed` is missing."""
    rows = []
    for n in range(count):
        opened = date(2020, 1, 1) + timedelta(days=n * 7 % 1400)
        rows.append(
            {
                "id": str(n + 1), "account": f"A{n % max(count // 10, 1)}", "seq": str(n // max(count // 10, 1) + 1),
                "room": f"R{n % max(count // 8, 1)}", "branch": f"B{n % 5}", "first": f"Ann{n}", "last": f"Boe{n}",
                "email": f"a{n}@home.test", "amount": f"{n % 500}.25", "balance": "0.00",
                "fee": f"{n % 7}.10", "quantity": str(n % 9 + 1),
                "opened": opened.isoformat(), "closed": "" if n % 7 == 0 else (opened + timedelta(days=30)).isoformat(),
                "born": date(1950 + n % 50, n % 12 + 1, n % 28 + 1).isoformat(), "iban": f"X{n}", "card": f"C{n}",
                "code": f"K{n}",
                "status": "open" if n % 7 == 0 else "closed", "grade": str(n % 5 + 1), "points": str(n % 100),
                "kept": str(n % 40),
            }
        )  # fmt: skip
    return rows


def in_bins(rows: Rows, column: str, width: int, by: str = "") -> Counter[Any]:
    """How many records every bin has; days are numbered."""

    def bin_of(row: Row) -> int:
        text = row[column]
        return (date.fromisoformat(text).toordinal() if "-" in text else Decimal(text)) // width  # type: ignore[return-value]

    return Counter((row[by] if by else "", bin_of(row)) for row in rows)


def every(test: Callable[[Row], bool]) -> Callable[[Rows, Rows], bool]:
    return lambda new, old: all(test(row) for row in new)


def day(text: str) -> date:
    return date.fromisoformat(text)


def groups(rows: Rows, *names: str) -> dict[Any, Rows]:
    found: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def years(born: date, then: date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def workdays(one: date, two: date) -> int:
    return sum((one + timedelta(days=step)).weekday() < 5 for step in range(1, (two - one).days + 1))


def next_month(one: date) -> date:
    """The same day of the next month, or its last day when there is none."""
    year, month = (one.year + 1, 1) if one.month == 12 else (one.year, one.month + 1)
    return date(year, month, min(one.day, calendar.monthrange(year, month)[1]))


def reaches(values: list[int], share: Decimal, aim: int) -> bool:
    """Whether the quantile is `aim`: at least that share is not above it, and less than that share is below it."""
    wanted = share * len(values)
    return (
        sum(value <= aim for value in values) >= wanted
        and sum(value < aim for value in values) < wanted
        and aim in values
    )


def points(rows: Rows) -> list[int]:
    return [int(row["points"]) for row in rows]


def luhn(text: str) -> bool:
    total = 0
    for place, sign in enumerate(reversed(text)):
        digit = int(sign) * (2 if place % 2 else 1)
        total += digit // 10 + digit % 10
    return total % 10 == 0


def mod97(text: str) -> bool:
    moved = text[4:] + text[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def ean(text: str) -> bool:
    return sum(int(sign) * (3 if place % 2 else 1) for place, sign in enumerate(text)) % 10 == 0


def money(rows: Rows, name: str) -> Decimal:
    return sum((Decimal(row[name]) for row in rows), Decimal(0))


def running(rows: Rows) -> bool:
    for own in groups(rows, "account").values():
        total = Decimal(0)
        for row in sorted(own, key=lambda row: int(row["seq"])):
            total += Decimal(row["amount"])
            if Decimal(row["balance"]) != total:
                return False
    return True


def apart(rows: Rows) -> bool:
    for own in groups(rows, "room").values():
        spans = sorted((day(row["opened"]), day(row["closed"])) for row in own if row["closed"])
        if any(later[0] < earlier[1] for earlier, later in pairwise(spans)):
            return False
    return True


def rising(rows: Rows, name: str, by: str) -> bool:
    for own in groups(rows, by).values():
        values = [row[name] for row in sorted(own, key=lambda row: int(row["seq"]))]
        if values != sorted(values):
            return False
    return True


def pearson(rows: Rows, one: str, two: str) -> float:
    return statistics.correlation([float(row[one]) for row in rows], [float(row[two]) for row in rows])


FULL = {"opened": DAYS, "closed": DAYS}
CASES: dict[str, Case] = {
    # check digits
    "iban": Case(
        {"iban": {"numbers": "iban", "country": "DE"}},
        ("valid(iban, iban)",),
        every(lambda r: mod97(r["iban"]) and len(r["iban"]) == 22),
    ),
    "iban of another country": Case(
        {"iban": {"numbers": "iban", "country": "NL"}},
        (),
        every(lambda r: mod97(r["iban"]) and r["iban"].startswith("NL")),
    ),
    "unique iban": Case(
        {"iban": {"numbers": "iban", "country": "FR"}},
        ("unique(iban)",),
        lambda new, old: len({r["iban"] for r in new}) == len(new) and all(mod97(r["iban"]) for r in new),
    ),
    "visa": Case(
        {"card": {"numbers": "visa"}},
        ("unique(card)",),
        every(lambda r: luhn(r["card"]) and r["card"][0] == "4" and len(r["card"]) == 16),
    ),
    "amex": Case(
        {"card": {"numbers": "amex"}},
        (),
        every(lambda r: luhn(r["card"]) and r["card"][:2] in ("34", "37") and len(r["card"]) == 15),
    ),
    "ean": Case(
        {"code": {"numbers": "ean"}}, ("valid(ean, code)",), every(lambda r: ean(r["code"]) and len(r["code"]) == 13)
    ),
    "isbn": Case(
        {"code": {"numbers": "isbn"}}, (), every(lambda r: ean(r["code"]) and r["code"][:3] in ("978", "979"))
    ),
    "dutch citizens": Case(
        {"code": {"numbers": "bsn"}},
        ("unique(code)",),
        every(
            lambda r: sum(int(s) * w for s, w in zip(r["code"], (9, 8, 7, 6, 5, 4, 3, 2, -1), strict=True)) % 11 == 0
        ),
    ),
    "pesel": Case(
        {"code": {"numbers": "pesel"}},
        (),
        every(
            lambda r: (
                sum(int(s) * w for s, w in zip(r["code"], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), strict=True)) % 10 == 0
            )
        ),
    ),
    "spanish identity": Case(
        {"code": {"numbers": "dni"}},
        (),
        every(lambda r: "TRWAGMYFPDXBNJZSQVHLCKE"[int(r["code"][:8]) % 23] == r["code"][8]),
    ),
    "dutch mobiles": Case(
        {"code": {"numbers": "phone", "country": "NL"}},
        ("unique(code)", "valid(phone, code)"),
        lambda new, old: (
            len({r["code"] for r in new}) == len(new)
            and all(re.fullmatch(r"\+31(6[1-58][0-9]{7}|970[0-9]{8})", r["code"]) for r in new)
        ),
    ),
    "a phone of no country": Case({"code": {"numbers": "phone"}}, (), every(lambda r: True), refused=True),
    "luhn by a rule": Case(
        {"card": {"pattern": "[1-9][0-9]{9}"}}, ("valid(luhn, card)",), every(lambda r: luhn(r["card"]))
    ),
    "unknown system": Case(
        {"card": {"pattern": "[0-9]{9}"}}, ("valid(moon, card)",), every(lambda r: True), refused=True
    ),
    # nulls
    "nulls stay": Case(
        FULL,
        ("opened <= closed",),
        lambda new, old: (
            sorted(not r["closed"] for r in new) == sorted(not r["closed"] for r in old)
            and all(r["opened"] <= r["closed"] for r in new if r["closed"])
        ),
    ),
    "nulls drawn": Case({"closed": DAYS | {"nulls": "drawn"}}, (), every(lambda r: bool(r["closed"]))),
    "open means not closed": Case(
        {"closed": DAYS, "status": {"values": ["open", "closed"]}},
        ('if closed is null then status = "open"',),
        every(lambda r: bool(r["closed"]) or r["status"] == "open"),
    ),
    "closed has a day": Case(
        {"closed": DAYS, "status": {"values": ["open", "closed"]}},
        ('if closed is not null then status = "closed"',),
        every(lambda r: not r["closed"] or r["status"] == "closed"),
    ),
    "either or": Case(
        {"closed": DAYS, "status": {"values": ["open", "closed", "held"]}},
        ('if closed is null then status in {"open", "held"}', 'if closed is not null then status = "closed"'),
        every(lambda r: (r["status"] == "closed") == bool(r["closed"])),
    ),
    "emptied": Case({"email": {"empty": True}}, (), every(lambda r: r["email"] == "")),
    # days
    "working days only": Case(
        {"opened": DAYS}, ("weekday(opened) <= 5",), every(lambda r: day(r["opened"]).weekday() < 5)
    ),
    "fridays": Case({"opened": DAYS}, ("weekday(opened) = 5",), every(lambda r: day(r["opened"]).weekday() == 4)),
    "end of month": Case(
        {"opened": DAYS},
        ("opened = month_end(opened)",),
        every(lambda r: day(r["opened"]).day == calendar.monthrange(day(r["opened"]).year, day(r["opened"]).month)[1]),
    ),
    "first of month": Case({"opened": DAYS}, ("day(opened) = 1",), every(lambda r: r["opened"].endswith("-01"))),
    "full age": Case(
        {"born": {"dates": ["1940-01-01", "2010-12-31"]}, "opened": DAYS},
        ("age(born, opened) >= 18",),
        every(lambda r: years(day(r["born"]), day(r["opened"])) >= 18),
    ),
    "age against a kept day": Case(
        {"born": {"dates": ["1940-01-01", "2010-12-31"]}},
        ("18 <= age(born, opened) <= 65",),
        every(lambda r: 18 <= years(day(r["born"]), day(r["opened"])) <= 65),
    ),
    "working days between": Case(
        {"closed": DAYS},
        ("workdays(opened, closed) <= 10", "closed >= opened"),
        every(
            lambda r: (
                not r["closed"] or (r["closed"] >= r["opened"] and workdays(day(r["opened"]), day(r["closed"])) <= 10)
            )
        ),
    ),
    "at most thirty days": Case(
        FULL,
        ("0 <= closed - opened <= 30",),
        every(lambda r: not r["closed"] or 0 <= (day(r["closed"]) - day(r["opened"])).days <= 30),
    ),
    "second quarter": Case(
        {"opened": DAYS}, ("4 <= month(opened) <= 6",), every(lambda r: 4 <= day(r["opened"]).month <= 6)
    ),
    "same year": Case(
        FULL,
        ("year(opened) = year(closed)", "opened <= closed"),
        every(lambda r: not r["closed"] or (r["opened"][:4] == r["closed"][:4] and r["opened"] <= r["closed"])),
    ),
    "a month later": Case(
        {"closed": COMPUTED},
        ("closed = months_after(opened, 1)",),
        every(lambda r: day(r["closed"]) == next_month(day(r["opened"]))),
    ),
    # texts
    "login from names": Case(
        {"first": {"fakes": "first_name"}, "last": {"fakes": "last_name"}, "email": COMPUTED},
        ('email = lower(first) + "." + lower(last) + "@example.org"',),
        every(lambda r: r["email"] == f"{r['first'].lower()}.{r['last'].lower()}@example.org"),
    ),
    "unique login from names": Case(
        {"first": {"fakes": "first_name"}, "last": {"fakes": "last_name"}, "email": COMPUTED},
        ('email = lower(first) + "." + lower(last) + "@example.org"', "unique(email)"),
        lambda new, old: (
            len({r["email"] for r in new}) == len(new)
            and all(r["email"] == f"{r['first'].lower()}.{r['last'].lower()}@example.org" for r in new)
        ),
    ),
    "initials": Case(
        {"first": {"fakes": "name"}, "code": COMPUTED},
        ("code = initials(first)",),
        every(lambda r: r["code"] == "".join(word[0] for word in r["first"].split())),
    ),
    "upper case": Case(
        {"code": {"pattern": "[A-Za-z]{4}"}}, ("code = upper(code)",), every(lambda r: r["code"].isupper())
    ),
    "prefix": Case(
        {"code": {"pattern": "[A-Z]{2}[0-9]{4}"}},
        ('starts_with(code, "DE")',),
        every(lambda r: r["code"].startswith("DE")),
    ),
    "suffix": Case(
        {"code": {"pattern": "[A-Z]{2}[0-9]{4}"}}, ('ends_with(code, "7")',), every(lambda r: r["code"].endswith("7"))
    ),
    "contains": Case(
        {"code": {"pattern": "[a-c]{6}"}}, ('contains(code, "abc")',), every(lambda r: "abc" in r["code"])
    ),
    "length": Case(
        {"code": {"pattern": "[a-z]+", "longest": 9}}, ("length(code) = 7",), every(lambda r: len(r["code"]) == 7)
    ),
    "length between": Case(
        {"code": {"pattern": "[a-z]+", "longest": 9}},
        ("5 <= length(code) <= 6",),
        every(lambda r: 5 <= len(r["code"]) <= 6),
    ),
    "code of branch and number": Case(
        {"code": COMPUTED}, ('code = branch + "-" + id',), every(lambda r: r["code"] == f"{r['branch']}-{r['id']}")
    ),
    "left part kept": Case(
        {"code": {"pattern": "B[0-9]-[A-Z]{3}"}},
        ("left(code, 2) = branch",),
        every(lambda r: r["code"][:2] == r["branch"]),
    ),
    "slug": Case(
        {"first": {"fakes": "name"}, "code": COMPUTED},
        ("code = slug(first)",),
        every(lambda r: r["code"] == r["first"].lower().replace(" ", "-").replace("'", "-")),
    ),
    "conditional form": Case(
        {"status": {"values": ["open", "closed"]}, "code": {"pattern": "[A-Z]{2}[0-9]{3}"}},
        ('if status = "open" then match(code, "OP[0-9]+")',),
        every(lambda r: r["status"] != "open" or r["code"].startswith("OP")),
    ),
    # numbers
    "multiples": Case(
        {"points": {"integers": [0, 999]}}, ("points % 25 = 0",), every(lambda r: int(r["points"]) % 25 == 0)
    ),
    "odd numbers": Case(
        {"points": {"integers": [0, 999]}}, ("points % 2 = 1",), every(lambda r: int(r["points"]) % 2 == 1)
    ),
    "prices end with ninety-nine": Case(
        {"amount": MONEY}, ("amount % 1 = 0.99",), every(lambda r: r["amount"].endswith(".99"))
    ),
    "rounded to five cents": Case(
        {"amount": MONEY}, ("amount % 0.05 = 0",), every(lambda r: int(Decimal(r["amount"]) * 100) % 5 == 0)
    ),
    "rounded tax": Case(
        {"amount": MONEY, "fee": COMPUTED},
        ("fee = round(amount * 0.19, 2)",),
        every(lambda r: abs(Decimal(r["fee"]) - Decimal(r["amount"]) * Decimal("0.19")) <= Decimal("0.005")),
    ),
    "sum of two": Case(
        {"amount": MONEY, "fee": MONEY, "balance": {"decimals": ["0.00", "1999.98"], "places": 2}},
        ("balance = amount + fee",),
        every(lambda r: Decimal(r["balance"]) == Decimal(r["amount"]) + Decimal(r["fee"])),
    ),
    "product": Case(
        {"quantity": FEW, "points": {"integers": [1, 60]}, "amount": COMPUTED},
        ("amount = quantity * points",),
        every(lambda r: Decimal(r["amount"]) == int(r["quantity"]) * int(r["points"])),
    ),
    "product with a kept price": Case(
        {"quantity": FEW, "amount": COMPUTED},
        ("amount = quantity * fee",),
        every(lambda r: Decimal(r["amount"]) == int(r["quantity"]) * Decimal(r["fee"])),
    ),
    "within a tenth of the old": Case(
        {"amount": MONEY},
        ("0.9 * original.amount <= amount <= 1.1 * original.amount + 1",),
        lambda new, old: all(
            Decimal(was["amount"]) * 9 <= Decimal(now["amount"]) * 10 <= Decimal(was["amount"]) * 11 + 10
            for now, was in zip(new, old, strict=True)
        ),
    ),
    "mostly cheap": Case(
        {"amount": MONEY}, ("mean(amount) = 100",), lambda new, old: money(new, "amount") == 100 * len(new)
    ),
    "median": Case(
        {"points": {"integers": [0, 99]}},
        ("median(points) = 40",),
        lambda new, old: statistics.median(int(r["points"]) for r in new) == 40,
    ),
    "a number of values": Case(
        {"grade": {"integers": [1, 500]}},
        ("distinct(grade) = 12",),
        lambda new, old: len({r["grade"] for r in new}) == 12,
    ),
    "correlation": Case(
        {"points": {"integers": [0, 999]}, "quantity": {"integers": [0, 999]}},
        ("correlation(points, quantity) = 0.7 within 0.05",),
        lambda new, old: abs(pearson(new, "points", "quantity") - 0.7) <= 0.05,
    ),
    "histogram kept": Case(
        {"grade": {"integers": [1, 5]}},
        ("same_multiset(grade)",),
        lambda new, old: Counter(r["grade"] for r in new) == Counter(r["grade"] for r in old),
    ),
    "histogram in bins": Case(
        {"amount": MONEY},
        ("histogram(amount, 50)",),
        lambda new, old: in_bins(new, "amount", 50) == in_bins(old, "amount", 50) and new != old,
    ),
    "histogram in bins of months, by branch, under a rule": Case(
        {"opened": {"dates": ["2019-01-01", "2024-12-31"]}},
        ("histogram(opened, 30 by branch)", "weekday(opened) <= 5"),
        lambda new, old: (
            in_bins(new, "opened", 30, "branch") == in_bins(old, "opened", 30, "branch")
            and all(date.fromisoformat(row["opened"]).weekday() < 5 for row in new)
        ),
    ),
    "histogram beside another column": Case(
        {"amount": MONEY, "fee": MONEY}, ("histogram(amount, 50)", "fee <= amount"), every(lambda r: True), refused=True
    ),
    "two statistics": Case(
        {"points": {"integers": [0, 99]}},
        ("median(points) = 40", "distinct(points) = 12"),
        every(lambda r: True),
        refused=True,
    ),
    "sum of quantities at kept prices": Case(
        {"quantity": {"integers": [0, 100]}},
        ("sum(quantity * kept) = sum(original.quantity * kept)",),
        lambda new, old: (
            sum(int(r["quantity"]) * int(r["kept"]) for r in new)
            == sum(int(r["quantity"]) * int(r["kept"]) for r in old)
        ),
    ),
    "smallest per account": Case(
        {"points": {"integers": [0, 100]}}, ("min(points by account) >= 20",), every(lambda r: int(r["points"]) >= 20)
    ),
    "unlike the kept name": Case(
        {"code": {"fakes": "name"}}, ("code != first",), every(lambda r: r["code"] != r["first"])
    ),
    # whole columns and groups
    "unique": Case(
        {"code": {"pattern": "[A-Z]{3}[0-9]{3}"}},
        ("unique(code)",),
        lambda new, old: len({r["code"] for r in new}) == len(new),
    ),
    "unique pair beside unique": Case(
        {"code": {"pattern": "[A-Z]{3}[0-9]{3}"}},
        ("unique(code)", "unique(code, branch)"),
        lambda new, old: len({r["code"] for r in new}) == len(new),
    ),
    "unique with more texts than numbers": Case(
        {"code": {"pattern": "[A-Za-z0-9]{40}"}},
        ("unique(code)",),
        lambda new, old: len({r["code"] for r in new}) == len(new) and all(len(r["code"]) == 40 for r in new),
    ),
    "unique even numbers": Case(
        {"points": {"integers": [0, 99_999_999]}},
        ("points % 2 = 0", "unique(points)"),
        lambda new, old: len({r["points"] for r in new}) == len(new) and all(int(r["points"]) % 2 == 0 for r in new),
    ),
    "unique in its branch": Case(
        {"points": {"integers": [0, 99_999]}},
        ("unique(branch, points)",),
        lambda new, old: len({(r["branch"], r["points"]) for r in new}) == len(new),
    ),
    "at most three": Case(
        {"points": {"integers": [0, 9_999]}},
        ("at_most(3, points)",),
        lambda new, old: max(Counter(r["points"] for r in new).values()) <= 3,
    ),
    "at least two": Case(
        {"grade": {"integers": [1, 50]}},
        ("at_least(2, grade)",),
        lambda new, old: min(Counter(r["grade"] for r in new).values()) >= 2,
    ),
    "one grade per code": Case(
        {"code": {"pattern": "[A-C]"}, "grade": {"integers": [1, 9]}},
        ("code determines grade",),
        lambda new, old: all(len({r["grade"] for r in own}) == 1 for own in groups(new, "code").values()),
    ),
    "days in order": Case(
        {"opened": DAYS},
        ("increasing(opened by account along seq)",),
        lambda new, old: rising(new, "opened", "account"),
    ),
    "working days in order": Case(
        {"opened": DAYS},
        ("increasing(opened by account along seq)", "weekday(opened) <= 5"),
        lambda new, old: rising(new, "opened", "account") and all(day(r["opened"]).weekday() < 5 for r in new),
    ),
    "bookings apart": Case(
        FULL,
        ("no_overlap(opened, closed by room)", "opened < closed"),
        lambda new, old: apart(new) and all(r["opened"] < r["closed"] for r in new if r["closed"]),
    ),
    "running balance": Case(
        {"amount": {"decimals": ["-50.00", "99.99"], "places": 2}, "balance": COMPUTED},
        ("balance = running(amount by account along seq)",),
        lambda new, old: running(new),
    ),
    "total per account": Case(
        {"points": {"integers": [0, 100]}},
        ("sum(points by account) = 500",),
        lambda new, old: all(sum(int(r["points"]) for r in own) == 500 for own in groups(new, "account").values()),
    ),
    "old total per account": Case(
        {"points": {"integers": [0, 100]}},
        ("sum(points by account) = sum(original.points by account)",),
        lambda new, old: (
            {k: sum(int(r["points"]) for r in v) for k, v in groups(new, "account").items()}
            == {k: sum(int(r["points"]) for r in v) for k, v in groups(old, "account").items()}
        ),
    ),
    "largest per account": Case(
        {"points": {"integers": [0, 100]}, "grade": COMPUTED},
        ("grade = max(points by account)",),
        lambda new, old: all(
            int(r["grade"]) == max(int(s["points"]) for s in own)
            for own in groups(new, "account").values()
            for r in own
        ),
    ),
    "share of the open": Case(
        {"status": {"values": ["open", "closed"]}},
        ('count(status = "open") = 30',),
        lambda new, old: sum(r["status"] == "open" for r in new) == 30,
    ),
    "largest of all": Case(
        {"points": {"integers": [0, 100]}},
        ("max(points) = 90",),
        lambda new, old: max(int(r["points"]) for r in new) == 90,
    ),
    "median per group": Case(
        {"points": {"integers": [0, 100]}},
        ("median(points by account) = 50",),
        lambda new, old: all(statistics.median(points(own)) == 50 for own in groups(new, "account").values()),
    ),
    "median per group as it was": Case(
        {"points": {"integers": [0, 100]}},
        ("median(points by account) = median(original.points by account)",),
        lambda new, old: (
            {key: statistics.median(points(own)) for key, own in groups(new, "account").items()}
            == {key: statistics.median(points(own)) for key, own in groups(old, "account").items()}
        ),
    ),
    "nine tenths below": Case(
        {"points": {"integers": [0, 999]}},
        ("quantile(points, 0.9) = 700",),
        lambda new, old: reaches(points(new), Decimal("0.9"), 700),
    ),
    "quartiles per branch": Case(
        {"points": {"integers": [0, 999]}},
        (
            "quantile(points, 0.25 by branch) = 100",
            "median(points by branch) = 200 within 10",
            "quantile(points, 0.75 by branch) <= 400",
            "points % 5 = 0",
        ),
        lambda new, old: all(
            reaches(points(own), Decimal("0.25"), 100)
            and abs(statistics.median(points(own)) - 200) <= 10
            and sum(value <= 400 for value in points(own)) * 4 >= 3 * len(own)
            and all(value % 5 == 0 for value in points(own))
            for own in groups(new, "branch").values()
        ),
    ),
    "correlation as it was": Case(
        {"points": {"integers": [0, 99]}, "grade": {"integers": [1, 5]}},
        ("correlation(points, grade) = correlation(original.points, original.grade) within 0.05",),
        lambda new, old: abs(pearson(new, "points", "grade") - pearson(old, "points", "grade")) <= 0.05,
    ),
    # conditions
    "conditional bounds": Case(
        {"status": {"values": ["open", "closed"]}, "points": {"integers": [0, 10_000_000]}},
        ('if status = "open" then points >= 9000000',),
        every(lambda r: r["status"] != "open" or int(r["points"]) >= 9_000_000),
    ),
    "nested conditions": Case(
        {"grade": {"integers": [1, 5]}, "points": {"integers": [0, 100]}, "status": {"values": ["open", "closed"]}},
        ('if grade >= 4 then (points >= 50 or status = "open")',),
        every(lambda r: int(r["grade"]) < 4 or int(r["points"]) >= 50 or r["status"] == "open"),
    ),
    "not this one": Case({"code": {"pattern": "[A-D]{2}"}}, ('not code = "AA"',), every(lambda r: r["code"] != "AA")),
    "contradiction": Case(
        {"points": {"integers": [0, 100]}}, ("points > 50", "points < 20"), every(lambda r: True), refused=True
    ),
    "too few values": Case({"grade": {"integers": [1, 5]}}, ("unique(grade)",), every(lambda r: True), refused=True),
    "circle": Case(
        {"amount": COMPUTED, "fee": COMPUTED},
        ("amount = fee + 1", "fee = amount - 1"),
        every(lambda r: True),
        refused=True,
    ),
    "nobody computes it": Case({"amount": COMPUTED}, (), every(lambda r: True), refused=True),
}

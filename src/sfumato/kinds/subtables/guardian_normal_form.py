"""Guardian Normal Form: when several published sub-tables together keep a set of privacy rules.

Guarantee
    If every rule holds in the sense below, an adversary who knows Q and reads *all* tables has no higher posterior for
    a value of S than the guardian table alone, or the column S alone, gives [versatile Thm 4.1]. That a sensitive
    column alone is safe is checked elsewhere (eligibility).

Paper
    [versatile Def. 3] reachability, [versatile Def. 4] guardian table, [versatile Def. 5] normal form.

Notation
    A table is its set of columns and the rules it enforces by itself. W = (Q ∩ A_i) ∪ Q*, where Q* are the columns of
    table i, S excepted, that are reachable from Q through the other tables.

Departures
    What adversaries know (`knowledge`, column sets) counts as further tables: a known dependency zip → county joins the
    table with zip to the table with county. A rule with several sensitive columns is kept when it is kept for one of
    them and its guarantee hides combinations (`Model.hides_combinations`), or when nothing connects any of them with Q.

>>> from sfumato.policy.privacy_rules import split_arrow
>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> tables = [SubTable(frozenset({"age", "icd9"})), SubTable(frozenset({"race", "zip"}), (rule("race -> zip"),))]
>>> for verdict in explain(tables, [rule("age, icd9 -> race"), rule("age, race -> zip")]):
...     print(verdict)
age, icd9 → race : p-sensitivity {p: 2} — kept: no table, and no chain of tables, connects race with age, icd9
age, race → zip : p-sensitivity {p: 2} — kept: table 2 guards it, because it alone connects zip with race


Trading
-------
Trading places in sub-tables: when what a table hides may move between the rows of a bucket without any table telling.

A person may have several rows. Then whole possible worlds count, not only one row: whether the sensitive values of
*all* rows of a bucket can be permuted at once, while all people keep the known values of their rows.

Notation
    G       a table that shows the columns V and hides H behind buckets
    C       the columns that tables other than G connect with H, H included

Guarantee
    If C has no column of V and none that is given, the records of a bucket may trade everything in C among each other,
    in any order: every table but G has its columns inside C or outside of it, and G shows the same rows and lists the
    same sensitive values as before. So, for any order of people, every assignment of a bucket's values to its rows is
    equally frequent. A guardian in the sense of [versatile Def. 4] that hides one column trades it: what is given
    reaches G, so it reaches V, and condition (iii) says that without G's sensitive column it does not reach H. If no
    chain of tables connects the sensitive column with a given one, all records may trade it like those of one bucket
    (`ALONE`).

>>> tables = [(frozenset({"age", "zip"}), frozenset({"illness"})), (frozenset({"illness", "drug"}), frozenset())]
>>> asked = (({"age"}, "illness"), ({"age", "drug"}, "illness"), ({"sex"}, "drug"))
>>> [bucket_table_of(tables, given, hidden) for given, hidden in asked]
[0, None, -1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sfumato.data.join_tree import join_tree
from sfumato.policy.privacy_rules import PrivacyRule, join_names

Satisfies = Callable[[int, PrivacyRule], bool]
"""Does table i by itself satisfy this rule?"""


@dataclass(frozen=True, slots=True)
class SubTable:
    """The columns of one published table and the rules that it enforces by itself."""

    columns: frozenset[str]
    enforces: tuple[PrivacyRule, ...] = ()

    @property
    def guarded(self) -> frozenset[str]:
        """Columns that this table hides."""
        return frozenset().union(*(each.hide for each in self.enforces))

    @property
    def visible(self) -> frozenset[str]:
        return self.columns - self.guarded

    def satisfies(self, rule: PrivacyRule) -> bool:
        return any(each.implies(rule) for each in self.enforces)

    def without(self, columns: Iterable[str]) -> SubTable:
        """The table with columns taken out; it still enforces what it did about the others."""
        gone = frozenset(columns)
        left = tuple(each.with_sides(each.given - gone, each.hide) for each in self.enforces if not each.hide & gone)
        return SubTable(self.columns - gone, left)

    def with_column(self, column: str) -> SubTable:
        """Return the table with one more visible column; its sensitive columns stay hidden from an adversary who knows
        that column."""
        widened = tuple(each.with_sides(each.given | {column}, each.hide) for each in self.enforces)
        return SubTable(self.columns | {column}, widened)


def reachable_columns(start: Iterable[str], tables: Sequence[frozenset[str]]) -> frozenset[str]:
    """All columns reachable from `start`, itself included [versatile Def. 3]."""
    reached = frozenset(start)
    while (wider := reached.union(*(columns for columns in tables if columns & reached))) != reached:
        reached = wider
    return reached


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table that holds S, judged as guardian: needed left side, and conditions (ii) and (iii) of Def. 4."""

    table: int
    needed: PrivacyRule
    satisfies: bool
    cuts: bool

    @property
    def guards(self) -> bool:
        return self.satisfies and self.cuts

    def __str__(self) -> str:
        name = f"table {self.table + 1}"
        if not self.cuts:
            other = f"{self.needed.hidden} is also connected through another table"
            return f"{name} is no guardian by condition (iii): even without its {self.needed.hidden}, {other}"
        if not self.satisfies:
            return f"{name} is no guardian by condition (ii): by itself it does not keep {self.needed}"
        return f"{name} guards it, because it alone connects {self.needed.hidden} with {join_names(self.needed.given)}"


@dataclass(frozen=True, slots=True)
class Guarded:
    """Why one rule holds over all tables, or which condition fails."""

    rule: PrivacyRule
    kept: bool
    hidden: str
    """The column of the right side that decided."""
    published: bool
    candidates: tuple[Candidate, ...] = ()
    """Empty when the sensitive column is unreachable."""
    note: str = ""
    """The reason, where it is not one of those of a single column."""

    @property
    def guardian(self) -> Candidate | None:
        return next((each for each in self.candidates if each.guards), None)

    def reason(self) -> str:
        if self.note:
            return self.note
        if self.kept and not self.published:
            return f"kept: {self.hidden} is not published"
        if self.guardian:
            return f"kept: {self.guardian}"
        if self.kept:
            return f"kept: no table, and no chain of tables, connects {self.hidden} with {join_names(self.rule.given)}"
        return "not kept: " + (
            "; ".join(map(str, self.candidates)) or f"outside knowledge alone connects {self.hidden}"
        )

    def __str__(self) -> str:
        return f"{self.rule} — {self.reason()}"


def explain(
    tables: Sequence[SubTable],
    rules: Sequence[PrivacyRule],
    knowledge: Sequence[frozenset[str]] = (),
    satisfies: Satisfies | None = None,
) -> list[Guarded]:
    """For each rule why it holds over all tables, or why not; `satisfies` replaces the tables' own word for condition
    (ii)."""
    return [_explain_one(tables, each, knowledge, satisfies or _own_word(tables)) for each in rules]


def in_normal_form(
    tables: Sequence[SubTable], rules: Sequence[PrivacyRule], knowledge: Sequence[frozenset[str]] = ()
) -> bool:
    """[versatile Def. 5]"""
    return all(verdict.kept for verdict in explain(tables, rules, knowledge))


def _own_word(tables: Sequence[SubTable]) -> Satisfies:
    return lambda table, rule: tables[table].satisfies(rule)


def _explain_one(
    tables: Sequence[SubTable], rule: PrivacyRule, knowledge: Sequence[frozenset[str]], satisfies: Satisfies
) -> Guarded:
    verdicts = [_explain_column(tables, rule, hidden, knowledge, satisfies) for hidden in sorted(rule.hide)]
    if len(verdicts) == 1 or rule.by.hides_combinations:
        return next((verdict for verdict in verdicts if verdict.kept), verdicts[0])
    tied = next((verdict for verdict in verdicts if verdict.candidates or not verdict.kept), None)
    if tied is None:
        return verdicts[0]
    about = f"{rule.by} is about the combination of {join_names(rule.hide)}"
    note = f"not kept: {tied.hidden} is connected with what is known, and {about}"
    return Guarded(rule, False, tied.hidden, tied.published, note=note)


def _explain_column(
    tables: Sequence[SubTable],
    rule: PrivacyRule,
    hidden: str,
    knowledge: Sequence[frozenset[str]],
    satisfies: Satisfies,
) -> Guarded:
    column_sets = [table.columns for table in tables]
    published = any(hidden in columns for columns in column_sets)
    if hidden not in reachable_columns(rule.given, [*column_sets, *knowledge]):
        return Guarded(rule, True, hidden, published)
    single = replace(rule, hide=frozenset({hidden}))
    candidates = tuple(
        _candidate(column_sets, place, single, knowledge, satisfies)
        for place, columns in enumerate(column_sets)
        if hidden in columns
    )
    return Guarded(rule, any(each.guards for each in candidates), hidden, published, candidates)


def _candidate(
    column_sets: Sequence[frozenset[str]],
    place: int,
    rule: PrivacyRule,
    knowledge: Sequence[frozenset[str]],
    satisfies: Satisfies,
) -> Candidate:
    own = column_sets[place]
    others = [*column_sets[:place], *column_sets[place + 1 :], *knowledge]
    needed = rule.with_sides((own - rule.hide) & reachable_columns(rule.given, others), rule.hide)
    cuts = rule.hidden not in reachable_columns(rule.given, [*others, own - rule.hide])
    return Candidate(place, needed, satisfies(place, needed), cuts)


# Trading
# -------


ALONE = -1
Sides = tuple[frozenset[str], frozenset[str]]
"""What a table shows, and what it hides behind buckets."""


def bucket_table_of(tables: Sequence[Sides], given: Iterable[str], hidden: str) -> int | None:
    """The table in whose buckets a sensitive column is traded, `ALONE` when all records trade it, nothing when nobody
    can say."""
    known, columns = frozenset(given), [shown | behind for shown, behind in tables]
    if hidden not in reachable_columns(known, columns):
        return ALONE
    for place, (shown, behind) in enumerate(tables):
        if hidden in behind:
            moving = reachable_columns(behind, [*columns[:place], *columns[place + 1 :]])
            if not moving & (known | shown):
                return place
    return None


# Jointree  decomposable hyperedges
# ---------------------------------


def hyperedges(tables: Sequence[SubTable]) -> list[frozenset[str]]:
    """What the tables really relate: a table with sensitive columns is two tables that share only the bucket number."""
    sets = []
    for place, table in enumerate(tables):
        if table.guarded:
            bucket = frozenset({f"#{place}"})
            sets += [table.visible | bucket, table.guarded | bucket]
        else:
            sets.append(table.columns)
    return sets


def decomposable(tables: Sequence[SubTable]) -> bool:
    """Whether the closed-form estimate exists for these tables."""
    return join_tree(hyperedges(tables)) is not None

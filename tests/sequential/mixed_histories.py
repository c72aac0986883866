"""Random histories of mixed forms, and a judge who reads published rows literally and tries every way to pair them with
people.

Nothing here knows of joint classes. A world gives every row of every table to a person; the rows of a person must have
a common value in every column, and agree with what the outsider knows of that person. What somebody may have is what
some world gives."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa

from sfumato.data.table import Table
from sfumato.kinds.subtables.form import AnatomyForm, SubTables
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import SEPARATOR, History, Memory, PastRelease
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

TREE = {"*": {"a01": ["a0", "a1"], "a23": ["a2", "a3"]}}
FLAT = {"*": ["b0", "b1", "b2"]}
UP = {"a0": "a01", "a1": "a01", "a2": "a23", "a3": "a23"}
LEAVES = {"*a": {"a0", "a1", "a2", "a3"}, "a01": {"a0", "a1"}, "a23": {"a2", "a3"}, "*b": {"b0", "b1", "b2"}}
HIDDEN = ("s", "t")


def covers(column, label):
    """The values a published label stands for."""
    if label == "*":
        return LEAVES[f"*{column}"]
    return LEAVES.get(label, {label})


def policy_of(columns, form, protect):
    roles = {"a": {"role": "quasi-identifier", "hierarchy": TREE}, "b": {"role": "quasi-identifier", "hierarchy": FLAT}}
    roles |= {"s": {"role": "sensitive"}, "t": {"role": "sensitive"}, "o": {"role": "other"}}
    named = {name: {**role, "publish": name in columns} for name, role in roles.items()}
    return Policy.parse({"version": 1, "columns": named, "protect": protect, "key": "id"})


class Story:
    """A population, and releases of it in random forms; `ties` are pairs of columns of which the first determines the
    second."""

    def __init__(self, rng, most=6, ties=()):
        self.rng = rng
        self.people = int(rng.integers(4, most + 1))
        self.value = {
            "a": rng.choice(["a0", "a1", "a2", "a3"], self.people),
            "b": rng.choice(["b0", "b1", "b2"], self.people),
            "s": rng.choice(["s0", "s1", "s2"], self.people),
            "t": rng.choice(["t0", "t1"], self.people),
            "o": rng.choice(["o0", "o1"], self.people),
        }
        for first, second in ties:
            leaves = sorted(set(self.value[second].tolist()))
            told = {value: str(rng.choice(leaves)) for value in sorted(set(self.value[first].tolist()))}
            self.value[second] = np.array([told[value] for value in self.value[first]])
        grows = rng.random() < 0.6
        self.releases = []
        for r in range(int(rng.integers(2, 6))):
            here = np.flatnonzero(rng.random(self.people) < (0.75 if grows else 1.0))
            self.releases.append(self._release(r, here if len(here) else np.arange(self.people)))
        self.history = History(tuple(self.releases))

    def _release(self, r, here):
        rng = self.rng
        form = rng.choice(["recoded", "recoded", "anatomy", "sub-tables"])
        columns = [name for name in ("a", "b") if rng.random() < 0.7] or ["a"]
        hidden = [name for name, share in (("s", 0.8), ("t", 0.25)) if rng.random() < share]
        hidden = hidden or (["s"] if form != "recoded" else [])
        other = ["o"] if form == "recoded" and rng.random() < 0.15 else []
        protect = [{"l-diversity": {"l": 2}}] if hidden else [{"k-anonymity": {"k": 1}}]
        policy = policy_of([*columns, *hidden, *other], form, protect)
        make = {"recoded": self._recoded, "anatomy": self._anatomy, "sub-tables": self._sub_tables}[form]
        return make(r, here, columns, hidden, other, policy)

    def _cells(self, column, here):
        """Labels in which every value is covered: exact, one level up, or suppressed; often the same for whoever is
        equal."""
        style = self.rng.choice(["exact", "up", "star", "mixed"])
        found = []
        for value in self.value[column][here]:
            how = self.rng.choice(["exact", "up", "star"]) if style == "mixed" else style
            found.append(value if how == "exact" else UP.get(value, "*") if how == "up" else "*")
        return np.array(found, dtype=object)

    def _memory(self, here, order, names, places=None):
        values = pa.table({name: pa.array([str(v) for v in self.value[name][here]]) for name in names})
        return Memory(tuple(f"p{i}" for i in here), order, Table(values), np.zeros(len(here), dtype=bool), places or {})

    def _recoded(self, r, here, columns, hidden, other, policy):
        order = self.rng.permutation(len(here))  # the row of each person
        cells = {name: self._cells(name, here) for name in columns}
        cells |= {name: self.value[name][here] for name in (*hidden, *other)}
        table = pa.table(
            {name: pa.array([str(column[i]) for i in np.argsort(order)]) for name, column in cells.items()}
        )
        exhibit = ReleaseView(Recoded(), {"data": Part(table)}, policy)
        return PastRelease(exhibit, self._memory(here, order, list(cells)), r + 1)

    def _anatomy(self, r, here, columns, hidden, other, policy):
        order = self.rng.permutation(len(here))
        bucket = self.rng.integers(1, max(2, len(here) // 2) + 1, len(here)).astype(str)
        shown = {name: self.value[name][here] for name in columns} | {"bucket": bucket}
        parts = {
            "data": Part(pa.table({n: pa.array([str(c[i]) for i in np.argsort(order)]) for n, c in shown.items()}))
        }
        for name in hidden:
            parts["sensitive" if len(hidden) == 1 else f"sensitive-{name}"] = Part(
                _counted(bucket, self.value[name][here])
            )
        exhibit = ReleaseView(AnatomyForm(), parts, policy)
        return PastRelease(exhibit, self._memory(here, order, [*columns, *hidden]), r + 1)

    def _sub_tables(self, r, here, columns, hidden, other, policy):
        parts, places = {}, {}
        sets = [(columns, hidden[:1])] + ([(columns[:1], hidden[1:])] if len(hidden) > 1 else [(columns[-1:], [])])
        for n, (visible, secret) in enumerate(sets, start=1):
            order = self.rng.permutation(len(here))
            shown = {name: self.value[name][here] for name in visible}
            if secret:
                bucket = self.rng.integers(1, max(2, len(here) // 2) + 1, len(here)).astype(str)
                shown |= {"bucket": bucket}
                counted = _counted(bucket, self.value[secret[0]][here])
                parts[f"table-{n}-sensitive"] = Part(
                    counted.append_column("column", pa.array([secret[0]] * len(counted)))
                )
            rows = {name: pa.array([str(c[i]) for i in np.argsort(order)]) for name, c in shown.items()}
            parts[f"table-{n}"], places[f"table-{n}"] = Part(pa.table(rows)), order
        exhibit = ReleaseView(SubTables(), parts, policy)
        return PastRelease(exhibit, self._memory(here, np.arange(len(here)), [*columns, *hidden], places), r + 1)


def _counted(bucket, value):
    pairs, count = np.unique(np.array([bucket, value], dtype=str), axis=1, return_counts=True)
    return pa.table({"bucket": pairs[0].tolist(), "value": pairs[1].tolist(), "count": count.astype(str).tolist()})


class Literal:
    """The published tables as lists of rows, read from the parts themselves, with the person behind each row."""

    def __init__(self, story):
        self.story = story
        self.tables = []  # (release, rows); a row is column -> set of values
        self.truth = []  # per table: person -> row
        self.named = {}  # numbers of buckets: how sheets call them
        for r, past in enumerate(story.releases):
            self._read(r, past)

    def _read(self, r, past):
        people = [int(key[1:]) for key in past.memory.keys]
        for name, part in past.exhibit.parts.items():
            if name.endswith("sensitive") or name.startswith("sensitive"):
                continue
            at = past.memory.places[name] if past.memory.places else past.memory.rows
            link = f"bucket {r} {name}"
            self.named[link] = f"{SEPARATOR}bucket {'' if name == 'data' else f'of {name} '}of release {r + 1}"
            rows = [
                {(link if c == "bucket" else c): ({v} if c == "bucket" else covers(c, v)) for c, v in row.items()}
                for row in part.table.to_pylist()
            ]
            stands = {person: int(row) for person, row in zip(people, at, strict=True)}
            self._add(r, rows, stands)
            for hiding, column in self._lists(past, name):
                self._hidden(r, past.exhibit.parts[hiding].table.to_pylist(), column, link, rows, stands)

    def _lists(self, past, name):
        if name == "data":
            hidden = [p for p in past.exhibit.parts if p.startswith("sensitive")]
            return [(p, past.exhibit.policy.sensitive[0] if p == "sensitive" else p[10:]) for p in hidden]
        own = f"{name}-sensitive"
        return [(own, past.exhibit.parts[own].table.to_pylist()[0]["column"])] if own in past.exhibit.parts else []

    def _hidden(self, r, entries, column, link, rows, stands):
        listed = [{link: {e["bucket"]}, column: {e["value"]}} for e in entries for _ in range(int(e["count"]))]
        free, truth = list(range(len(listed))), {}
        for person, row in sorted(stands.items()):
            want = {link: rows[row][link], column: {str(self.story.value[column][person])}}
            truth[person] = next(i for i in free if listed[i] == want)
            free.remove(truth[person])
        self._add(r, listed, truth)

    def _add(self, r, rows, truth):
        self.tables.append((r, rows))
        self.truth.append(truth)

    def columns(self, t):
        """The columns of a table, by the names that sheets have."""
        return {self.named.get(column, column) for column in self.tables[t][1][0]}

    def places(self, sheet):
        """The tables that were folded into a sheet."""
        found = [t for t, (r, _) in enumerate(self.tables) if r in sheet.releases and self.columns(t) == sheet.columns]
        assert [self.tables[t][0] for t in found] == sorted(sheet.releases)
        return found

    def fits(self, person, row, given):
        return all(str(self.story.value[c][person]) in values for c, values in row.items() if c in given)

    @staticmethod
    def narrowed(common, row):
        """The values in every column that somebody's rows so far have in common with one more; None where there are
        none."""
        both = {column: common.get(column, values) & values for column, values in row.items()}
        return {**common, **both} if all(both.values()) else None

    def agree(self, rows):
        """Whether rows of one person have a common value in every column."""
        common = {}
        for row in rows:
            common = self.narrowed(common, row)
            if common is None:
                return False
        return True

    def is_world(self, worlds, given):
        """Whether an assignment (per table person -> row) agrees with everything published and known."""
        for person in range(self.story.people):
            mine = [self.tables[t][1][world[person]] for t, world in enumerate(worlds) if person in world]
            if not self.agree(mine) or not all(self.fits(person, row, given) for row in mine):
                return False
        return True

    def possible(self, person, table, wanted, given, presence, limit=2_500):
        """Whether some world gives `person` a row of `table` that `wanted` accepts; None when that took too many
        steps."""
        steps = [0]
        order = [person, *(p for p in range(self.story.people) if p != person)]
        tables = range(len(self.tables))
        fitting = {
            (p, t): [(i, row) for i, row in enumerate(rows) if self.fits(p, row, given)]
            for p in order
            for t, (_, rows) in enumerate(self.tables)
        }
        fitting[person, table] = [(i, row) for i, row in fitting[person, table] if wanted(i, row)]

        def choices(p, used):
            """Every consistent tuple of free rows for a person."""

            def extend(t, chosen, common):
                if t == len(self.tables):
                    yield tuple(chosen)
                    return
                may = p in self.truth[t] if presence else None
                if may is not True and not (p == person and t == table):
                    yield from extend(t + 1, [*chosen, -1], common)
                if may is False:
                    return
                for i, row in fitting[p, t]:
                    narrowed = None if i in used[t] else self.narrowed(common, row)
                    if narrowed is not None:
                        yield from extend(t + 1, [*chosen, i], narrowed)

            return extend(0, [], {})

        def place(n, used):
            steps[0] += 1
            if steps[0] > limit:
                raise TimeoutError
            if n == len(order):
                return all(len(used[t]) == len(self.tables[t][1]) for t in tables)
            left = len(order) - n
            if any(len(self.tables[t][1]) - len(used[t]) > left for t in tables):
                return False
            return any(
                place(n + 1, [u | {c} if c >= 0 else u for u, c in zip(used, chosen, strict=True)])
                for chosen in choices(order[n], used)
            )

        try:
            return place(0, [frozenset()] * len(self.tables))
        except TimeoutError:
            return None


def traded(literal, one, other, tables):
    """The world in which two people trade their rows (or absence) in some tables, everything else as it is."""
    worlds = [dict(world) for world in literal.truth]
    for t in tables:
        mine, theirs = worlds[t].pop(one, None), worlds[t].pop(other, None)
        worlds[t] |= {p: row for p, row in ((one, theirs), (other, mine)) if row is not None}
    return worlds


def pairs_of(classes):
    return [pair for members in classes for pair in combinations(members, 2)]

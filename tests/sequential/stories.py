"""Random stories of a table that is published, grows, and is published again; and a judge who enumerates."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from sfumato.history.ledger import Ledger
from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish
from tests.secret import SEED

TREES = {"a": {"*": {"a01": ["a0", "a1"], "a23": ["a2", "a3"]}}, "b": {"*": ["b0", "b1", "b2"]}}
LEAVES = {"a": ["a0", "a1", "a2", "a3"], "b": ["b0", "b1", "b2"], "s": ["s0", "s1", "s2", "s3"]}
STANDS_FOR = {"a01": {"a0", "a1"}, "a23": {"a2", "a3"}}


def policy(columns, model="k-linkability", k=2, **method):
    tree = {
        "version": 1,
        "data": {"kind": "table"},
        "columns": {
            "id": "identifier",
            "a": {"role": "quasi-identifier", "hierarchy": TREES["a"], "publish": "a" in columns},
            "b": {"role": "quasi-identifier", "hierarchy": TREES["b"], "publish": "b" in columns},
            "s": {"role": "sensitive", "publish": "s" in columns},
        },
        "protect": [{model: {"k": k}}],
        "method": {"sequential": {"by": "join", **method}},
        "key": "id",
    }
    return Policy.parse(tree)


def people(rng, count, first=0):
    return {
        "id": [f"p{first + i}" for i in range(count)],
        **{name: [str(v) for v in rng.choice(LEAVES[name], count)] for name in ("a", "b", "s")},
    }


def joined(first, second):
    return {name: [*first[name], *second[name]] for name in first}


def release(path, columns, table, seed=SEED, **options):
    """Publish into a ledger; the folder goes beside it."""
    ledger = path / "book.ledger"
    publication = publish(policy(columns, **options), table, seed=seed, ledger=ledger, new_ledger=not ledger.exists())
    publication.write(path / f"release-{len(publication.history)}", report=False)
    return publication


def whole(name):
    return {*LEAVES[name], "unknown"}


def leaves_of(name, label):
    return whole(name) if label == "*" else STANDS_FOR.get(label, {label})


class Judge:
    """Reads the ledger's releases literally and enumerates every way to pair up their rows."""

    def __init__(self, path):
        self.releases = Ledger(path / "book.ledger").history().releases
        self.keys = self.releases[-1].memory.keys
        self.originals = {}
        for past in self.releases:
            for i, key in enumerate(past.memory.keys):
                for name in past.memory.values.names:
                    text = past.memory.values.text(name)
                    self.originals.setdefault(key, {})[name] = text.labels[text.codes[i]]
        self.tells = [set(past.published) for past in self.releases]

    def rows(self, r):
        """Row r of each record: per column the leaves it may be, or nothing at all for somebody absent (the
        stand-in)."""
        past = self.releases[r]
        table = past.exhibit.parts["data"].table.to_pylist()
        found = []
        for key in self.keys:
            if key in past.memory.place:
                row = table[past.memory.rows[past.memory.place[key]]]
                cells = {name: leaves_of(name, row[name]) if name in row else whole(name) for name in LEAVES}
                found.append((cells, True))
            else:
                cells = {name: whole(name) for name in LEAVES}
                if "s" in past.published:
                    cells["s"] = {self.originals[key].get("s", "unknown")}
                found.append((cells, False))
        return found

    def full_join(self, cohorts=True):
        """All admissible cliques of records: (rows per release, possible sensitive values, presence pattern)."""
        releases = [self.rows(r) for r in range(len(self.releases))]
        count = len(self.keys)
        cliques = [c for c in product(range(count), repeat=len(releases)) if self._consistent(releases, c, cohorts)]
        by_first = [[c for c in cliques if c[0] == n] for n in range(count)]
        admissible = set()

        def extend(n, used, chosen):
            if n == count:
                admissible.update(chosen)
                return
            for c in by_first[n]:
                if all(c[r] not in used[r] for r in range(1, len(releases))):
                    extend(n + 1, [u | {c[r]} for r, u in enumerate(used)], [*chosen, c])

        extend(0, [frozenset()] * len(releases), [])
        return releases, admissible

    def _consistent(self, releases, clique, cohorts):
        rows = [releases[r][n] for r, n in enumerate(clique)]
        here = [present for _, present in rows]
        if cohorts and here != sorted(here):  # nobody leaves and comes back
            return False
        return all(set.intersection(*(cells[name] for cells, _ in rows)) for name in LEAVES)

    def level(self, goal="linkability", cohorts=True, keys=None):
        """The worst level over everybody whose sensitive value was published."""
        if not any("s" in told for told in self.tells):
            return None
        releases, join = self.full_join(cohorts)
        worst = None
        for key in keys or self.keys:
            if "s" not in self.originals[key]:
                continue
            found = self._multiset(releases, join, key, cohorts)
            value = len(found) if goal == "linkability" else Fraction(sum(found.values()), max(found.values()))
            worst = value if worst is None else min(worst, value)
        return worst

    def _multiset(self, releases, join, key, cohorts):
        mine, present = self.originals[key], [key in past.memory.place for past in self.releases]
        found = {}
        for clique in join:
            rows = [releases[r][n] for r, n in enumerate(clique)]
            if cohorts and [p for _, p in rows] != present:
                continue
            known = [name for name in ("a", "b") if any(name in told for told in self.tells)]
            if all(self._covers(cells[name], mine.get(name), name) for cells, _ in rows for name in known):
                (value,) = set.intersection(*(cells["s"] for cells, _ in rows))
                found[value] = found.get(value, 0) + 1
        return found

    @staticmethod
    def _covers(cell, value, name):
        return value in cell if value is not None else cell == whole(name)


def story(rng, path, model, growth, cohorts):
    """Two to three releases with growth; returns how many were accepted."""
    from sfumato.core.errors import Infeasible

    table = people(rng, int(rng.integers(3, 5)))
    accepted = 0
    for number in range(int(rng.integers(2, 4))):
        columns = [name for name in ("a", "b", "s") if rng.random() < 0.65]
        if not columns or columns == ["s"]:
            columns = ["a", "s"]
        try:
            release(path, columns, table, seed=int(rng.integers(1 << 30)), model=model, growth=growth, cohorts=cohorts)
            accepted += 1
        except Infeasible:
            return accepted
        if rng.random() < 0.5 and len(table["id"]) < 4 and accepted:
            table = joined(table, people(rng, 2, first=100 * (number + 1)))
    return accepted


def random_generator(seed):
    return np.random.default_rng(seed)

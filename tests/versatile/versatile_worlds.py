"""Brute force: every world that agrees with the published tables, by enumeration, with nothing borrowed from the code
under test.

A world links the rows of the first table to the rows of every other table (same values in shared columns) and, behind
buckets, to the hidden values of the own bucket. All such links are equally likely.
"""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product


def table_worlds(visible, buckets, hidden):
    """Distinct ways to read one table: a list of rows (dicts), with multiplicities."""
    if buckets is None:
        return {tuple(tuple(sorted(row.items())) for row in visible): 1}
    groups = {}
    for i, bucket in enumerate(buckets):
        groups.setdefault(bucket, []).append(i)
    readings = Counter()
    for choice in product(*(permutations(members) for members in groups.values())):
        value = {}
        for members, shuffled in zip(groups.values(), choice, strict=True):
            value.update({i: hidden[j] for i, j in zip(members, shuffled, strict=True)})
        readings[tuple(tuple(sorted({**row, **value[i]}.items())) for i, row in enumerate(visible))] += 1
    return readings


def people(tables):
    """Counter of (tuple of people as frozen dicts) → number of worlds."""
    worlds = Counter({(): 1})
    for place, table in enumerate(tables):
        following = Counter()
        readings = table_worlds(*table)
        for known, weight in worlds.items():
            for reading, ways in readings.items():
                if place == 0:
                    following[tuple(sorted(reading))] += weight * ways
                    continue
                for linked in links(known, reading):
                    following[tuple(sorted(linked))] += weight * ways
        worlds = following
    return worlds


def links(known, rows):
    """Every way to give each known person one of the rows, where both say the same of what both say."""
    if not known:
        yield ()
        return
    for i, row in enumerate(rows):
        linked = one_person(known[0], row)
        if linked is not None:
            yield from ((linked, *others) for others in links(known[1:], rows[:i] + rows[i + 1 :]))


@lru_cache(maxsize=100_000)
def one_person(known, row):
    merged = dict(known)
    for name, value in row:
        if merged.setdefault(name, value) != value:
            return None
    return tuple(sorted(merged.items()))


def posteriors(tables, given, hidden, believed=lambda person: True):
    """The weights of the hidden values for every q (given = q) that exists in some world with only believed people."""
    found = {}
    for world, weight in people(tables).items():
        if not all(believed(dict(person)) for person in world):
            continue
        for person in world:
            values = dict(person)
            if hidden in values:  # else it is withheld
                q = tuple(values[name] for name in given if name in values)
                found.setdefault(q, Counter())[values[hidden]] += weight
    return found


def largest_posterior(tables, given, hidden, believed=lambda person: True):
    """The largest P(hidden = s | given = q, all tables) over people q that exist in some world with only believed
    people."""
    found = posteriors(tables, given, hidden, believed)
    return max(Fraction(max(count.values()), sum(count.values())) for count in found.values())

"""Brute force: every world that agrees with the published tables, by enumeration, with nothing borrowed from the code under test.

A world links the rows of the first table to the rows of every other table (same values in shared columns) and, behind
buckets, to the hidden values of the own bucket. All such links are equally likely.
"""

from collections import Counter
from fractions import Fraction
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
                for order in permutations(range(len(reading))):
                    linked = link(known, [reading[i] for i in order])
                    if linked is not None:
                        following[linked] += weight * ways
        worlds = following
    return worlds


def link(known, rows):
    linked = []
    for one, other in zip(known, rows, strict=True):
        merged = dict(one)
        for name, value in other:
            if merged.setdefault(name, value) != value:
                return None
        linked.append(tuple(sorted(merged.items())))
    return tuple(linked)


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
    """The largest P(hidden = s | given = q, all tables) over people q that exist in some world with only believed people."""
    found = posteriors(tables, given, hidden, believed)
    return max(Fraction(max(count.values()), sum(count.values())) for count in found.values())

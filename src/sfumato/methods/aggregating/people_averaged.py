"""People in groups that are published as averages: any row of a person could stand in any group.

Averages do not say which rows could stand behind them, so M, the rows of a person that fit a group, is taken to be the most rows
that anybody has in the table. Then k·M ≤ n and f + M ≤ n hold for everybody, whatever an outsider believes about who stands where.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.people import people_of
from sfumato.data.table import Table
from sfumato.policy.policy import Policy


def most_rows(policy: Policy, table: Table) -> int:
    """The most rows that anybody has; 1 when rows are people."""
    return 1 if policy.person is None else int(np.bincount(people_of(table, policy.person.unit)).max(initial=1))


def kept_for_people(policy: Policy, table: Table, of: IntArray) -> BoolArray:
    """For each group: does everything hold that claims ask about people?"""
    rows = np.bincount(of)
    verdict = np.ones(len(rows), dtype=np.bool_)
    if policy.person is None:
        return verdict
    person, most = people_of(table, policy.person.unit), most_rows(policy, table)
    people = np.bincount(of[group([of, person]).first], minlength=len(rows))
    for claim in policy.claims:
        demand = claim.model.demand()
        verdict &= rows >= demand.candidates * most
        for name in claim.hide if demand.of_values else ():
            value = table.text(name).codes.astype(np.int64)
            verdict &= _most_often(of, value, len(rows)) + most <= rows
            once = group([of, person, value]).first
            verdict &= _most_often(of[once], value[once], len(rows)) <= demand.largest_share * people + 1e-9
    return verdict


def _most_often(of: IntArray, value: IntArray, groups: int) -> IntArray:
    """How often the most frequent value of each group occurs."""
    pairs = group([of, value])
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, of[pairs.first], pairs.counts)
    return most

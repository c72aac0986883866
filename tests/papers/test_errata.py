"""Errata that no other test shows, each by a small computation; and the page of errata names tests that exist."""

from __future__ import annotations

import csv
import re
from itertools import permutations

import numpy as np
import pytest
import yaml

import sfumato as sf
from reference_pages.papers_pages import ERRATA, ROOT, errata, places_of_tests
from sfumato.kinds.testdata.metrics import distortion

PHONES = ["0546410616", "0521972696", "0502345678"]


def test_phone_numbers_have_seven_digits_after_the_prefix() -> None:
    assert all(re.fullmatch("05[0247][0-9]{7}", phone) for phone in PHONES)
    assert not any(re.fullmatch("05[0247][0-9]{6}", phone) for phone in PHONES)


@pytest.mark.parametrize(("people", "k"), [(5, 2), (6, 3), (7, 3), (7, 4)])
def test_the_mean_offset_on_a_ring_is_a_whole_number(people: int, k: int) -> None:
    """The winding number: record i may stand at places i … i + k − 1 around a ring."""
    offsets = [[(place - i) % people for i, place in enumerate(order)] for order in permutations(range(people))]
    legal = [offset for offset in offsets if max(offset) < k]
    assert all(sum(offset) % people == 0 for offset in legal)
    assert {sum(offset) // people for offset in legal} == set(range(k))
    if k == 2:
        assert len(legal) == 2  # the whole secret is one bit, whatever the number of people


def test_alibi_rows_satisfy_the_definition_and_hide_nobody() -> None:
    """Three people of one class share an illness; three rows that say nothing bring three more values."""
    published = [("30-39", "flu")] * 3 + [("*", "cold"), ("*", "cough"), ("*", "gout")]
    covers = {value for box, value in published if box in ("30-39", "*")}
    exact = {value for box, value in published if box == "30-39"}
    assert len(covers) == 4  # k-linkable with k = 4 by the definition
    assert len(exact) == 1  # and everybody of the class is known


def test_suppressed_records_count_with_full_loss() -> None:
    """Definition 11: one record that stands alone is left out, and costs what the whole range costs."""
    tree = {
        "version": 1,
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 100]}, "boundary": {"level": 1}}
        },
        "protect": [{"k-anonymity": {"k": 2}}],
        "utility": {"minimize": "ntil", "suppress_at_most": "50%"},
    }
    ages = ["11", "11", "22", "22", "99"]
    publication = sf.publish(sf.Policy.parse(tree), data={"age": ages})
    assert publication.certificate.records.suppressed == 1
    assert publication.utility["ntil"] == pytest.approx(1 / len(ages))


def test_domains_of_the_students_are_numbered_one_too_low() -> None:
    """§5.6: attributes are A1 to A7, domains D0 to D6. A1 is in D0; read as D1 it is not."""
    student = ["0546410616", "30", "03/01/2009", "31/10/2010", "90", "80", "85"]
    grade, day = re.compile("[89][0-9]|100"), re.compile(r"\d\d/\d\d/\d{4}")
    domains = [re.compile(".*"), re.compile("[1-9][0-9]?|1[01][0-9]|120"), day, day, grade, grade, grade]
    assert all(domains[j].fullmatch(value) for j, value in enumerate(student))  # A(j + 1) in D(j)
    printed = [bool(domains[j].fullmatch(value)) for j, value in enumerate(student[:-1], start=1)]
    assert printed == [False, False, True, False, True, True]


def test_table_5_2_leaves_record_2_outside() -> None:
    """The ranges that a release of Table 5.1 must publish for the two classes, and those that are printed."""
    age, weight = [42, 40, 49, 54, 55, 60], [66, 76, 73, 68, 53, 66]
    printed = [((40, 49), (66, 73))] * 3 + [((54, 60), (53, 68))] * 3
    outside = [
        number
        for number, (a, w, (ages, weights)) in enumerate(zip(age, weight, printed, strict=True), start=1)
        if not (ages[0] <= a <= ages[1] and weights[0] <= w <= weights[1])
    ]
    assert outside == [2]
    assert (min(weight[:3]), max(weight[:3])) == (66, 76)


def test_more_kept_properties_and_larger_groups_distort_in_opposite_directions() -> None:
    """§5.7.3 pairs growing σ with growing l, §5.7.4 with falling l. Distortion falls with σ, and grows with l."""
    with (ROOT / "benchmarks" / "results" / "patterns-5.5-5.6-clustering.csv").open(encoding="utf-8") as file:
        measured = {float(row["sigma"]): float(row["distortion"]) for row in csv.DictReader(file)}
    assert measured[max(measured)] < measured[min(measured)]
    values = np.arange(1.0, 1201.0)[:, None]
    by_size = []
    for l in (4, 6, 8, 10, 12):
        groups = values.reshape(-1, l)
        by_size.append(distortion(values, np.repeat(groups.mean(axis=1), l)[:, None]))
    assert by_size == sorted(by_size)
    assert by_size[0] < by_size[-1]


def test_the_page_knows_about_forty_seven_errata_and_their_tests() -> None:
    listed = [entry for entries in errata().values() for entry in entries]
    assert len(listed) >= 47
    known = places_of_tests()
    assert [entry["test"] for entry in listed if entry["test"] not in known] == []


def test_every_erratum_says_what_is_printed_and_what_is_right() -> None:
    for entries in yaml.safe_load(ERRATA.read_text(encoding="utf-8")).values():
        for entry in entries:
            assert set(entry) == {"place", "printed", "right", "test"}
            assert entry["printed"] != entry["right"]

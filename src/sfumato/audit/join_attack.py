"""`join`: the adversary who collects every release so far, joins them, and looks everybody up.

Plays three adversaries of growing strength: the match join trusts every consistent combination of rows, the kernel join
drops what no pairwise matching allows, the full join keeps only what some way to pair up all rows allows. It counts the
people with fewer values than the requirement demands, and by how much; it counts rows if a person may have several.

Of releases that were made where their rows lie people are joined who went the same way through all of them, with their
number: the figures are those of the same people one by one. Memory grows with the people once, while they are counted.

Where pseudonyms tie the rows of a person people are counted who share all their rows in all releases, row by row. Of
baskets the labels are intersected that each person's blocks show. Of graphs nothing about single people is joined: what
all flips together allow is shown, and `structural` with `releases` plays it.

Paper: [sequential §3, §7.1 tests (a) and (b)]
Cost: exact decisions for three and more releases are bounded by a time budget; what stays undecided counts as possible.


Joined people
-------------
People whose rows share a pseudonym, as an adversary sees them who joins all releases.

The adversary knows all rows of all people and who is in which release, and can match the pseudonyms of different
releases. People whose published rows are the same in all releases, row by row, are what is left of each of them.


Joined blocks
-------------
Join several releases of baskets: an adversary who knows the items of all people knows each person's block in each
release.

In every release a person's label is one of those that the block shows, each as likely as it is frequent there; a block
with suppressed labels adds no information. The adversary multiplies what all releases say. What is guessed so is
compared with what the first release of each person says alone: people who kept their companions give away no more than
that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.errors import LedgerError
from sfumato.data.linkage import Linkage
from sfumato.data.persons import persons_per_value
from sfumato.engines.local import HERE
from sfumato.history.judge.sequence import ReleaseLevels, timeline
from sfumato.history.judge.series import is_membership_known_for_view, persistent_classes_of
from sfumato.history.ledger import Ledger
from sfumato.history.persistent_classes import count_trajectories
from sfumato.history.persons import LinkedPersons, links_rows
from sfumato.history.published_cells import PublishedCells
from sfumato.history.standing_requirements import standing_requirements, widen_requirement
from sfumato.kinds.baskets.block_history import blocks_of_records
from sfumato.kinds.baskets.form import BasketBlocks
from sfumato.kinds.graphs.form import Edges
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.attack import Attack
from sfumato.release.certificate import Finding
from sfumato.release.evidence import evidence_for
from sfumato.release.past_releases import History, PastRelease


class JoinAttack(Attack):
    """Join all releases of a ledger and count the people who fall below a level, and by how much."""

    name: ClassVar[str] = "join"
    paper: ClassVar[str] = "sequential §3, §7"

    ledger: str = Field(description="the ledger with the releases")
    k: int = Field(default=0, ge=0, description="required level; 0: that of the last policy")
    release: int = Field(default=0, ge=0, description="join only the releases up to this one; 0: all")

    def run(self) -> dict[str, Any]:
        if not Path(self.ledger).exists():
            raise LedgerError("no such ledger", where=self.ledger)
        history = _everything(Ledger(self.ledger))
        last = history.releases[-1].exhibit.policy
        promised = standing_requirements(last, history)
        if isinstance(history.releases[-1].exhibit.form, Edges):
            return {"releases": len(history)} | {
                str(claim): finding.achieved for claim, finding in _of_flips(history, promised)
            }
        columns = dict.fromkeys([*(name for claim in promised for name in claim.hide), *last.sensitive])
        return {column: self._joined(history, column, promised) for column in columns}

    def _joined(self, history: History, column: str, promised: list[PrivacyRequirement]) -> dict[str, Any]:
        """What the joins leave of one sensitive column, beside the most that any claim promised of it."""
        if isinstance(history.releases[-1].exhibit.form, BasketBlocks):
            return join_block_releases(History(history.releases[: self.release or len(history)]), column)
        if links_rows(history):
            return join_person_releases(History(history.releases[: self.release or len(history)]), column, promised)
        asked = [claim.model.demand().diversity for claim in promised if column in claim.hide]
        level = float(self.k or max(asked, default=2.0))
        cohorts = is_membership_known_for_view(history.releases[-1].exhibit)
        steps = timeline(history, column, only=self.release or len(history), level=level, budget=60.0, cohorts=cohorts)
        return self._column(steps, level, history.releases[-1].exhibit.policy.candidate_word)

    def _column(self, steps: list[ReleaseLevels], level: float, word: str) -> dict[str, Any]:
        if not steps:
            return {"releases": 0, "remark": "the column was never published"}
        step = steps[-1]
        played = {name: _fallen(linkage, level, word) for name, linkage in step.joins.items()}
        return {"releases": step.release, "level": level, **played, "undecided": step.undecided}


def _everything(book: Ledger) -> History:
    """All releases: of all people one by one or, where one was made where its rows lie, of how many people went which
    way."""
    return count_trajectories(HERE, book.chronicle()) if book.distant else book.history()


def _of_flips(history: History, promised: list[PrivacyRequirement]) -> list[tuple[PrivacyRequirement, Finding]]:
    """What all flips together allow, requirement by requirement."""
    newest = replace(history.releases[-1].exhibit, history=history)
    return [(claim, evidence_for(newest.form).judge_all(newest, claim)) for claim in promised]


def _fallen(linkage: Linkage, level: float, word: str) -> dict[str, Any]:
    """How many people, or rows of people, are left with too few values, and how far below they fall."""
    (spread,) = linkage.spread.values()
    values = spread.distinct()
    missing = np.maximum(np.ceil(level) - values, 0).astype(np.int64)
    by_how_much = {str(int(gap)): int(linkage.people[missing == gap].sum()) for gap in np.unique(missing[missing > 0])}
    return {
        "linkability": KLinkability(k=1).achieved(linkage)["k"],
        "diversity": KDiversity(k=1).achieved(linkage)["k"],
        word: int(linkage.people.sum()),
        f"{word}_below": int(linkage.people[missing > 0].sum()),
        "missing_values": by_how_much,
    }


# Joined people
# -------------


def join_person_releases(history: History, column: str, promised: list[PrivacyRequirement]) -> dict[str, Any]:
    """What all releases together leave of all people, about one sensitive column."""
    bundles = PublishedCells(history)
    claim = next((claim for claim in promised if column in claim.hide), None)
    if claim is None:
        return {"releases": len(history), "remark": "nothing is promised about the column"}
    people, joint = (
        LinkedPersons(bundles),
        persistent_classes_of(bundles, widen_requirement(claim, bundles.policies[0], bundles.policies), cohorts=True),
    )
    of = people.classes(joint)
    many = np.bincount(of[of >= 0])
    values, labels = people.values(joint, column)
    told = np.flatnonzero((values >= 0) & (joint.of >= 0))
    if not len(told):
        return {"releases": len(history), "remark": "the column was never published"}
    classes, kind = np.unique(of[people.whose[told]], return_inverse=True)
    ever = persons_per_value(values[told], labels, kind.astype(np.int64), people.whose[told], many[classes])
    share = np.maximum.reduceat(ever.weight / np.repeat(many[classes], np.diff(ever.start)), ever.start[:-1])
    return {
        "releases": len(history),
        "people": int(many.sum()),
        "fewest_people_left": int(many.min()),
        "one_person_left": int((many == 1).sum()),
        "highest_chance_that_somebody_ever_had_a_value": round(float(share.max()), 6),
        "people_with_a_certain_value": int(many[classes][share >= 1].sum()),
    }


# Joined blocks
# -------------


Belief = dict[str, float]


def join_block_releases(history: History, column: str) -> dict[str, Any]:
    """Labels left and labels guessed, from the first release of all people alone and from all of them."""
    alone: dict[str, Belief | None] = {}
    joined: dict[str, Belief | None] = {}
    truth: dict[str, str] = {}
    for past in history.releases:
        if column in past.memory.values.names:
            for key, label, belief in _said(past, column):
                truth.setdefault(key, label)
                alone.setdefault(key, belief)
                joined[key] = _both(joined.get(key), belief)
    if not truth:
        return {"releases": 0, "remark": "the column was never published"}
    told = {"first release alone": alone, "all releases": joined}
    figures = {name: _figures(beliefs, truth) for name, beliefs in told.items()}
    less = sum(_left(joined[key]) < _left(alone[key]) for key in truth)
    return {"releases": len(history), "people": len(truth), **figures, "people_with_fewer_labels_left": less}


def _said(past: PastRelease, column: str) -> list[tuple[str, str, Belief | None]]:
    """Key, true label and what the own block says, for all people of a release."""
    block, shown = blocks_of_records(past)
    text = past.memory.values.text(column)
    labels = [text.labels[code] for code in text.codes.tolist()]
    counts: dict[int, Counter[str]] = {}
    closed = set()
    for place, number in enumerate(block.tolist()):
        counts.setdefault(number, Counter())[labels[place]] += 1
        if not shown[column][place]:
            closed.add(number)
    laws = {
        n: None if n in closed else {label: c / mine.total() for label, c in mine.items()} for n, mine in counts.items()
    }
    return [(key, labels[place], laws[int(block[place])]) for place, key in enumerate(past.memory.keys)]


def _both(one: Belief | None, other: Belief | None) -> Belief | None:
    if one is None or other is None:
        return one or other
    weight = {label: share * other[label] for label, share in one.items() if label in other}
    total = sum(weight.values())
    return {label: share / total for label, share in weight.items()} if total else one


def _left(belief: Belief | None) -> float:
    return float("inf") if belief is None else len(belief)


def _figures(beliefs: dict[str, Belief | None], truth: dict[str, str]) -> dict[str, Any]:
    """The fewest labels left to any person, and how often the likeliest one is right, in the mean over draws among
    equals."""
    told = {key: belief for key, belief in beliefs.items() if belief is not None}
    if not told:
        return {"fewest_labels": None, "guesses_right": None}
    right = 0.0
    for key, belief in told.items():
        best = max(belief.values())
        likeliest = [label for label, share in belief.items() if share > best - 1e-12]
        right += (truth[key] in likeliest) / len(likeliest)
    return {"fewest_labels": min(map(len, told.values())), "guesses_right": right / len(told)}

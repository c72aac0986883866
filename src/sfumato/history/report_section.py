"""The releases so far: what was published when, and the level of every claim after each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from markupsafe import Markup

from sfumato.core.html.charts import line
from sfumato.history.judge.sequence import timeline
from sfumato.history.judge.series import (
    ClassVerdict,
    is_membership_known_for_view,
    judge_by_classes,
    levels_after_each_release,
    published_cells_of,
)
from sfumato.history.published_cells import PublishedCells
from sfumato.history.standing_requirements import widen_requirement
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.evidence import evidence_for
from sfumato.release.past_releases import History, PastRelease
from sfumato.release.report_section import Section, paragraph, table
from sfumato.release.view import ReleaseView

_LARGE = 500_000
"""People times releases up to which every step is counted again."""
_CLASSES = (
    "A joint class is a set of people whose published cells are equal in all linked "
    "tables of all releases so far. An adversary who joins all releases cannot tell "
    "its members apart. People so far are all who were ever published."
)
_ROWS = (
    "Here rows are counted, and a person may have several: read rows for people. What is promised to people is judged"
    " for them, in joint classes as well, and stands among the promises (people)."
)
_CHAINS = (
    "A joint class is a set of people whose published rows, taken together, are "
    "equal in all releases so far, row by row where a row has a key. An adversary "
    "who joins all releases cannot tell its members apart. People so far are all who "
    "were ever published."
)
_WORDS = (
    "The match join trusts every consistent combination of rows and the kernel join every pairwise matching: both"
    " flatter. Only the full join is what an outsider can really not exclude; the promise is judged on it."
)


class Releases(Section):
    """A timeline of releases with the level of every claim after each."""

    name: ClassVar[str] = "releases"
    title: ClassVar[str] = "All releases together"
    order: ClassVar[int] = 15

    def ready(self, exhibit: ReleaseView) -> bool:
        joint = any(claim.model.joint for claim in exhibit.policy.claims)
        return exhibit.private and exhibit.history is not None and (joint or len(exhibit.history) > 1)

    def render(self, exhibit: ReleaseView) -> Markup:
        history = exhibit.history
        assert history is not None
        head = ("release", "published", "columns", "records")
        if evidence_for(exhibit.form).joins_itself:
            rows = [_row(past, past.published, len(past.memory.keys)) for past in history.releases]
            return Markup("").join([table(head, rows), *_together(exhibit)])
        bundles = exhibit.once(published_cells_of)
        parts = [table(head, [_row(past, *bundles.shown(r)) for r, past in enumerate(history.releases)])]
        for claim in exhibit.policy.claims:
            wide = widen_requirement(claim, exhibit.policy, bundles.policies)
            parts += _in_classes(bundles, wide, is_membership_known_for_view(exhibit), exhibit.policy.candidate_word)
            if _searched(exhibit) and claim.model.joint:
                for column in claim.hide:
                    parts += _levels(history, column)
        return Markup("").join([*parts, paragraph(_explained(exhibit.policy))])


def _explained(policy: Policy) -> str:
    if policy.person is None:
        return _CLASSES
    return _CHAINS if policy.person.linked else f"{_CLASSES} {_ROWS}"


def _together(exhibit: ReleaseView) -> list[Markup]:
    """The level of every claim after each release, where the reading of the form joins releases by itself."""
    parts: list[Markup] = []
    for claim in exhibit.policy.claims:
        level, steps = next(iter(claim.model.levels), ""), evidence_for(exhibit.form).steps(exhibit, claim)
        rows = [(number, _words(one.achieved), "yes" if one.holds else "no") for number, one in steps]
        chart = [(str(n), float(one.achieved.get(level, 0.0)), _words(one.achieved)) for n, one in steps]
        title = f"{claim.model.name} after each release"
        parts += [
            Markup("<h3>{}</h3>").format(title),
            table(("after release", "level", "holds"), rows),
            line(chart, _threshold(claim, level), title=title, axes=(_RELEASES, level)),
        ]
    return parts


def _searched(exhibit: ReleaseView) -> bool:
    """Whether the release was made by the paper's search, so that its joins are worth their time."""
    method = exhibit.policy.method
    return method is not None and method.parameters.get("by") == "join"


def _in_classes(bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool, word: str) -> list[Markup]:
    """The level of a requirement in joint classes after each release; of very large histories only the newest."""
    size = bundles.people * len(bundles.history)
    steps = levels_after_each_release(bundles, claim, cohorts) if size <= _LARGE else _newest(bundles, claim, cohorts)
    about = f" of {', '.join(claim.hide)}" if claim.hide else ""
    if not steps:
        return [paragraph(f"Nothing{about} was ever published: there is nothing to link to.")]
    level = next(iter(claim.model.levels), "")
    rows = [
        (number, _words(verdict.achieved), f"{verdict.below:,}", f"{verdict.people:,}") for number, verdict in steps
    ]
    chart = [(str(n), float(v.achieved.get(level, 0.0)), _words(v.achieved)) for n, v in steps]  # type: ignore[arg-type]
    return [
        Markup("<h3>{}</h3>").format(f"{claim.model.name}{about}, in joint classes after each release"),
        table(("after release", "worst class", f"{word} below", f"{word} so far"), rows),
        line(
            chart,
            _threshold(claim, level),
            title=f"{claim.model.name}{about} after each release",
            axes=(_RELEASES, level),
        ),
    ]


_RELEASES = "after release"


def _threshold(claim: PrivacyRequirement, level: str) -> tuple[float, str] | None:
    """The required level of a series, and what it says."""
    asked = claim.model.required().get(level)
    return (float(asked), f"required: {level} = {asked}") if isinstance(asked, int | float) else None


def _newest(bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool) -> list[tuple[int, ClassVerdict]]:
    verdict = judge_by_classes(bundles, claim, cohorts)
    return [] if verdict is None else [(bundles.history.releases[-1].number, verdict)]


def _words(achieved: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in achieved.items())


def _row(past: PastRelease, columns: Sequence[str], records: int) -> tuple[str, str, str, str]:
    return str(past.number), past.when or "now", ", ".join(columns), f"{records:,}"


def _levels(history: History, column: str) -> list[Markup]:
    """Levels of one sensitive column after each release that an adversary could join."""
    steps = timeline(history, column)
    if not steps:
        return [paragraph(f"'{column}' was never published: there is nothing to link to.")]
    rows, chart = [], []
    for number, joins in ((step.release, step.joins) for step in steps):
        gamma = {name: KLinkability(k=1).achieved(linkage)["k"] for name, linkage in joins.items()}
        delta = {name: KDiversity(k=1).achieved(linkage)["k"] for name, linkage in joins.items()}
        rows.append(
            (number, gamma["match"], gamma["kernel"], gamma["full"], delta["match"], delta["kernel"], delta["full"])
        )
        chart.append((str(number), float(gamma["full"]), str(gamma["full"])))
    header = ("after release", "values: match", "kernel", "full", "1/share: match", "kernel", "full")
    title = f"fewest values of {column} that a person can be linked to"
    picture = line(chart, None, title=title, axes=(_RELEASES, "values left by the full join"))
    return [
        Markup("<h3>{}</h3>").format(f"Fewest values of '{column}' that a person can be linked to"),
        table(header, rows), picture, paragraph(_WORDS),
    ]  # fmt: skip

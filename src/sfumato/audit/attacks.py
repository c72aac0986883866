"""The attacks that concern a release, played by the data holder: every figure beside what was promised.

Guarantee
    Figures are counts and rates; nothing an adversary reads off about a single person is repeated.


Known limits
------------
Threats that need no playing: what a release cannot protect against, by what its policy requirements and publishes.

Each says in one sentence when it applies; `docs/explanation/limits.md` has a paragraph on every one.

Paper
    Machanavajjhala et al. (2006) for homogeneity; Li, Li and Venkatasubramanian (2007) for skewness.


Attacks
-------
What the release does not protect against, and on the data holder's side what these adversaries get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.core.errors import SfumatoError
from sfumato.core.registry import catalogue
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.attack import Attack, ReleaseAttack, Threat
from sfumato.release.method import Progress, no_progress
from sfumato.release.report_section import Section, paragraph, table
from sfumato.release.view import ReleaseView, certificate_of


@dataclass(frozen=True, slots=True)
class AttackFigure:
    """One figure of one attack; `note` instead, where it was not played."""

    attack: str
    column: str = ""
    figure: str = ""
    got: Any = None
    promised: float | None = None
    above: bool = False
    """Whether it is beyond the promise, or counts people for whom something is."""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def runnable_attack(name: str, exhibit: ReleaseView) -> type[ReleaseAttack] | None:
    """The attack of this name, when it can be played on this release."""
    cls = catalogue("attacks", Attack).get(name)
    return cls if cls is not None and issubclass(cls, ReleaseAttack) and isinstance(exhibit.form, cls.forms) else None


def run_attack(name: str, exhibit: ReleaseView, progress: Progress = no_progress) -> Iterator[AttackFigure]:
    """Run one attack on the private view and return its figures; None if it does not apply to this form."""
    cls = runnable_attack(name, exhibit)
    if cls is None:
        return
    try:
        attack = cls(target=str(exhibit.folder or ""), original="")
        figures = attack.watched(progress).play(exhibit)
    except SfumatoError as error:
        yield AttackFigure(name, note=f"not played: {error.what}")
        return
    for column, found in _by_column(figures):
        yield from (_figure(name, column, key, found, cls.headline) for key in found if key != "promised")


def _by_column(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Figures of the whole, then those of single columns."""
    yield "", {key: value for key, value in figures.items() if not isinstance(value, Mapping)}
    yield from ((key, value) for key, value in figures.items() if isinstance(value, Mapping))


def _figure(name: str, column: str, key: str, figures: Mapping[str, Any], headline: str) -> AttackFigure:
    got, promised = figures[key], figures.get("promised") if key == headline else None
    above = got > promised if promised is not None else key.endswith("_above_promise") and got > 0
    return AttackFigure(name, column, key.replace("_", " "), got, promised, bool(above))


# Known limits
# ------------


class Homogeneity(Threat):
    """All candidates of a person share one sensitive value, which is then disclosed."""

    name: ClassVar[str] = "homogeneity"
    paper: ClassVar[str] = "Machanavajjhala et al. 2006"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        open_ = [name for name in exhibit.policy.sensitive if not _on_values(exhibit.policy, name)]
        if not exhibit.form.shows_columns or not open_:
            return ""
        return (
            f"no claim speaks of the values of {_listed(open_)}: where all candidates of a person share one, it is"
            " known"
        )


class Skewness(Threat):
    """The sensitive values of a class differ strongly from those of the whole table."""

    name: ClassVar[str] = "skewness"
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        policy = exhibit.policy
        claims = {name: _on_values(policy, name) for name in policy.sensitive}
        open_ = [name for name, made in claims.items() if made and not any(claim.model.compares for claim in made)]
        if not exhibit.form.shows_columns or not open_:
            return ""
        return (
            f"the claims on {_listed(open_)} do not compare a person's candidates with the whole table: a value that is"
            " rare elsewhere may be likely there, and different values may mean the same"
        )


class OtherColumnsKnown(Threat):
    """Columns published unchanged can separate candidates or determine a generalized value."""

    name: ClassVar[str] = "other-columns"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        other = exhibit.policy.with_role("other")
        if not exhibit.form.shows_columns or not other:
            return ""
        return (
            f"{_listed(other)} {'is' if len(other) == 1 else 'are'} published unchanged and "
            "no requirement assumes that an adversary knows them: an adversary who does has "
            "fewer candidates, and they may reveal what a generalized cell hides"
        )


class Insiders(Threat):
    """An adversary who knows records of the table can exclude candidates."""

    name: ClassVar[str] = "insiders"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not exhibit.policy.claims:
            return ""
        return (
            "requirements hold for adversaries who know no more than the policy states: an "
            "adversary who knows records of the table (their own, a colleague's, a "
            "neighbour's) can exclude them and has fewer candidates for all others"
        )


def _on_values(policy: Policy, column: str) -> list[PrivacyRequirement]:
    """The requirements that ask something of the values of a sensitive column."""
    return [claim for claim in policy.claims if column in claim.hide and claim.model.needs_sensitive]


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = [f"'{name}'" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# Attacks
# -------


_MOST = 50_000
"""Records beyond which playing takes longer than a report should."""


class KnownAttacks(Section):
    """The attacks that the certificate names; the private report plays them."""

    name: ClassVar[str] = "attacks"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What this does not protect against"
    order: ClassVar[int] = 85

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(certificate_of(exhibit).attacks)

    def render(self, exhibit: ReleaseView) -> Markup:
        named = certificate_of(exhibit).attacks or ()
        parts = [table(("attack", "why it applies"), [(attack.name, attack.applies) for attack in named])]
        if exhibit.private:
            rows = [row for attack in named for row in _played(attack.name, exhibit)]
            if rows:
                parts += [
                    Markup("<h3>Played against the original</h3>"),
                    table(("attack", "figure", "got", "promised"), rows),
                ]
                parts.append(paragraph(_explained(rows)))
        return Markup("").join(parts)


def _played(name: str, exhibit: ReleaseView) -> Iterator[tuple[object, ...]]:
    """Return the figures of one attack, if it applies to this view."""
    cls = runnable_attack(name, exhibit)
    if cls is None:
        return
    if exhibit.counted:
        yield name, "not played where rows lie elsewhere", "—", "—"
        return
    if not cls.quick or certificate_of(exhibit).records.input > _MOST:
        yield name, f"not played here, it takes its time: sfumato attack {name}", "—", "—"
        return
    yield from map(_row, run_attack(name, exhibit))


def _row(found: AttackFigure) -> tuple[object, ...]:
    """One figure; in red when it is beyond the promise, or counts the people for whom something is."""
    if found.note:
        return found.attack, found.note, "—", "—"
    got = found.got
    shown = f"{got:.4g}" if isinstance(got, float) else f"{got:,}" if isinstance(got, int) else str(got)
    if found.above:
        shown = Markup('<span class="above">{} — above the promise</span>').format(shown)
    label = f"{found.attack} ({found.column})" if found.column else found.attack
    return label, found.figure, shown, "—" if found.promised is None else f"{found.promised:.4g}"


def _explained(rows: list[tuple[object, ...]]) -> str:
    above = sorted({str(row[0]) for row in rows if isinstance(row[2], Markup)})
    words = "These adversaries know more than the claims assume; each has a paragraph in docs/explanation/limits.md."
    if above:
        words += (
            f" Above what was promised: {', '.join(above)}. The claims hold for outsiders who have no opinion"
            " beforehand and do not reason about the method."
        )
    return words

"""A certificate: what was promised, what was found on the published parts, and how sure that is.

Grades: *exact*; *bound* with its direction (the truth is at least / at most this); *estimate* (± d at confidence 1 −
α); *not judged* where the evidence at hand neither proves nor refutes a requirement; *measured* where a figure is
reported that no requirement limits. What was not judged is no violation, and does not hold either; what was measured is
neither. Of both ``holds`` is null in JSON, and a certificate holds only when nothing is violated and nothing that was
promised is left open.

Invariants
    I1  A finding that holds shows what it holds on: a judged one whose figures do not reach what was required cannot be
        made (see `honesty`), so no certificate with such a finding can.
    I2  A bound on the wrong side shows nothing: a level at best, or no mistake among some, never holds. Such a finding
        is refuted or not judged (`one_sided_verdict`).
    I3  A certificate that was written is read as it stands. A finding in it whose figures deny that it holds is read as
        broken, one that lacks a figure (version 0.1.0 left some out) as not judged.
    I4  Figures have one form: that in which JSON gives them back. A tuple and the list that is read again are the same
        figure.

>>> Finding("k-anonymity", True, {"k": 5}, {"k": 2})
Traceback (most recent call last):
sfumato.core.errors.AuditRefused: k-anonymity cannot be said to hold: k is 2 where 5 was asked for


Honesty
-------
Honesty: a finding may say that something holds only when its own figures say so.

Definition
    Every number that was required is among the figures achieved, and reached: a required 0 means none, unless a model
    says that more of it protects more; a parameter of which a model says that less protects more (`Model.levels`), and
    every name that ends in ``_at_most``, is an upper limit; any other parameter of a model is a lower limit. A required
    text (``distance: ordered``) is not contradicted.

Guarantee
    Whatever is wrong with a comparison inside a model, a reading or a check, no certificate can show ✓ beside a figure
    that is below what was asked, or beside no figure at all.

Invariants
    I1  Figures are written with six digits, so what is required is rounded the same way before the two are compared.
    I2  ``{"published": 0}`` is a figure too: no file contains a sensitive value, so there is nothing to link.
    I3  What nobody declares is not guessed: a number of an unknown model that is no zero and no ``_at_most`` is not
        reached.

Cost: one look for every name, which is kept.

>>> shortfall("k-anonymity", {"k": 5}, {"k": 7}), shortfall("k-anonymity", {"k": 5}, {"k": 2})
('', 'k is 2 where 5 was asked for')
>>> shortfall("t-closeness", {"t": 0.2, "distance": "equal"}, {"t": 0.3, "distance": "equal"})
't is 0.3 where 0.2 was asked for'
>>> shortfall("truthfulness", {"rows": 0}, {"rows": 3}), shortfall("p-sensitivity", {"p": 2}, {})
('rows is 3 where 0 was asked for', 'nothing says how much p there is')
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any, Literal

from sfumato.core.errors import AuditRefused
from sfumato.core.html.pages import card_html, table_html
from sfumato.core.registry import entry
from sfumato.core.wording import Group, Worded, Wording, as_sentences, capitalized, fill, join_names, number_text
from sfumato.models.base import Model, round_significant

SCHEMA = 2
"""The version of what ``certificate.json`` says: 1 had no `schema`, and findings without words; 2 adds `code`, `title`,
`group`, `sentence`, `certainty` and `details` to every finding. Keys are added and never change their meaning."""
LIMITS_PAGE = "docs/explanation/limits.md"
EARLIER = frozenset({"0.1.0"})
"""Versions whose certificates say less than today's. Of one that is named nowhere as much is asked as of today's."""
NOT_JUDGED = "not judged"
AT_BEST = "bound (at best this)"
"""The grade of a level that the truth may lie below: it refutes a promise and never shows one."""
AT_MOST = "bound (at most this)"
"""The grade of a level that is safe to believe: the truth is as good or better."""
SOME_FOUND = "bound (at least this many)"
"""The grade of mistakes that were found where not everything could be compared: there may be more."""
AS_ASKED = "bound (at least what was asked)"
"""The grade of a finding whose level only the data holder may know."""
MEASURED = "measured"
"""The grade of a figure beside which no promise stands; more may follow after a comma."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement, judged."""

    model: str
    holds: bool
    required: Mapping[str, Any] = field(default_factory=dict)
    achieved: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    grade: str = "exact"
    reason: str = ""
    """What is wrong, in counts and codes, or how the figure was found."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Figures that a sentence needs and nothing is compared with."""

    def __post_init__(self) -> None:
        for name in ("required", "achieved"):
            object.__setattr__(self, name, json.loads(json.dumps(dict(getattr(self, name)))))  # I4
        if self.holds and self.judged and (short := shortfall(self.model, self.required, self.achieved)):  # I1
            raise AuditRefused(f"{self.model} cannot be said to hold: {short}")
        if self.holds and self.grade in (AT_BEST, SOME_FOUND):  # I2
            raise AuditRefused(f"{self.model} cannot be said to hold: the figure is a bound on the wrong side")

    @property
    def open(self) -> bool:
        """Whether something was promised that the evidence at hand neither shows nor refutes."""
        return self.grade == NOT_JUDGED

    @property
    def measured(self) -> bool:
        """Whether it only tells a figure."""
        return self.grade.startswith(MEASURED)

    @property
    def judged(self) -> bool:
        return not self.open and not self.measured

    @property
    def verdict(self) -> bool | None:
        """True: shown; False: refuted; None: nothing was judged, so nothing is said to hold."""
        return False if not self.holds else True if self.judged else None

    @property
    def wording(self) -> Wording:
        """The words of the model or check that made it."""
        return _wording(self.model, self.required)

    @property
    def title(self) -> str:
        """What it is called."""
        return self.wording.title

    @property
    def code(self) -> str:
        """A stable name for programs."""
        code = self.wording.code or _slug(self.model.removeprefix(TARGET))
        return f"target-{code}" if self.model.startswith(TARGET) else code

    @property
    def group(self) -> Group:
        """What it is about: privacy, truth, integrity, or measured and not promised."""
        return self.wording.group

    @property
    def failed(self) -> bool:
        """Whether the audit stopped with an error here, which counts as a violation."""
        return not self.holds and ERROR in self.details

    @property
    def state(self) -> State:
        """In which of six states it is."""
        if not self.holds:
            return "error" if self.failed else "violated"
        if self.open:
            return "not assessed"
        if not self.measured:
            return "holds"
        warns = self.wording.warns
        return "warning" if warns is not None and self.achieved and warns(self.achieved) else "measured"

    @property
    def certainty(self) -> str:
        """How sure it is, in one word: exact, bound, estimate, not-assessed or measured."""
        word = self.grade.partition(" ")[0].rstrip(",")
        return (
            "not-assessed" if self.open else word if word in ("exact", "bound", "estimate", "measured") else "unknown"
        )

    @property
    def sentence(self) -> str:
        """What it says, for people, with its figures."""
        return _sentence(self)

    @property
    def advice(self) -> str:
        """What the user can do about a violation or a warning; empty otherwise."""
        return self.wording.advice if self.state in ("violated", "warning") else ""

    def headline(self, unit: str = "people", knowledge: str = "only the published files") -> str:
        """What the model guarantees, as one sentence; empty for a check. `knowledge` is what is known where no column
        is named."""
        words = self.wording
        proven = self.judged and self.holds and self.grade != AS_ASKED and dict(self.achieved) != NOTHING_PUBLISHED
        figures = {**self.required, **self.achieved} if proven else dict(self.required)
        values = _values(self, unit) | {"found": figures, "given": join_names(self.given) or knowledge}
        return (fill(words.headline, values) or "") if words.headline else ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as certificates store it: figures for programs, and `code`, `title` and `sentence` for
        readers (`SCHEMA`).
        """
        entry: dict[str, Any] = {
            "model": self.model,
            "code": self.code,
            "title": self.title,
            "group": self.group,
            "sentence": self.sentence,
            "holds": self.verdict,
            "required": dict(self.required),
            "achieved": dict(self.achieved),
            "given": list(self.given),
            "hide": list(self.hide),
            "grade": self.grade,
            "certainty": self.certainty,
        }
        entry |= {"reason": self.reason} if self.reason else {}
        return entry | ({"details": dict(self.details)} if self.details else {})


# Words
# -----


State = Literal["holds", "violated", "error", "not assessed", "measured", "warning"]
MARKS: Mapping[State, str] = {
    "holds": "✓", "violated": "✗", "error": "✗", "not assessed": "?", "measured": "·", "warning": "!",
}  # fmt: skip
TARGET = "target: "
"""Begins the name of a finding about rows that were read back from a loaded database."""
ERROR = "error"
"""The detail of a finding that names the error with which its check stopped."""
_NEEDS = (
    (("original", "private provenance"), "this needs the original data and the publisher's private provenance file"),
    (("private provenance",), "this needs the publisher's private provenance file"),
    (("give the ledger",), "this needs the earlier releases; add `--ledger FILE`"),
    (("give the table of it",), "this needs the population table; add `--population FILE`"),
    (("SFUMATO_PLUGINS",), "the policy uses the publisher's own code, which is not installed here"),
    (
        ("different rows with their counts",),
        "this check does not support releases in partitioned Parquet files (`--engine spark`)",
    ),
    (("give the original",), "this needs the original data; add `--original FILE`"),
    (("needs the original",), "this needs the original data; add `--original FILE`"),
)
"""What to say instead of a reason that has these words in it."""


def _wording(name: str, asked: Mapping[str, Any]) -> Wording:
    """Return the wording of the model or check with this name; a finding with an unknown name shows its reason."""
    plain = name.removeprefix(TARGET)
    plain = SOURCE_RULE if plain.startswith(SOURCE_RULE) else plain
    maker: type[Worded] | None = entry("models", Model, plain) or entry("checks", Worded, plain)
    return maker.wording(asked) if maker is not None else Wording(title=plain, group="truth")


SOURCE_RULE = "rule "
"""Begins the name of a finding about a rule in the original."""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "finding"


def _values(finding: Finding, unit: str = "records") -> dict[str, Any]:
    found = dict(finding.achieved)
    told = as_sentences(finding.reason)
    return {
        "found": found,
        "asked": dict(finding.required),
        "details": dict(finding.details),
        "given": join_names(finding.given) or "the published files",
        "hide": join_names(finding.hide) or "the hidden values",
        "unit": unit,
        "reason": told[:1].lower() + told[1:] if told else "",
    }


def _sentence(finding: Finding) -> str:
    text = _SAID[finding.state](finding)
    if finding.model.startswith(TARGET) and finding.state == "holds":
        text = f"{text.rstrip('.')} in the test database."
    return capitalized(text)


def _said_to_hold(finding: Finding) -> str:
    words, values = finding.wording, _values(finding)
    if dict(finding.achieved) == NOTHING_PUBLISHED:
        return (
            f"{join_names(finding.hide) or 'The hidden column'} is not published, so nobody can be linked to a value."
        )
    if finding.grade == AS_ASKED:
        asked = join_names(
            [f"{key} = {number_text(value)}" for key, value in finding.required.items() if _is_number(value)]
        )
        return f"At least the required level ({asked}). Only the publisher knows the exact figure."
    filled = fill(words.holds, values) if words.holds else None
    return filled or as_sentences(finding.reason) or f"{words.title} holds."


def _said_violated(finding: Finding) -> str:
    words, values = finding.wording, _values(finding)
    told = as_sentences(finding.reason)
    filled = fill(words.violated, values) if words.violated != "{reason}" else None
    if not filled:
        return told or f"{words.title} is violated."
    repeated = any(
        "{reason}" in one for one in ((words.violated,) if isinstance(words.violated, str) else words.violated)
    )
    return (
        filled if repeated or not told or not words.headline else f"{filled} {told}"
    )  # only models add who falls below


def _said_failed(finding: Finding) -> str:
    told = as_sentences(finding.reason).rstrip(".")
    return f"The audit could not complete this check: {told[:1].lower() + told[1:]}. It counts as a violation."


def _said_open(finding: Finding) -> str:
    reason = finding.reason
    told = next((instead for words, instead in _NEEDS if all(word in reason for word in words)), "")
    told = told or (fill(finding.wording.open, _values(finding)) if finding.wording.open else "") or reason
    told = told or "the published files do not show it"
    return f"Not assessed: {told[:1].lower() + told[1:].rstrip('.')}."


def _said_measured(finding: Finding) -> str:
    words = finding.wording
    filled = fill(words.measured, _values(finding)) if words.measured else None
    figures = ", ".join(f"{key.replace('_', ' ')} {number_text(value)}" for key, value in finding.achieved.items())
    return filled or as_sentences(finding.reason) or f"{words.title}: {figures or 'no figure'}."


_SAID: Mapping[State, Callable[[Finding], str]] = {
    "holds": _said_to_hold,
    "violated": _said_violated,
    "error": _said_failed,
    "not assessed": _said_open,
    "measured": _said_measured,
    "warning": _said_measured,
}


def one_sided_verdict(holds: bool, grade: str, achieved: Mapping[str, Any], refuted: str, why: str) -> dict[str, Any]:
    """What a one-sided figure says: that something is broken, or nothing at all (I2).

    >>> one_sided_verdict(True, AT_BEST, {"k": 7}, "", "some people were not looked at")["grade"]
    'not judged'
    """
    if holds and grade in (AT_BEST, SOME_FOUND):
        return {"holds": True, "achieved": {}, "grade": NOT_JUDGED, "reason": why}
    return {"holds": holds, "achieved": dict(achieved), "grade": grade, "reason": refuted}


@dataclass(frozen=True, slots=True)
class Records:
    """How many records came in, went out, and were suppressed."""

    input: int
    published: int
    suppressed: int


@dataclass(frozen=True, slots=True)
class KnownAttack:
    """An attack that the findings do not speak about and that applies to this release, with why."""

    name: str
    applies: str
    """One sentence, made from the form, the policy and the method; never from the original."""


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """The findings of the audit with what a reader needs to judge them."""

    findings: tuple[Finding, ...]
    records: Records
    utility: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    method: str = ""
    version: str = ""
    ledger: Mapping[str, Any] | None = None
    """Number of the release and head of the ledger it was entered in (`ledger.entries`)."""
    attacks: tuple[KnownAttack, ...] | None = ()
    """What it does not protect against; ``None`` in a certificate from before these were named."""
    accepted: tuple[Mapping[str, str], ...] = ()
    """Warnings and open points that the data holder accepts: `point`, `reason`, and `by` where a name is given."""

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "violated" if self.violations else "not all judged"
        promised = [finding for finding in self.findings if finding.verdict is not None or finding.open]
        shown = sum(finding.verdict is True for finding in promised)
        return f"Certificate({verdict}: {shown} of {len(promised)} findings hold, {self.records.published:,} records)"

    def _repr_html_(self) -> str:
        title = "Certificate: nothing is violated" if self.holds else "Certificate: something is violated"
        title = title if self.holds or self.violations else "Certificate: not everything was assessed"
        rows = [(f"{MARKS[each.state]} {each.state}", each.title, each.sentence) for each in self.findings]
        counts = self.records
        figures = [(f"{counts.published:,}", "records published"), (f"{counts.suppressed:,}", "suppressed")]
        figures += [
            (f"{value:.4g}", name.replace("_", " ")) for name, value in self.utility.items() if isinstance(value, float)
        ]
        return card_html(title, f"Method: {self.method or 'unknown'}.", figures[:6], table_html(_HEADER, rows))

    @property
    def holds(self) -> bool:
        """Nothing is violated, and nothing that was promised was left unjudged."""
        return not self.violations and self.complete

    @property
    def earlier(self) -> bool:
        """Whether a version wrote it that did not know all that is written today."""
        return self.version in EARLIER

    @property
    def violations(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.holds)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Promises that were neither shown nor refuted."""
        return tuple(finding for finding in self.findings if finding.open)

    @property
    def complete(self) -> bool:
        return not self.open

    def to_json(self) -> dict[str, Any]:
        return (
            {
                "schema": SCHEMA,
                "holds": verdict_of(self.findings),
                "complete": self.complete,
                "findings": [finding.to_json() for finding in self.findings],
                "attacks": [asdict(attack) for attack in self.attacks or ()],
                "records": asdict(self.records),
                "utility": dict(self.utility),
                "assumptions": list(self.assumptions),
                "limits": list(self.limits),
                "method": self.method,
                "version": self.version,
            }
            | ({} if self.ledger is None else {"ledger": dict(self.ledger)})
            | self._accepted()
        )

    def _accepted(self) -> dict[str, Any]:
        return {"accepted": [dict(one) for one in self.accepted]} if self.accepted else {}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Certificate:
        findings = [_read(entry) for entry in tree["findings"]]
        records = Records(*(int(tree["records"][key]) for key in ("input", "published", "suppressed")))
        return cls(
            tuple(findings),
            records,
            tree.get("utility", {}),
            tuple(tree.get("assumptions", ())),
            tuple(tree.get("limits", ())),
            str(tree.get("method", "")),
            str(tree.get("version", "")),
            None if tree.get("ledger") is None else dict(tree["ledger"]),
            None
            if "attacks" not in tree
            else tuple(KnownAttack(str(e["name"]), str(e["applies"])) for e in tree["attacks"]),
            tuple({str(key): str(told) for key, told in one.items()} for one in tree.get("accepted", ())),
        )


_HEADER = ("", "finding", "result")


def verdict_of(findings: Iterable[Finding]) -> bool | None:
    """All findings as one answer: False when one is violated, None when one is left open, else True.

    >>> verdict_of([Finding("a", True), Finding("b", True, grade=NOT_JUDGED)]) is None
    True
    """
    findings = tuple(findings)
    if any(not finding.holds for finding in findings):
        return False
    return None if any(finding.open for finding in findings) else True


_KNOWN = {"model", "holds", "required", "achieved", "given", "hide", "grade", "reason", "details"}


def _read(entry: Mapping[str, Any]) -> Finding:
    """A finding as it was written, unless it says more than its figures do (I3)."""
    values = {key: value for key, value in entry.items() if key in _KNOWN}
    values |= {"given": tuple(values.get("given", ())), "hide": tuple(values.get("hide", ()))}
    values["holds"] = values["holds"] is not False
    try:
        return Finding(**values)
    except AuditRefused as error:
        shown = {key: asked for key, asked in values["required"].items() if key in values.get("achieved", {})}
        denied = shortfall(values["model"], shown, values.get("achieved", {}))
        return Finding(**values | ({"holds": False} if denied else {"grade": NOT_JUDGED}) | {"reason": error.what})


# Honesty
# -------


NOTHING_PUBLISHED = {"published": 0}
"""Achieved by a release that does not contain the sensitive columns at all (I2)."""
_SLACK = 1e-9


def shortfall(name: str, required: Mapping[str, Any], achieved: Mapping[str, Any]) -> str:
    """Why `achieved` does not reach `required`, in words; empty when it does."""
    if dict(achieved) == NOTHING_PUBLISHED and entry("models", Model, name):  # I2
        return ""
    return next((said for key, asked in required.items() if (said := _short(name, key, asked, achieved))), "")


def _short(name: str, key: str, asked: Any, achieved: Mapping[str, Any]) -> str:
    if key not in achieved:
        return f"nothing says how much {key} there is" if _is_number(asked) else ""
    found = achieved[key]
    if not _is_number(asked):
        return "" if found == asked else f"{key} is not what was asked for"
    if _is_number(found) and _reaches(_limit(name, key, asked), float(asked), float(found)):
        return ""
    return f"{key} is {found} where {asked} was asked for"


def _limit(name: str, key: str, asked: float) -> str:
    """``lower``, ``upper`` or ``unknown``."""
    model = entry("models", Model, name)
    if model is not None and model.levels.get(key) == "more":
        return "lower"
    if asked == 0 or key.endswith("_at_most") or (model is not None and model.levels.get(key) == "less"):
        return "upper"
    return "lower" if model is not None else "unknown"  # I3


def _reaches(limit: str, asked: float, found: float) -> bool:
    if limit == "upper":
        return found <= round_significant(asked * (1 + _SLACK)) + _SLACK  # I1
    return limit == "lower" and found >= round_significant(asked * (1 - _SLACK))  # I1


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)

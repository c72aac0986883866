"""Publish: plan → run → draft → certify → `Publication`. Only a release whose certificate holds may be written out or remembered.

What is certified is what lies on disk: the draft is written first, read back as the audit's own exhibit, and judged there.

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
...                           "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> publication = sf.publish(policy, data={"age": ["30", "30", "40", "40"], "illness": ["a", "b", "a", "c"]}, seed=1)
>>> publication.certificate.holds, len(publication.release.parts["data"])
(True, 4)
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import __version__
from sfumato.attacks.base import known_attacks
from sfumato.audit.base import Check, reading_of
from sfumato.audit.certify import certify
from sfumato.audit.outlook import require_as_careful, require_company, require_untold, told_already
from sfumato.audit.people import PEOPLE
from sfumato.audit.source import source_audit
from sfumato.audit.sources.table import rules_in_original
from sfumato.data.cards import card_html, table_html
from sfumato.data.memory import give_back
from sfumato.errors import AuditRefused, Infeasible, PolicyError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.methods.base import Progress, Task, silent
from sfumato.metrics.base import figures
from sfumato.policy.keep import integrity_rules
from sfumato.policy.policy import Policy
from sfumato.policy.rules.tree import SameMultiset
from sfumato.randomness import Randomness, guessable
from sfumato.registry import catalogue
from sfumato.release.certificate import LIMITS_PAGE, Certificate, Finding, Records
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import Format
from sfumato.release.form import GIVEN_SEED
from sfumato.release.head import Place
from sfumato.release.past import History, PastRelease
from sfumato.release.release import Release
from sfumato.spine.assumptions import assumed
from sfumato.spine.disclose import disclosed
from sfumato.spine.given import PolicyLike, taken
from sfumato.spine.plan import Plan, plan
from sfumato.spine.write import DraftFolder, write_out

if TYPE_CHECKING:
    from sfumato.release.signature import SigningKey

_SHOWN, _MAKING = 5, 0.5
_OF_RULES = {"rules", "rules of the policy", "constraints"}
"""Checks that find a rule broken."""
Data = Any
"""A path, a polars, pandas or pyarrow frame, or what the policy's kind of data reads."""


@dataclass(frozen=True, slots=True, repr=False)
class Publication:
    """A release with a certificate that holds; of one that rests on a seed that can be guessed, a certificate that says so."""

    policy: Policy
    plan: Plan
    release: Release
    exhibit: Exhibit = field(repr=False)
    """The release as the audit saw it, on the data holder's side."""
    certificate: Certificate
    """What stands in the folder: nothing in it that the published files do not say."""
    draft: DraftFolder = field(repr=False)
    ledger: Ledger | None = None
    place: Place | None = field(repr=False, default=None)
    """Where it will stand in the ledger."""
    seed: int | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        counts = self.certificate.records
        verdict = "holds" if self.certificate.holds else "does not hold"
        loss = self.certificate.utility.get("loss")
        cost = f", loss {loss:.4g}" if isinstance(loss, float) else ""
        return f"Publication({counts.published:,} of {counts.input:,} records with {self.certificate.method}, {verdict}{cost})"

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_() + _first_rows(self.release)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was judged with the original at hand, with its figures; for the data holder."""
        return self.exhibit.once(certify)

    @property
    def utility(self) -> dict[str, Any]:
        """Every figure of utility, those that need the original included; for the data holder."""
        return self.exhibit.once(figures)

    @property
    def original(self) -> Any:
        return self.exhibit.original

    @property
    def history(self) -> History | None:
        """Every release so far, this one last."""
        return self.exhibit.history

    def write(
        self, out: str | Path, *, format: Format | None = None, report: bool = True, sign: str | Path | SigningKey | None = None
    ) -> Path:
        """The release folder, whole or not at all, and never without its entry in the ledger; the private report goes beside it.

        Parameters
        ----------
        out
            The release folder; it must not be there yet.
        format
            Of the published parts, when another is wanted than was certified; then they are certified again.
        report
            Whether reports are written.
        sign
            An Ed25519 private key, or the path of one: the folder gets a signed statement about everything in it.
        """
        if format is not None and format != self.draft.format:
            return recertified(self, format).write(out, report=report, sign=sign)
        key = None if sign is None else _key(sign)
        place = None if self.ledger is None or self.place is None else (self.ledger, self.place)
        return write_out(self.draft, self.exhibit, Path(out), place=place, seed=self.seed, report=report, key=key)


def _first_rows(release: Release) -> str:
    """What is published begins like this."""
    part = next(iter(release.parts.values()))
    if part.counts is not None:
        return ""  # they lie elsewhere
    rows = part.table.slice(0, _SHOWN).to_pylist()
    body = table_html(list(part.table.column_names), [list(row.values()) for row in rows])
    return card_html("", f"The first of {len(part):,} published rows", (), body)


def _key(sign: str | Path | SigningKey) -> SigningKey:
    """Cryptography is loaded when there is a key."""
    from sfumato.release.signature import SigningKey

    return sign if isinstance(sign, SigningKey) else SigningKey.read(sign)


def publish(
    policy: PolicyLike,
    data: Data = None,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
    format: Format = "csv",
    engine: Any = None,
    unfinished: Path | None = None,
) -> Publication:
    """Make and certify a release; raises `Infeasible` or `AuditRefused` rather than giving less than was asked.

    Parameters
    ----------
    policy
        What must stay private and what must stay true: a `Policy`, a draft, a mapping or text with its keys, or the path of a file.
    data
        Takes the place of the policy's own source: a path, or a polars, pandas or pyarrow frame.
    seed
        Repeats a run in tests; whoever knows the seed can undo the release. Below 2¹²⁷ (128 bits) it can be tried out: then the
        release is marked as not for publication, and where its promises rest on chance its certificate does not hold.
    jobs
        How many may work at once; without it all cores where they share memory (recoding), else one. The answer is the same.
    progress
        Told how far the work is, as a share and a word.
    ledger
        The ledger to judge this release with and to remember it in, instead of the one the policy names.
    new_ledger
        Begin this ledger; without it a ledger that is not there is an error.
    format
        Of the published parts.
    engine
        A Spark session, or a `SparkEngine`: rows stay on its cluster, and the parts are folders of Parquet files.
    unfinished
        A private file in which a constraint solver keeps what it has found; after it was stopped the same call goes on from there.
        It opens the release: remove it when the release is written.

    Returns
    -------
    Publication
        The release, its certificate, and `write` for the release folder.
    """
    policy, data = taken(policy, data)
    book = ledger_of(policy, ledger, new=new_ledger)
    if engine is not None:
        from sfumato.spine.cluster import publish_on

        told = {"ledger": ledger, "new_ledger": new_ledger}
        return publish_on(engine, policy, data, seed=seed, jobs=jobs, progress=progress, **told)
    with policy.data.within():
        return _published(policy, data, seed, jobs, progress, book, format, unfinished)


def _published(
    policy: Policy,
    data: Data,
    seed: int | None,
    jobs: int | None,
    progress: Progress,
    book: Ledger | None,
    format: Format,
    unfinished: Path | None,
) -> Publication:
    """All of it here, within the memory that the policy allows."""
    first = plan(policy, remembering=book is not None)  # refuse the impossible before data moves
    earlier, place = (None, None) if book is None else book.place()
    require_company(earlier, first.form)
    require_untold(earlier, policy)
    require_as_careful(earlier, policy)
    source = source_audit(policy)
    progress(0.0, "reading")
    dataset = source.read(policy, data)
    chosen = plan(policy, records=getattr(dataset, "rows", None), remembering=book is not None)
    source.require_sound(policy, dataset, rules_stay=not chosen.method.keeps_rules)
    workers = jobs or chosen.method.usual_jobs()
    making = partial(_scaled, progress, 0.0, _MAKING)
    release = chosen.method.run(Task(policy, dataset, Randomness(seed), workers, making, earlier, unfinished))
    _remember_types(release, policy, data)
    if guessable(seed):
        release = replace(release, form=release.form.with_public(mark=GIVEN_SEED))
    progress(_MAKING, "certifying")
    return _certified(
        policy, chosen, release, dataset, earlier, book, place, seed, format, partial(_scaled, progress, _MAKING, 1.0)
    )


def _scaled(progress: Progress, low: float, high: float, done: float, what: str) -> None:
    """A part of the work within the whole."""
    progress(low + (high - low) * done, what)


def _remember_types(release: Release, policy: Policy, data: Data) -> None:
    """What a pandas frame had in columns that are published as they are: categories, nullable numbers, flags, days."""
    if type(data).__module__.partition(".")[0] != "pandas":
        return
    kept = [name for name in (*policy.sensitive, *policy.with_role("other")) if name in data]
    for part in release.parts.values():
        part.dtypes = {name: data[name].dtype for name in kept if name in part.table.column_names}


def recertified(publication: Publication, format: Format) -> Publication:
    """The same release in another format of files; what is certified is again what lies on disk."""
    history = publication.history
    earlier = None if history is None else replace(history, releases=history.releases[:-1])
    given = (publication.policy, publication.plan, publication.release, publication.original)
    return _certified(*given, earlier, publication.ledger, publication.place, publication.seed, format)


def _certified(
    policy: Policy,
    chosen: Plan,
    release: Release,
    dataset: Any,
    earlier: History | None,
    book: Ledger | None,
    place: Place | None,
    seed: int | None,
    format: Format,
    told: Progress = silent,
) -> Publication:
    """Write the draft, look at it with the audit's own eyes, and refuse whatever does not hold."""
    give_back(max(map(len, release.parts.values()), default=0))
    draft = DraftFolder.of(release, policy, chosen.declaration, format)
    exhibit = replace(draft.read(), original=dataset, trace=release.trace, told=told)
    exhibit = replace(exhibit, population=policy.everybody(), population_file=policy.everybody_file())
    return judged_draft(policy, chosen, release, draft, exhibit, earlier, book, place, seed)


def judged_draft(
    policy: Policy,
    chosen: Plan,
    release: Release,
    draft: DraftFolder,
    exhibit: Exhibit,
    earlier: History | None = None,
    book: Ledger | None = None,
    place: Place | None = None,
    seed: int | None = None,
) -> Publication:
    """A publication from a draft that lies on disk, or the refusal of what does not hold; `exhibit` is the data holder's side.

    An exhibit that has its history, with this release as the last, keeps it.
    """
    exhibit = replace(exhibit, certificate=Certificate((), _records(exhibit, release.suppressed)))
    if exhibit.history is None:
        exhibit = replace(exhibit, history=_continued(earlier, policy, release, exhibit))
    failed = [finding for finding in exhibit.once(certify) if (finding.open or not finding.holds) and _forbidden(finding)]
    if failed:  # what was promised and could not be judged is refused like what is broken
        raise _told_before(failed, policy, exhibit) or _refused(
            failed, policy, chosen, exhibit.original, bound=len(exhibit.history or ()) > 1
        )
    certificate = _certificate(exhibit, chosen, release)
    certificate = certificate if place is None else replace(certificate, ledger=place.certified(draft.folder))
    exhibit = exhibit.certified(certificate)
    return Publication(policy, chosen, release, exhibit, certificate, draft, book, place, seed)


def _told_before(failed: list[Finding], policy: Policy, exhibit: Exhibit) -> Infeasible | None:
    """Why nothing is published where earlier releases have said too much for what is asked now; nothing when they have not."""
    history = exhibit.history
    if history is None or len(history) < 2 or reading_of(exhibit.form).joins_itself:
        return None
    if not {finding.model for finding in failed} <= {*(claim.model.name for claim in policy.claims), "earlier promises", PEOPLE}:
        return None
    why = "; ".join(dict.fromkeys(told_already(History(history.releases[:-1]), policy)))
    hint = "ask for no more than they leave, and give columns the roles that they had; 'check --ledger' says how claims stand"
    return Infeasible(f"{why}; nothing was published", where=policy.document.where("protect"), hint=hint) if why else None


def _refused(failed: list[Finding], policy: Policy, chosen: Plan, dataset: Any, *, bound: bool = False) -> SfumatoError:
    """Why nothing is published: what cannot be had, with the reason, or a defect of the method (`bound`: by earlier releases)."""
    wrong = "; ".join(f"{finding.model}: {finding.reason or 'violated'}" for finding in failed)
    names, claims = {finding.model for finding in failed}, {claim.model.name for claim in policy.claims}
    claims |= {name for name, check in catalogue("audit.checks", Check).items() if check.asked}
    if chosen.method.finds_out() and names <= {*claims, "earlier promises"}:
        hint = (
            "lower the level, widen the domains, leave out rules that tell too much, or use another method; nothing was published"
        )
        return Infeasible(f"what was made does not keep what is asked: {wrong}", where=policy.document.where("protect"), hint=hint)
    stuck = _stuck(policy, dataset) if chosen.method.keeps_rules and names <= {"rules", *claims} else ""
    if stuck:
        hint = "drop one of these rules, or correct the data; nothing was published"
        return Infeasible(f"rules contradict each other on this data: {stuck}", where=policy.document.where("keep"), hint=hint)
    doubts = chosen.method.doubts(policy, dataset) if names <= _OF_RULES else []
    if doubts:
        hint = "put a key into the equation, widen the domains it is made of, or publish again; nothing was published"
        return Infeasible(f"{wrong}; {'; '.join(doubts)}", where=policy.document.where("keep"), hint=hint)
    hint = "nothing was published; this is a defect of the method, please report it"
    if bound and names <= {*claims, "earlier promises", PEOPLE}:
        hint = (
            "nothing was published; this method found no way beside what earlier releases said: try another one, say the promise "
            "anew at a lower level, or keep who left in the table; if nothing helps, please report it"
        )
    return AuditRefused(f"the audit refused the release: {wrong}", hint=hint)


def _stuck(policy: Policy, dataset: Any) -> str:
    """Rules that the original breaks while another keeps its values as they are: only their order could change."""
    same = [str(rule) for rule in integrity_rules(policy) if isinstance(rule.body, SameMultiset)]
    broken = [finding.reason for finding in rules_in_original(policy, dataset) if not finding.holds] if same else []
    return "; ".join([*broken, *(f'"{rule}" leaves its values as they are' for rule in same)]) if broken else ""


def _forbidden(finding: Finding) -> bool:
    """Whether a release with this finding must not be made at all."""
    check = catalogue("audit.checks", Check).get(finding.model)
    return check is None or check.forbids


def _records(exhibit: Exhibit, suppressed: int) -> Records:
    published = exhibit.form.records(exhibit)
    return Records(published + suppressed, published, suppressed)


def _certificate(exhibit: Exhibit, chosen: Plan, release: Release) -> Certificate:
    """What may stand in the folder."""
    assert exhibit.records is not None
    return Certificate(
        disclosed(exhibit, exhibit.once(certify)),
        exhibit.records,
        utility=figures(exhibit.as_published()),
        assumptions=(*assumed(exhibit), *release.notes),
        limits=(LIMITS_PAGE,),
        method=chosen.method.name,
        version=__version__,
        attacks=known_attacks(exhibit),
    )


def _continued(earlier: History | None, policy: Policy, release: Release, exhibit: Exhibit) -> History | None:
    """The history with this release as its last; also without a ledger, when a claim is about all releases."""
    if earlier is None and not (release.form.remembered and any(claim.model.joint for claim in policy.claims)):
        return None
    so_far = earlier if earlier is not None else History()
    memory = release.form.memory(policy, release.parts, release.trace, exhibit.original)
    return so_far.then(PastRelease(exhibit.as_published(), memory, len(so_far) + 1))


def ledger_of(policy: Policy, given: str | Path | None, *, new: bool | None = False) -> Ledger | None:
    """The ledger that was given or that the policy names; it needs a key to know records again.

    A ledger is begun only where that is said: by `new`, or in the policy for the ledger it names. With ``new=None`` one that is not
    there is taken for empty, for those who only look ahead.
    """
    path = Path(given) if given is not None else None if policy.ledger is None else policy.base / policy.ledger.file
    if path is None:
        return None
    where = policy.document.where("ledger") if given is None else str(path)
    if policy.data.needs_key and not policy.key:
        hint = "name the column(s) that identify a record across releases; they are never published"
        raise PolicyError("a ledger needs 'key:'", where=policy.document.where("ledger"), hint=hint)
    there = os.path.lexists(path)
    if new and there:
        raise PolicyError(f"ledger {path.name} exists already", where=where, hint="leave --new-ledger out to go on with it")
    permitted = new is not False or (given is None and policy.ledger is not None and policy.ledger.new)
    if not there and not permitted:
        raise PolicyError(f"no such ledger: {path.name}", where=where, hint=_near(path) + "begin a new one with --new-ledger")
    return Ledger(path, new=permitted)


def _near(path: Path) -> str:
    """Files beside a ledger that is not there whose names are like its own."""
    beside = sorted(file.name for file in path.parent.glob("*") if file.is_file() and file.suffix != ".kept")
    beside = beside if path.parent.is_dir() else []
    like = get_close_matches(path.name, beside, n=3)
    like += [name for name in beside if path.suffix and name.endswith(path.suffix) and name not in like][: 3 - len(like)]
    return f"did you mean {' or '.join(map(repr, like))}? or " if like else ""

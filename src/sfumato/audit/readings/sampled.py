"""One sampled table: rows that look alike are each other's candidates, and differential privacy follows from how they were drawn.

What can be read off the files: every row has at least as many look-alikes, in all columns, as the manifest's threshold says;
every label stands at the level that the manifest says of its column; and the declared draw gives the asked (ε, δ), which is
computed again. That records were drawn so, and that the levels do not depend on the data beyond the declared search, is the
method's word; the grade says so.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage
from sfumato.forms.sampled import DrawnTable
from sfumato.io.hierarchies import build_generalization, is_standing
from sfumato.models.differential_privacy import Sampling
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class SampledReading(Reading):
    """Look-alikes are candidates; the declared draw gives (ε, δ)."""

    name: ClassVar[str] = "sampled table"
    form: ClassVar[type[Form]] = DrawnTable

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        table = exhibit.data
        classes = group([table.text(name).codes for name in claim.given], rows=table.rows)
        hidden = {name: table.text(name) for name in claim.hide}
        return Linkage.of_groups(classes.of, {name: (text.codes, text.labels) for name, text in hidden.items()})

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        model = claim.model
        if model.judges is not Sampling:
            return super().judge(exhibit, claim)
        form, table = exhibit.of(DrawnTable), exhibit.data
        drawn = Sampling(form.fraction, form.threshold, form.search)
        rare = int((group([table.text(name).codes for name in table.names], rows=table.rows).counts < form.threshold).sum())
        strange = [name for name in exhibit.policy.quasi_identifiers if not _at_level(exhibit, name, form.levels.get(name, 0))]
        holds = bool(model.satisfied(drawn).all()) and not rare and not strange
        said = [f"{rare} kind(s) of rows stand there less often than the threshold"] if rare else []
        reason = "; ".join([*said, *(f"'{name}' is not written at the declared level" for name in strange)])
        grade = "bound (at most this, if records were drawn as the manifest says)"
        return Finding(model.name, holds, model.required(), model.achieved(drawn), claim.given, claim.hide, grade, reason)


def _at_level(exhibit: Exhibit, name: str, level: int) -> bool:
    """Whether every label of a column is what its hierarchy has so many steps above a leaf."""
    spec, shown = exhibit.policy.columns[name].hierarchy, set(exhibit.data.text(name).labels)
    if not is_standing(spec):
        return level == 0 or shown <= {"*"}
    tree = build_generalization(spec, [], column=name, base=exhibit.policy.base)
    if not isinstance(tree, Hierarchy):
        return False
    paths = [tree.path(leaf) for leaf in range(tree.size)]
    return shown <= {tree.names[path[min(level, len(path) - 1)]] for path in paths}

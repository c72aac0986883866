"""Files: everything the manifest lists is there, unchanged, and nothing else is.


Fitting
-------
Fitting: form, policy and parts belong to each other, so that nothing in the folder is left to nobody.

A reading looks only at the parts and columns it knows. Whatever else lies in a folder is judged by no one, so it must
not be there: the form says which parts and columns it has, and the policy is about the kind of data that the form is
made from.


Formulas
--------
Formulas: cells that a spreadsheet would run when a person opens the published file.

They may come from the original or from a domain. With ``escape: formulas`` under ``data:`` no such cell may be
published; without it they are counted on the published files, so that a reader knows.


Roles
-----
Roles: the published columns are those the policy publishes; no identifier and nothing unnamed among them.


Seed
----
Seed: an adversary who guesses the seed can repeat every draw, so guarantees that need secret draws fail.

A manifest carries a mark when the release was made from a seed of fewer than 128 bits. Flipped ties, candidates that
were drawn, new values and the orders that keep sub-tables apart are undone by repeating the run. Groups of people who
look alike stay groups, so a table whose promises are about groups is only marked.


Suppression
-----------
Suppression: as many records as the certificate says, and not more than the policy allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from sfumato.core.wording import Wording
from sfumato.data.text_values import find_formulas
from sfumato.io.plain_files import is_part_file
from sfumato.models.base import round_significant
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.descriptors import wrong_descriptors
from sfumato.release.evidence import Check
from sfumato.release.folder import AGAIN, CERTIFICATE, MANIFEST, POLICY
from sfumato.release.view import ReleaseView, of_parts


class Files(Check):
    """The folder holds exactly what was certified."""

    name: ClassVar[str] = "files"
    words: ClassVar[Wording] = Wording(
        title="Checksums",
        code="checksums",
        group="integrity",
        holds="All files are unchanged since certification.",
    )
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.damage is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        damage = exhibit.damage or ()
        return Finding(self.name, not damage, {"damaged": 0}, {"damaged": len(damage)}, reason="; ".join(damage))


# Fitting
# -------


class FormFits(Check):
    """Files and columns match the format of the release, and the policy suits it."""

    name: ClassVar[str] = "form"
    words: ClassVar[Wording] = Wording(
        title="File structure",
        code="file-structure",
        group="integrity",
        holds="All published files match the declared format.",
        violated="The files do not match the declared format: {reason}",
    )
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.damage is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        wrong = [*exhibit.form.misfits(exhibit), *_policy(exhibit), *_strays(exhibit)]
        return Finding(self.name, not wrong, {"misfits": 0}, {"misfits": len(wrong)}, reason="; ".join(wrong))


def _strays(exhibit: ReleaseView) -> Iterator[str]:
    """Files that are listed but are no part, nothing of the folder itself, and no hierarchy of the policy: nobody reads
    them."""
    if exhibit.folder is None:
        return
    manifest = json.loads((exhibit.folder / MANIFEST).read_text(encoding="utf-8"))
    listed = manifest["files"]
    own = {CERTIFICATE, POLICY, *AGAIN}
    own |= {column.hierarchy for column in exhibit.policy.columns.values() if isinstance(column.hierarchy, str)}
    parts = [PurePosixPath(name) for name, entry in listed.items() if "rows" in entry and name not in own]
    strange = sum(
        part.suffix not in (".csv", ".parquet") if len(part.parts) == 1 else not is_part_file(str(part))
        for part in parts
    )
    strange += sum(name not in own and "rows" not in entry for name, entry in listed.items())
    if strange:
        yield f"{strange} listed file(s) are neither parts nor anything that the policy names"
    for name in wrong_descriptors(exhibit, manifest):
        yield f"{name} does not describe the published files"
    named = [part.stem for part in parts if len(part.parts) == 1] + sorted(
        {part.parts[0] for part in parts if len(part.parts) > 1}
    )
    if len(set(named)) < len(named):
        yield "a part stands there twice, in two formats"


def _policy(exhibit: ReleaseView) -> Iterator[str]:
    policy = exhibit.policy
    if policy.data.name != exhibit.form.kind:
        yield f"the policy is about {policy.data.name} data, and a {exhibit.form} is made from {exhibit.form.kind}"
    if policy.data.name == "table" and bool(policy.with_role("replaced")) != exhibit.form.replaces:
        yield f"a {exhibit.form} " + (
            "needs columns that are replaced" if exhibit.form.replaces else "replaces no column"
        )
    for claim in policy.claims:
        if policy.data.name not in claim.model.kinds:
            yield f"{claim.model.name} does not apply to {policy.data.name} data"
    bare = not policy.claims and not policy.keep
    if bare and exhibit.form.promises and exhibit.form.shows_columns and not exhibit.form.replaces:
        yield "the policy promises nothing"


# Formulas
# --------


class Formulas(Check):
    """Published cells that begin like a formula (=, +, -, @); a spreadsheet would run them."""

    name: ClassVar[str] = "formulas"
    words: ClassVar[Wording] = Wording(
        title="Formula cells",
        code="formula-cells",
        group="integrity",
        holds="No published cell begins like a spreadsheet formula.",
        violated="{found.cells cell/cells} begin like a spreadsheet formula.",
        measured="{found.cells cell/cells} begin like a spreadsheet formula.",
        warns=lambda found: bool(found["cells"]),
        advice="Import the file as text, or set `escape: formulas` under `data:`.",
    )
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.form.shows_columns and (_escapes(exhibit) or bool(exhibit.once(formula_cells)))

    def examine(self, exhibit: ReleaseView) -> Finding:
        cells, escapes = exhibit.once(formula_cells), _escapes(exhibit)
        reason = f"{cells} published cell(s) begin like a formula; import the file as text" if cells else ""
        if not escapes:
            return Finding(self.name, True, {}, {"cells": cells}, grade=MEASURED, reason=reason)
        return Finding(self.name, not cells, {"cells": 0}, {"cells": cells}, reason=reason)


def _escapes(exhibit: ReleaseView) -> bool:
    return getattr(exhibit.policy.data, "escape", "none") == "formulas"


@of_parts
def formula_cells(exhibit: ReleaseView) -> int:
    """How many published cells there are; ask for it with ``exhibit.once(formula_cells)``."""
    found = 0
    for table in exhibit.tables.values():
        for text in (table.text(name) for name in table.names):
            places = find_formulas(text.labels)
            found += int(text.counts()[places].sum()) if places else 0
    return found


# Roles
# -----


class RolesKept(Check):
    """No identifier column, no column the policy does not publish."""

    name: ClassVar[str] = "roles"
    words: ClassVar[Wording] = Wording(
        title="Published columns",
        code="published-columns",
        group="privacy",
        holds="Only columns named in the policy are published, and no identifiers.",
    )
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.form.shows_columns

    def examine(self, exhibit: ReleaseView) -> Finding:
        policy = exhibit.policy
        shown = {
            name for part, own in exhibit.parts.items() if part not in exhibit.form.beside_people for name in own.shown
        }
        shown -= exhibit.form.made
        identifiers = sorted(
            name for name in shown if name in policy.columns and policy.columns[name].role == "identifier"
        )
        strangers = sorted(shown - set(policy.published) - set(identifiers))
        wrong = [f"identifier column '{name}' is published" for name in identifiers]
        wrong += [f"column '{name}' is published but not by the policy" for name in strangers]
        achieved = {"identifiers": len(identifiers), "unnamed": len(strangers)}
        return Finding(self.name, not wrong, {"identifiers": 0, "unnamed": 0}, achieved, reason="; ".join(wrong))


# Seed
# ----


class SecretSeed(Check):
    """The random draws that the guarantees need cannot be repeated."""

    name: ClassVar[str] = "seed"
    words: ClassVar[Wording] = Wording(
        title="Secret randomness",
        code="secret-seed",
        group="privacy",
        holds="The randomness cannot be repeated.",
        violated=(
            "The release was made with a short seed. Anyone who guesses it can undo the noise, so no guarantee holds."
        ),
        advice="Publish again without `--seed`.",
    )
    on_classes: ClassVar[bool] = True
    forbids: ClassVar[bool] = False

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(exhibit.form.mark) and exhibit.form.rests_on_chance

    def examine(self, exhibit: ReleaseView) -> Finding:
        reason = (
            f"{exhibit.form.mark}; an adversary who guesses the seed can repeat the draws, "
            "and no guarantee that needs them holds"
        )
        return Finding(self.name, False, {"bits": 128}, {}, reason=reason)


# Suppression
# -----------


class Suppression(Check):
    """Published and suppressed records add up and stay within the policy's limit."""

    name: ClassVar[str] = "suppression"
    words: ClassVar[Wording] = Wording(
        title="Suppression",
        code="suppression",
        holds=(
            "{found.suppressed} of {found.input record/records} suppressed (limit: {asked.suppress_at_most %}).",
            "{found.suppressed} of {found.input record/records} suppressed (no limit set).",
        ),
        violated="{reason}",
    )
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        limited = exhibit.policy.utility.suppress_at_most is not None
        shown = exhibit.form.shows_columns or limited
        return exhibit.records is not None and shown and not exhibit.form.hides_size

    def examine(self, exhibit: ReleaseView) -> Finding:
        assert exhibit.records is not None
        said, limit = exhibit.records, exhibit.policy.utility.suppress_at_most
        published = exhibit.form.records(exhibit)
        inputs = exhibit.inputs if exhibit.private else said.input
        suppressed = inputs - published
        wrong = []
        if published != said.published:
            wrong.append(f"{published} records are published, the certificate says {said.published}")
        if suppressed != said.suppressed:
            wrong.append(f"{suppressed} records are suppressed, the certificate says {said.suppressed}")
        if limit is not None and suppressed > limit * inputs + 1e-9:
            wrong.append(f"{suppressed} of {inputs} records are suppressed, the policy allows {limit:.3%}")
        off = max(abs(suppressed - said.suppressed), abs(published - said.published))
        achieved: dict[str, float] = {"miscounted": off, "suppressed": suppressed, "input": inputs}
        required = {"miscounted": 0} | ({} if limit is None else {"suppress_at_most": limit})
        if limit is not None:
            achieved["suppress_at_most"] = round_significant(suppressed / max(inputs, 1))
        return Finding(self.name, not wrong, required, achieved, reason="; ".join(wrong))

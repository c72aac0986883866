"""What publishing did to a table that became several: columns stay exact, and which values go together is no longer
shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.core.wording import count_text, join_names, number_text
from sfumato.kinds.subtables.form import AnatomyForm, SubTables
from sfumato.kinds.tables.effects import query_sentence
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.summary import Effects, records_sentence
from sfumato.release.view import ReleaseView


class SubTableEffects(Effects):
    """Sub-tables: values are exact, links between tables are lost."""

    name: ClassVar[str] = "sub-tables"
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        tables = sum(
            name not in exhibit.form.beside_people and not name.endswith("-sensitive") for name in exhibit.parts
        )
        yield (
            f"The table became {count_text(tables, 'table')} with exact values. Which rows belong together is not"
            " published."
        )
        yield from query_sentence(exhibit)
        if exhibit.private and isinstance(divergence := exhibit.once(figures).get("kl_divergence"), float):
            yield f"Divergence of the joint distribution from the original: {number_text(divergence)} nats."


class BucketEffects(Effects):
    """Anatomy: everything is exact except the link between sensitive values and rows."""

    name: ClassVar[str] = "buckets"
    forms: ClassVar[tuple[type[Form], ...]] = (AnatomyForm,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        hidden = join_names(exhibit.policy.sensitive)
        yield f"All values are exact. The {hidden} of a person is shown only as one of the values of a bucket."
        yield from query_sentence(exhibit)

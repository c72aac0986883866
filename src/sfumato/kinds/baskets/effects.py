"""What publishing did to sets of items: how many items of a record are uncertain or wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.core.wording import percent_text
from sfumato.kinds.baskets.form import Basket, published_baskets
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.summary import Effects, records_sentence
from sfumato.release.view import ReleaseView


class BasketEffects(Effects):
    """Sets of items: certain and uncertain items."""

    name: ClassVar[str] = "baskets"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        published = exhibit.once(published_baskets)
        uncertain = int((published.threshold > 0).sum())
        share = percent_text(uncertain / max(len(published), 1))
        yield f"{share} of the published records have uncertain items: a record is one of several possible sets."
        told = exhibit.once(figures) if exhibit.private else {}
        if isinstance(wrong := told.get("bit_error_rate"), float):
            yield f"Items that are wrong or missing, relative to the size of a record: {percent_text(wrong)}."
        if isinstance(error := told.get("query_error"), dict):
            yield (
                "Mean error of item counts: "
                + ", ".join(f"{key} {percent_text(float(part))}" for key, part in error.items())
                + "."
            )

"""An onlooker: whatever looks at exhibits of some forms and has something to say.

Checks, metrics and report sections are onlookers.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Onlooker(ABC):
    """Looks at exhibits of its forms, when what it needs is at hand."""

    name: ClassVar[str]
    forms: ClassVar[tuple[type[Form], ...]] = (Form,)
    """The forms it understands; all of them unless it says otherwise."""

    on_classes: ClassVar[bool] = False
    """Whether it understands parts that are different rows with counts; what does not is silent there, or says so."""

    def applies(self, exhibit: Exhibit) -> bool:
        """Whether it has something to say about this exhibit."""
        return isinstance(exhibit.form, self.forms) and (self.on_classes or not exhibit.counted) and self.ready(exhibit)

    def concerned(self, exhibit: Exhibit) -> bool:
        """Whether the exhibit is one of its forms with everything that it needs, however its rows are kept."""
        return isinstance(exhibit.form, self.forms) and self.ready(exhibit)

    def ready(self, exhibit: Exhibit) -> bool:
        """Whether everything it needs is at hand (the original, the private trace, a public parameter)."""
        return True

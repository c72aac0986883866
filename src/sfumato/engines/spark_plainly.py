"""Errors of the cluster in our own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import SfumatoError


@contextmanager
def plainly(what: str) -> Iterator[None]:
    """Errors of the cluster in our own words: theirs may carry values of people."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        hint = "the log of the driver says more; it may hold values of people"
        raise SfumatoError(f"the cluster could not {what} ({type(error).__name__})", hint=hint) from None

"""What can go wrong, named after what is true of the problem.

Every error says *what* happened, *where*, and *what to try*, never a value that belongs to a person. The command line
prints ``error: what — where — what to try`` and exits with ``exit_code``.

>>> print(PolicyError("unknown key 'metod'", where="policy.yaml:7", hint="did you mean 'method'?"))
unknown key 'metod' — policy.yaml:7 — did you mean 'method'?
"""

from __future__ import annotations

from typing import ClassVar


class SfumatoError(Exception):
    """Base class of all errors that Sfumato raises on purpose.

    Examples
    --------
    >>> import sfumato as sf
    >>> try:
    ...     sf.Policy.parse({"version": 2})
    ... except sf.SfumatoError as error:
    ...     error.exit_code
    2
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = one_line(what), one_line(where), one_line(hint)
        super().__init__(self.what)

    def __str__(self) -> str:
        return " — ".join(part for part in (self.what, self.where, self.hint) if part)


def one_line(text: str) -> str:
    r"""A sentence on one line: signs that a terminal would obey, as names in a file of a stranger may hold, are
    escapes.

    >>> print(one_line("no column 'a" + chr(10) + "b'"))
    no column 'a\nb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


class PolicyError(SfumatoError):
    """The policy cannot be understood, or asks for something that no method can do.

    Examples
    --------
    >>> import sfumato as sf
    >>> try:
    ...     sf.Policy.parse({"version": 1, "metod": "mondrian"})
    ... except sf.PolicyError as error:
    ...     error.what
    "unknown key 'metod'"
    """

    exit_code = 2
    others: tuple[PolicyError, ...] = ()
    """Further errors of the same policy, in the order of the file."""


class PolicyErrors:
    """Collects the errors of parts that can be read independently, so that all of them are shown at once.

    >>> errors = PolicyErrors()
    >>> with errors:
    ...     raise PolicyError("one")
    >>> with errors:
    ...     raise PolicyError("two")
    >>> try:
    ...     errors.settle()
    ... except PolicyError as error:
    ...     print(error, [str(other) for other in error.others])
    one ['two']
    """

    def __init__(self) -> None:
        self.found: list[PolicyError] = []

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if not isinstance(error, PolicyError):
            return False
        self.found += [error, *error.others]
        return True

    def settle(self) -> None:
        """Raise the first error, with the others in its company."""
        if self.found:
            first, rest = self.found[0], self.found[1:]
            first.others = tuple(rest)
            raise first


class DataError(SfumatoError):
    """The data cannot be read, or does not fit the policy.

    Examples
    --------
    >>> import sfumato as sf
    >>> try:
    ...     sf.check({"age": ["30"]}, qi=["town"])
    ... except sf.DataError as error:
    ...     error.what
    "the data has no column 'town'"
    """

    exit_code = 3


class Infeasible(SfumatoError):
    """No release was found that satisfies the policy; the message has the reason and a suggestion.

    Examples
    --------
    >>> import sfumato as sf
    >>> try:
    ...     sf.k_anonymize({"age": ["30", "31"]}, k=3, qi=["age"])
    ... except sf.Infeasible as error:
    ...     error.exit_code
    4
    """

    exit_code = 4


class NotFound(Infeasible):
    """The method found no release, and nothing proves that there is none; another method or another run may find one.

    >>> print(NotFound("3 rows fit into no bucket", hint="use utility-aware"))
    not found: 3 rows fit into no bucket — use utility-aware
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what if what.startswith("not found: ") else f"not found: {what}", where=where, hint=hint)


class AuditRefused(SfumatoError):
    """The audit found that a release does not satisfy the policy; nothing was published.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.AuditRefused("k is 2 where 5 is required").exit_code
    5
    """

    exit_code = 5


class LedgerError(SfumatoError):
    """The ledger is broken, busy, or does not belong to this data."""

    exit_code = 6


class ReleaseError(SfumatoError):
    """A release folder cannot be read: it is missing, incomplete or not a release."""

    exit_code = 1


class NotAssessed(ReleaseError):
    """Nobody can judge this with the evidence at hand: it is neither shown nor refuted."""


class PlaceError(SfumatoError):
    """Something cannot be written or is not there: no such folder, no right to write, a disk that is full."""

    exit_code = 8


class MissingFolder(ReleaseError):
    """There is no folder where a release should be."""

    exit_code = 8


class MissingExtra(SfumatoError, ImportError):
    """A package that only some need is not installed; the hint is the command that installs it."""

    exit_code = 7

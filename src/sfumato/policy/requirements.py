"""Privacy requirements: an adversary who knows the *given* columns must not learn the *hidden* ones, in the sense of a
model.

Three ways to write one::

    - k-anonymity: {k: 5}                                     # given all quasi-identifiers, hide all sensitive columns
    - {given: [hospital, race], hide: zip, by: {l-diversity: {l: 2}}}
    - "age, icd9 -> race : 3-diversity"                       # the frequency kind: no value above 1/3

The word after the number is the model's own (`Model.short`): a model that declares one can be written so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.core.errors import PolicyError, PolicyErrors
from sfumato.core.registry import catalogue, find, nearest
from sfumato.models.base import Model, Short
from sfumato.policy.privacy_rules import parse_rule
from sfumato.policy.yaml_document import Document, instantiate

_KEYS = ("given", "hide", "by")


@dataclass(frozen=True, slots=True)
class PrivacyRequirement:
    """Given these columns, hide those, in the sense of this model."""

    model: Model
    given: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    where: str = ""
    composite: bool = False
    """Whether only the combination of the sensitive columns is protected (written as one right side), not each of
    them."""

    @property
    def needs_joint(self) -> bool:
        """Whether the combination of the sensitive columns must be judged by its joint distribution
        (`Model.hides_combinations`)."""
        return self.composite and self.model.needs_sensitive and not self.model.hides_combinations

    def hidden_columns(self, shown: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return what must be hidden, each with its columns: one by one, or all together where the requirement
        `needs_joint`.

        A column of a combination that is not among the `shown` ones tells nothing, and is left out; so is a column of
        a model that is also, or only, about candidates.
        """
        if not self.needs_joint:
            about_values = self.model.needs_sensitive and (self.model.joint or self.model.demand().candidates <= 1)
            return {name: (name,) for name in self.hide if about_values or name in shown}
        together = tuple(name for name in self.hide if name in shown)
        return {" + ".join(together): together} if together else {}

    def tells_nothing(self, shown: Collection[str]) -> bool:
        """Whether a release with these columns says nothing about what must be hidden: no column, or not the whole
        combination."""
        if not self.model.needs_sensitive or not self.hide or self.model.joint or self.model.demand().candidates > 1:
            return False
        untold = [name not in shown for name in self.hide]
        return any(untold) if self.composite and not self.needs_joint else all(untold)

    def __str__(self) -> str:
        return str(self.model)

    def same_as(self, other: PrivacyRequirement) -> bool:
        """Whether both ask for the same: one model at one level, the same columns known and hidden."""
        return self._asked() == other._asked()

    def _asked(self) -> tuple[Model, frozenset[str], frozenset[str], bool]:
        """What is asked for; which columns are hidden matters only to models about their values."""
        hidden = frozenset(self.hide) if self.model.needs_sensitive else frozenset()
        return self.model, frozenset(self.given), hidden, self.composite and bool(hidden)


def read_requirements(
    entries: Any,
    document: Document,
    given: Sequence[str],
    hide: Sequence[str],
    secret: Sequence[str] = (),
    errors: PolicyErrors | None = None,
) -> tuple[PrivacyRequirement, ...]:
    """All requirements under ``protect:``; `given` and `hide` are what a requirement means when it does not say.

    A requirement about all releases together hides every sensitive column (`secret`), also those this release leaves
    out. What is wrong is added to `errors`, or raised where there are none."""
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise PolicyError(
            "'protect' is a list of claims", where=document.where("protect"), hint="write '- k-anonymity: {k: 5}'"
        )
    claims, found = [], PolicyErrors() if errors is None else errors
    for i, entry in enumerate(entries):
        with found:
            claims.append(_claim(entry, i, document, tuple(given), tuple(hide)))
    if errors is None:
        found.settle()
    return tuple(replace(claim, hide=claim.hide or tuple(secret)) if claim.model.joint else claim for claim in claims)


def _claim(entry: Any, i: int, document: Document, given: tuple[str, ...], hide: tuple[str, ...]) -> PrivacyRequirement:
    where = document.where("protect", i)
    if isinstance(entry, str):
        return _short(entry, document, where, i)
    if not isinstance(entry, dict) or not entry:
        raise PolicyError("a claim is a model with its parameters", where=where, hint="write '- k-anonymity: {k: 5}'")
    if "by" in entry or "hide" in entry or "given" in entry:
        return _explicit(entry, i, document, given, hide)
    if len(entry) > 1:
        raise PolicyError(
            "a claim names one model", where=where, hint="begin each model with '- ' on a line of its own"
        )
    ((name, parameters),) = entry.items()
    model = _model(name, parameters, document, "protect", i, name)
    return PrivacyRequirement(model, given, hide if model.needs_sensitive else (), where)


def _explicit(
    entry: dict[str, Any], i: int, document: Document, given: tuple[str, ...], hide: tuple[str, ...]
) -> PrivacyRequirement:
    for key in entry:
        if key not in _KEYS:
            raise PolicyError(
                f"unknown key '{key}'", where=document.where("protect", i, key), hint=nearest(key, list(_KEYS))
            )
    by = entry.get("by")
    if not isinstance(by, dict) or len(by) != 1:
        raise PolicyError(
            "'by' names one model", where=document.where("protect", i), hint="write 'by: {l-diversity: {l: 2}}'"
        )
    ((name, parameters),) = by.items()
    model = _model(name, parameters, document, "protect", i, "by", name)
    where = document.where("protect", i)
    hidden = _names(entry.get("hide"), hide, document, i, "hide")
    return PrivacyRequirement(
        model,
        _names(entry.get("given"), given, document, i, "given"),
        hidden,
        where,
        composite="hide" in entry and len(hidden) > 1,
    )


def _short(text: str, document: Document, where: str, i: int) -> PrivacyRequirement:
    words = short_forms()
    try:
        written = parse_rule(text)
    except PolicyError as error:
        raise PolicyError(f"the claim is not understood: {error.what}", where=where, hint=_hint(words)) from None
    if written.word not in words:
        raise PolicyError(
            f"the claim is not understood: no model is written '{written.word}'", where=where, hint=_hint(words)
        )
    cls, short = words[written.word]
    level = int(written.level) if written.level.is_integer() else written.level
    model = instantiate(cls, {short.parameter: level, **short.fixed}, document, "protect", i)
    return PrivacyRequirement(model, written.given, written.hide, where, composite=len(written.hide) > 1)


def short_forms() -> dict[str, tuple[type[Model], Short]]:
    """The words that requirements in one line may use, from the models' own declarations."""
    words: dict[str, tuple[type[Model], Short]] = {}
    for cls in catalogue("models", Model).values():
        if cls.short is not None:
            if cls.short.word in words:
                other = words[cls.short.word][0].name
                raise PolicyError(
                    f"'-{cls.short.word}' could mean {other} or {cls.name}", hint="give one of them another word"
                )
            words[cls.short.word] = (cls, cls.short)
    return words


def _hint(words: Iterable[str]) -> str:
    others = ", ".join(f"-{word}" for word in sorted(words) if word != "diversity")
    return f"write 'age, icd9 -> race : 3-diversity' (or {others})"


def _names(value: Any, default: tuple[str, ...], document: Document, i: int, key: str) -> tuple[str, ...]:
    if value is None:
        return default
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        hint = f"write '{key}: [age, zip]'"
        raise PolicyError(f"'{key}' names columns", where=document.where("protect", i, key), hint=hint)
    return tuple(names)


def _model(name: str, parameters: Any, document: Document, *path: str | int) -> Model:
    cls = find("models", Model, name, where=document.where(*path))
    return instantiate(cls, parameters, document, *path)

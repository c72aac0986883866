"""A model of privacy: a predicate on what an adversary is left with, declared with its parameters and with what it
needs.

A new model is one file in this folder with one class. The class docstring's first line is its entry in the catalogue;
its parameters are declared fields, from which the YAML vocabulary, the error messages, the help and the docs are made.
What differs between models is asked of the model: nobody outside this folder looks at its class.

Kinds of model
    on `Linkage`     most: each person's candidates, and how sensitive values spread over them (tables, baskets, degrees
    of a graph) on a channel     those that promise something of the noise alone, whatever the data are
    (`models.channel_model`) `judges` says which; a reading hands over an object of that type.

What a model declares
    `levels`     the parameters that measure protection, and whether more or less of them is safer
    `demand`     what every class must have, and whether that is all the model requires
    `sentence`   the requirement as a sentence with placeholders: "… must have at least {k} candidates"
    `short`      how it is written in ``age -> illness : 2-diversity``
    `examples`   parameters, with something that holds and something that fails

Invariants
    I1  A demand is necessary: whatever satisfies the model has as many candidates and, in every sensitive column, as
        many different values, and no value with a larger share. When it is `sufficient`, whatever has these satisfies
        the model; when it is `complete`, whatever also has the entropy and the distance.
    I2  `reaches` fails closed: a level that is missing, is no number, or is of another kind of promise is not reached.
    I3  A model with `hides_combinations` proves in its class docstring that it survives splitting values. The test over
        all small tables (`tests/versatile/test_combinations.py`) holds every registered model to what it declares.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Worded
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.text_values import parse_number

Safer = Literal["more", "less"]
_WRITTEN = 6e-6
"""Levels are written with six significant digits; so far apart two of them may be and mean the same."""


class Demand(NamedTuple):
    """What every group of candidates needs under a model (I1); 0 different values: the model does not count them."""

    candidates: int = 1
    distinct: int = 0
    largest_share: float = 1.0
    sufficient: bool = False
    entropy: float = 0.0
    """Least entropy of the values (natural logarithm)."""
    distance: float = 1.0
    """Largest distance of the values from those of the whole release, every two values one apart."""
    complete: bool = False
    """Whether entropy and distance are all that the model asks beside what is above."""

    @property
    def told(self) -> bool:
        """Whether these numbers are all that the model asks for."""
        return self.sufficient or self.complete

    @property
    def fewest(self) -> int:
        """Candidates without which nothing of this can be had.

        >>> Demand(candidates=2, largest_share=0.3).fewest
        4
        """
        return max(self.candidates, self.distinct, math.ceil(1 / self.largest_share - 1e-9))

    @property
    def diversity(self) -> float:
        """The number of equally frequent values that would be just enough: l of l-diversity, fractional ones too."""
        return round(1 / self.largest_share, 12) if self.largest_share < 1 else float(max(self.distinct, 1))

    @property
    def of_values(self) -> bool:
        """Whether something is asked of the sensitive values themselves."""
        return self.distinct > 0 or self.largest_share < 1

    @property
    def only_counts(self) -> bool:
        """Whether numbers of candidates and of different values are all that is asked: fewer records never have more of
        them."""
        return self.sufficient and self.largest_share == 1

    @property
    def counts_values(self) -> bool:
        """Whether different values are all that is asked of the hidden ones, however rare each of them is."""
        return self.sufficient and self.distinct > 0 and self.largest_share == 1


class Short(NamedTuple):
    """The word of a model in ``known -> hidden : 3-word``, the parameter that the number is, and those that are
    understood."""

    word: str
    parameter: str
    fixed: Mapping[str, Any] = {}


class Example(NamedTuple):
    """Parameters of a model, something that satisfies it and something that does not."""

    level: Mapping[str, Any]
    holds: Any
    fails: Any


class Model(BaseModel, Worded):
    """What must be true of each person's candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: ClassVar[str]
    sentence: ClassVar[str] = ""
    """What a person who knows the given columns must or may not get, with the parameters (and `hide`) in braces."""
    paper: ClassVar[str] = ""
    judges: ClassVar[type] = Linkage
    """What the model is a predicate on."""
    levels: ClassVar[Mapping[str, Safer]] = {}
    """The parameters that measure protection, each with the direction that is safer."""
    short: ClassVar[Short | None] = None
    """How requirements in one line name the model; models without one are written out."""
    examples: ClassVar[tuple[Example, ...]] = ()
    """Each with levels that a few hundred ordinary records can reach."""
    monotone: ClassVar[bool] = True
    """Whether joining two groups that satisfy the model gives a group that satisfies it."""
    needs_sensitive: ClassVar[bool] = True
    """Whether the model is about sensitive values (else only about the number of candidates)."""
    bounds_candidates: ClassVar[bool] = False
    """Whether the model asks for a number of candidates, which no form that publishes quasi-identifiers exactly can
    give."""
    hides_combinations: ClassVar[bool] = False
    """Whether a combination of columns satisfies the model wherever one of its columns does (I3).

    Every value of a column is split into the values of the combination. Without this property a combination is judged
    by its joint distribution. """
    compares: ClassVar[bool] = False
    """Whether it compares each person's candidates with the whole release."""
    joint: ClassVar[bool] = False
    """Whether the model is about all releases of a table together, when a ledger remembers earlier ones."""
    kinds: ClassVar[tuple[str, ...]] = ("table", "baskets")
    """The kinds of data the model is about."""
    needs_everybody: ClassVar[bool] = False
    """Whether it speaks of all people in the population, also of those who are not in the table: then these must be
    given."""

    @abstractmethod
    def satisfied(self, seen: Any) -> BoolArray:
        """For each kind of person in what `judges` names: does the model hold?"""

    @abstractmethod
    def achieved(self, seen: Any) -> dict[str, Any]:
        """The level that the worst-placed person enjoys, under the names of the parameters; never empty."""

    def is_bound(self, seen: Any) -> bool:
        """Whether `achieved` is only a bound here: everybody is protected at least so well, and perhaps better."""
        return False

    def demand(self) -> Demand:
        """Return what every class must have (I1); nothing by default."""
        return Demand()

    def by_group(self) -> Model:
        """A model on single groups that implies this one, for methods that look at one group at a time."""
        return self

    def weaker_by_group(self) -> Sequence[Model]:
        """Models on single groups below `by_group`, the weakest first, with which a whole release may still satisfy
        this one."""
        return ()

    @classmethod
    def is_trivial(cls, required: Mapping[str, Any]) -> bool:
        """Whether every release reaches this level: one candidate, one value. Then nothing is promised."""
        asked = [(cls.levels[name], required[name]) for name in cls.levels if name in required]
        return bool(asked) and all(safer == "more" and level <= 1 for safer, level in asked)

    @property
    def compares_release(self) -> bool:
        """Whether the verdict on a group depends on all that is published with it."""
        return self.compares

    def compared_with_release(self) -> Model:
        """Return the same model without a fixed distribution."""
        return self

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The columns for which a fixed distribution is stated."""
        return ()

    def compared_with(self, column: str) -> Mapping[str, float]:
        """Return the counts of values that groups are compared with; nothing where that is the release, or nothing is
        compared."""
        return {}

    def excluded(self, column: str, labels: Sequence[str]) -> BoolArray:
        """Per label whether no group in which a person has it satisfies the model."""
        return np.zeros(len(labels), dtype=np.bool_)

    @property
    def of_population(self) -> bool:
        """Whether candidates are people of the population that the table is a sample of (``population:``), not
        published rows."""
        return False

    @property
    def orders_values(self) -> bool:
        """Whether it asks for an order or a tree of values, which the values of a combination do not have."""
        return False

    @property
    def people_behind(self) -> int | None:
        """How many people of the population every group must stand for, where that is all that is asked."""
        return None

    @property
    def tie_epsilon(self) -> float | None:
        """The most that publishing may change the log odds of one tie; none: the model says more or something else."""
        return None

    @property
    def person_epsilon(self) -> float | None:
        """The most that all ties of one person may change any log odds; none: the model says something else."""
        return None

    @property
    def known_items(self) -> int | None:
        """Most items that the adversary knows of a set-valued record; none: all of them."""
        return None

    @property
    def known_columns(self) -> int | None:
        """Most of the given columns that the adversary knows of a person, whichever they are; none: all of them."""
        return None

    def required(self) -> dict[str, Any]:
        """Return the level asked for, in JSON's types: what a policy says in YAML and a certificate in JSON compare
        equal."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def reaches(cls, achieved: Mapping[str, Any], required: Mapping[str, Any]) -> bool:
        """Whether an achieved level is at least as safe as the required one (I2), both as certificates write them."""
        asked = [name for name in cls.levels if name in required]
        promise = [name for name in required if name in achieved and name not in cls.levels]
        if not asked or any(achieved[name] != required[name] for name in promise):
            return False
        return all(name in achieved and _reached(achieved[name], required[name], cls.levels[name]) for name in asked)

    @classmethod
    def strength(cls, achieved: Mapping[str, Any]) -> tuple[float, ...]:
        """An achieved level as numbers of which larger ones are safer, to find the worst of several."""
        return tuple(float(achieved[name]) * (1 if safer == "more" else -1) for name, safer in cls.levels.items())

    def covers(self, other: Any) -> bool:
        """Whether everything that satisfies this model also satisfies `other`; equality unless a model knows better."""
        return bool(self == other)

    def __str__(self) -> str:
        level = ", ".join(f"{key}: {value}" for key, value in self.required().items())
        return f"{self.name} {{{level}}}"

    def suggestion(self, seen: Any) -> str:
        """What to try when the model cannot be reached; `seen` is the best that can be offered."""
        reached = ", ".join(f"{key}: {value}" for key, value in self.achieved(seen).items())
        return f"{self.name} {{{reached}}} is the most this data can offer"


class ComparingModel(Model):
    """A model that compares the values among each person's candidates with a reference distribution.

    The reference is that of the release itself. Over several releases it would move with everybody who comes or leaves,
    and take back what was promised to who stays; so a series compares with one `reference` that stays
    (`history.reference_distribution`)."""

    compares: ClassVar[bool] = True

    reference: Any = Field(
        default=None,
        description=(
            "counts of values to compare with, per sensitive column: {illness: {flu: 30, gout: 12}}; none: this release"
        ),
    )

    @field_validator("reference")
    @classmethod
    def _as_rows(cls, written: Any) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...] | None:
        """Rows of a column and its values with their counts, in order: they can be compared and kept."""
        if written is None:
            return None
        try:
            rows = {
                str(column): {str(value): _count(count) for value, count in _pairs(counts)}
                for column, counts in _pairs(written)
            }
        except (TypeError, ValueError):
            raise ValueError("must name columns, each with counts of its values, above 0") from None
        if not rows or not all(rows.values()):
            raise ValueError("must name a value of every column")
        return tuple((column, tuple(sorted(counts.items()))) for column, counts in sorted(rows.items()))

    @property
    def compares_release(self) -> bool:
        return self.reference is None

    def compared_with_release(self) -> Model:
        return self.model_copy(update={"reference": None})

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return tuple(dict(self.reference or ()))

    def compared_with(self, column: str) -> Mapping[str, float]:
        return dict(dict(self.reference or ()).get(column, ()))

    def spreads(self, linkage: Linkage) -> dict[str, ValueDistribution]:
        """Per sensitive column the values of the candidates, with what they are compared with."""
        stated = {name: self.compared_with(name) for name in linkage.spread}
        return {
            name: spread.against(stated[name]) if stated[name] else spread for name, spread in linkage.spread.items()
        }

    def missing_from_reference(self, column: str, labels: Sequence[str]) -> BoolArray:
        """Per label whether a reference is stated for its column that does not have it."""
        stated = self.compared_with(column)
        return np.array([bool(stated) and label not in stated for label in labels], dtype=np.bool_)


def _pairs(written: Any) -> Any:
    return written.items() if isinstance(written, Mapping) else written


def _count(written: Any) -> float:
    """A number above 0, whole where it can be, so that it is written in one way."""
    number = parse_number(str(written))
    if number is None or isinstance(written, bool) or not 0 < number < math.inf:
        raise ValueError(written)
    return int(number) if number == int(number) else float(number)


def _reached(achieved: Any, required: Any, safer: Safer) -> bool:
    if any(isinstance(level, bool) or not isinstance(level, int | float) for level in (achieved, required)):
        return False
    above = achieved - required if safer == "more" else required - achieved
    if isinstance(achieved, int) and isinstance(required, int):
        return bool(above >= 0)
    return bool(above >= -(_WRITTEN * abs(required) + 1e-9))


def example_classes(*groups: str) -> Linkage:
    """Groups of people as examples write them: one word per group, one letter per person, which is the sensitive value.

    >>> example_classes("aab", "cc").candidates.tolist(), example_classes("aab",
    ...     "cc").spread["value"].distinct().tolist()
    ([3, 2], [2, 1])
    """
    labels = tuple(sorted(set("".join(groups))))
    of = np.repeat(np.arange(len(groups)), [len(word) for word in groups])
    codes = np.array([labels.index(letter) for letter in "".join(groups)], dtype=np.int64)
    return Linkage.of_groups(of, {"value": (codes, labels)})


def all_hold(linkage: Linkage, verdicts: list[BoolArray]) -> BoolArray:
    """All verdicts together; true for all people when there is nothing to judge."""
    together = np.ones(len(linkage.candidates), dtype=np.bool_)
    for verdict in verdicts:
        together &= verdict
    return together


def round_significant(value: float) -> float:
    """Six significant digits, so that certificates read well and compare exactly."""
    return float(f"{value:.6g}")

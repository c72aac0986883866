"""What a policy says about several releases: what outsiders know of them, and what happens to people and values in between.

>>> share_of("0.5%"), share_of(0.02)
(0.005, 0.02)
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sfumato.data.numbers import number


def share_of(value: Any) -> float:
    """A share between 0 and 1 as it is written, with or without a percent sign."""
    text = str(value).strip()
    share = number(text.removesuffix("%").rstrip())
    if share is None or not 0 <= share <= (100 if text.endswith("%") else 1):
        raise ValueError("must be a share between 0 and 1, or a percentage")
    return float(share) / (100 if text.endswith("%") else 1)


class Series(BaseModel):
    """What outsiders may know who see several releases, and what happens to people and values between them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cohorts: Literal["known", "unknown"] = Field(default="known", description="whether outsiders know who is in which release")
    by: Literal["class", "join"] = Field(
        default="class", description="every joint class keeps the promise, or the paper's measure: the full match join does"
    )
    leaving: Literal["withhold", "counterfeits", "refuse"] = Field(
        default="withhold", description="people who leave: withhold who would stand out, let rows stand in for them, or refuse"
    )
    counterfeits_at_most: float | None = Field(
        default=None,
        description="largest share of rows that stand in for who left, beside all records, like 1%; else companions are withheld",
    )
    waiting: float = Field(
        default=0.0,
        description="largest share of records that may wait for company in a later release, of people never published; like 0.5%",
    )
    changes: dict[str, str] = Field(
        default_factory=dict, description="columns whose values change: 'free', or a known step like '+1 per year'"
    )
    date: str | None = Field(default=None, description="the day that this release is about, YYYY-MM-DD; for known steps")

    @field_validator("waiting", "counterfeits_at_most", mode="before")
    @classmethod
    def _share(cls, value: Any) -> float | None:
        return None if value is None else share_of(value)

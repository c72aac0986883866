"""Members and others, counted by hand."""

from __future__ import annotations

from pathlib import Path

from sfumato.kinds.tables.linkage_attacks import MembershipAttack

from .small_exhibits import letters, policy_of, published, recoded


def test_others_are_counted_by_hand(tmp_path: Path) -> None:
    """Rows ab cover a and b; of the population c and d are not covered, b is and is not in the table."""
    exhibit = recoded(letters(1), {"q0": ["ab", "ab"], "s": ["x", "y"]}, {"q0": ["a", "a"], "s": ["x", "y"]})
    (tmp_path / "population.csv").write_text("q0,s\na,x\na,x\nb,x\nc,x\nd,x\nd,x\n")
    played = MembershipAttack(target="", original="", population=str(tmp_path / "population.csv")).play(exhibit)
    assert played == {"members": 2, "others": 4, "found": 1.0, "mistaken": 0.25, "advantage": 0.75}


def test_a_table_that_says_nothing_gives_no_advantage() -> None:
    people = {"q0": list("aabbccdd"), "q1": list("abcdabcd"), "s": list("xyxyxyxy")}
    everything = {name: ["*"] * 8 for name in ("q0", "q1")} | {"s": list("xyxyxyxy")}
    played = MembershipAttack(target="", original="").play(recoded(letters(2), everything, people))
    assert (played["found"], played["mistaken"], played["advantage"]) == (1.0, 1.0, 0.0)
    assert played["others"] > 100


def test_exact_values_tell_exactly() -> None:
    policy = policy_of(
        {"q0": "quasi-identifier", "q1": "quasi-identifier", "s": "sensitive"},
        [{"l-diversity": {"l": 2, "kind": "frequency"}}],
        "anatomy",
    )
    played = MembershipAttack(target="", original="").play(
        published(policy, {"q0": list("aabbccdd"), "q1": list("abcdabcd"), "s": list("xyxyxyxy")})
    )
    assert played["advantage"] == 1.0


def test_suppressed_people_are_not_found(tmp_path: Path) -> None:
    exhibit = recoded(
        letters(1), {"q0": ["ab", "ab"], "s": ["x", "y"]}, {"q0": ["a", "b", "d", "d"], "s": list("xyxy")}
    )
    (tmp_path / "population.csv").write_text("q0,s\nc,x\n")
    played = MembershipAttack(target="", original="", population=str(tmp_path / "population.csv")).play(exhibit)
    assert (played["found"], played["mistaken"]) == (0.5, 0.0)

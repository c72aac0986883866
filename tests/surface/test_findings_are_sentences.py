"""Every finding of every model and check is a sentence with its figures, whatever its state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sfumato.core.registry import catalogue
from sfumato.core.wording import Worded, Wording, fill
from sfumato.models.base import Model
from sfumato.release.certificate import AS_ASKED, MEASURED, NOT_JUDGED, SCHEMA, Certificate, Finding, Records
from sfumato.release.evidence import Check
from sfumato.release.summary import is_requirement

_FIELD = re.compile(r"\{([^{}]+)\}")
_COINED = (
    "misfit",
    "disagreements 0",
    "asked:",
    "whoever",
    "stand in",
    "stands in",
    "(s)",
    "floor",
    "judged",
    "{",
    "}",
)
MODELS = catalogue("models", Model)
CHECKS = catalogue("checks", Worded)


def _templates(words: Wording) -> dict[str, tuple[str, ...]]:
    named = {"holds": words.holds, "violated": words.violated, "measured": words.measured, "open": words.open}
    return {state: (one,) if isinstance(one, str) else one for state, one in named.items() if one}


def _figures(template: str) -> dict[str, dict[str, Any]]:
    """A figure for every field of a template, each another number."""
    figures: dict[str, dict[str, Any]] = {"found": {}, "asked": {}, "details": {}}
    for place, field in enumerate(_FIELD.findall(template)):
        source, _, key = field.removeprefix("exp ").split(" ")[0].removeprefix("1+").partition(".")
        if key:
            figures[source][key] = 3 + place if key not in ("others", "verb") else key
    return figures


def _is_sentence(text: str) -> bool:
    return (
        bool(text)
        and text == text.strip()
        and text[-1] in ".!?"
        and not text[0].islower()
        and not any(w in text for w in _COINED)
    )


def test_every_model_and_check_has_a_title_and_a_code_of_its_own() -> None:
    found = [(name, words) for name, cls in (MODELS | CHECKS).items() for words in _words(cls)]
    assert len(found) > 70
    for name, words in found:
        assert (words.title and words.title[0] == words.title[0].upper()) or words.title[0] in "kltpδβ(", name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", words.code or name), name
    codes = {words.code or name: name for name, words in found}
    assert len(codes) == len(MODELS | CHECKS)


def _words(cls: type[Worded]) -> Iterator[Wording]:
    yield cls.words
    yield from cls.variants[1].values()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_findings_of_models_are_sentences_with_their_figures(name: str) -> None:
    model = MODELS[name]
    assert model.examples, "every model has examples to show its sentences with"
    for example in model.examples:
        made = model(**example.level)
        asked = made.required()
        columns = {"given": ("age", "zip"), "hide": ("illness",) if model.needs_sensitive else ()}
        good, bad = (made.achieved(seen) for seen in (example.holds, example.fails))
        holds = Finding(name, True, asked, good, **columns)
        fails = Finding(
            name, False, asked, bad, **columns, reason="3 people in 1 equivalence class do not reach the required level"
        )
        assert _is_sentence(holds.sentence) and _shows_number(holds.sentence, {**asked, **good}), holds.sentence
        assert _is_sentence(fails.sentence) and _shows_number(fails.sentence, {**asked, **bad}), fails.sentence
        assert "3 people" in fails.sentence
        promised = Finding(name, True, asked, asked, grade=AS_ASKED, **columns)
        assert "Only the publisher knows" in promised.sentence and _shows_number(promised.sentence, asked)
        for reason in ("it needs the private provenance", "give the original", "give the ledger", ""):
            left = Finding(name, True, asked, {}, grade=NOT_JUDGED, reason=reason, **columns)
            assert _is_sentence(left.sentence) and left.sentence.startswith("Not assessed: "), left.sentence
        stopped = Finding(
            name,
            False,
            asked,
            {},
            **columns,
            reason="the published files cannot be read as this form (IndexError)",
            details={"error": "IndexError"},
        )
        assert stopped.state == "error" and "could not complete" in stopped.sentence
        if is_requirement(holds):
            told = holds.headline("people")
            assert _is_sentence(told) and _shows_number(told, {**asked, **good}), told


def _shows_number(text: str, figures: Mapping[str, Any]) -> bool:
    return not any(isinstance(value, int | float) for value in figures.values()) or bool(re.search(r"\d", text))


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_findings_of_checks_are_sentences_with_their_figures(name: str) -> None:
    words = CHECKS[name].words
    states = _templates(words)
    assert states
    for state, templates in states.items():
        for template in templates:
            figures = _figures(template)
            reason = "column 'age' is missing; two parts have the same name"
            made = _made(name, state, figures, reason)
            assert _is_sentence(made.sentence), (template, made.sentence)
            for value in {**figures["found"], **figures["asked"]}.values():
                assert str(value) in made.sentence.replace(",", "") or f"{100 * value}" in made.sentence.replace(
                    ",", ""
                ), made.sentence
            if "{reason}" in template:
                assert "olumn 'age' is missing. Two parts have the same name." in made.sentence
    if states.get("holds") and issubclass(CHECKS[name], Check):
        public = Finding(name, True, {}, {})
        assert (
            fill(words.holds, {"found": {}, "asked": {}, "details": {}, "reason": ""})
            or "found." in states["holds"][-1]
        ), public.sentence
    left = Finding(name, True, grade=NOT_JUDGED, reason="who is in which bucket only the private provenance tells")
    assert left.sentence == "Not assessed: this needs the publisher's private provenance file."
    stopped = Finding(
        name, False, reason="the published files cannot be read as this form (KeyError)", details={"error": "KeyError"}
    )
    assert "It counts as a violation." in stopped.sentence


def _made(name: str, state: str, figures: Mapping[str, Mapping[str, Any]], reason: str) -> Finding:
    """A finding in a state, as nobody but this test would make it: the figures are numbers of the template."""
    grade = {"measured": MEASURED, "open": NOT_JUDGED}.get(state, MEASURED if state == "holds" else "exact")
    made = Finding(
        name,
        state != "violated",
        figures["asked"],
        figures["found"],
        grade=grade,
        reason=reason,
        details=figures["details"],
    )
    if state in ("holds", "open"):
        object.__setattr__(made, "grade", "exact" if state == "holds" else NOT_JUDGED)
        object.__setattr__(made, "reason", reason if state == "holds" else "")
    return made


@pytest.mark.parametrize(
    ("name", "found", "state"),
    [
        ("other columns", {"k": 1, "alone": 688}, "warning"),
        ("other columns", {"k": 4, "alone": 0}, "measured"),
        ("neighbours", {"best_guess": 0.7, "blind": 0.4, "first_neighbour": 0.1}, "warning"),
        ("linked rows", {"share": 0.107}, "warning"),
        ("linked rows", {"share": 0.01}, "measured"),
        ("pinned", {"pinned": 2, "values": 10}, "warning"),
        ("emptiness", {"empty": 0.3}, "warning"),
    ],
)
def test_a_measured_figure_that_matters_is_a_warning_with_advice(name: str, found: dict[str, Any], state: str) -> None:
    made = Finding(name, True, {}, found, hide=("illness",), grade=MEASURED)
    assert made.state == state
    assert bool(made.advice) == (state == "warning")
    assert made.verdict is None


def test_a_certificate_has_a_schema_and_words_and_is_read_back_by_its_figures() -> None:
    finding = Finding("k-anonymity", True, {"k": 5}, {"k": 7}, ("age",), details={"classes": 412})
    tree = Certificate((finding,), Records(100, 100, 0)).to_json()
    assert tree["schema"] == SCHEMA == 2
    (entry,) = tree["findings"]
    assert entry["code"] == entry["title"] == "k-anonymity"
    assert entry["group"] == "privacy" and entry["certainty"] == "exact" and entry["details"] == {"classes": 412}
    assert entry["sentence"] == "The smallest equivalence class has 7 records (required: 5)."
    forged = {**tree, "findings": [{**entry, "sentence": "Everything is safe.", "title": "Nothing"}]}
    (read,) = Certificate.from_json(forged).findings
    assert read == finding and read.sentence == entry["sentence"]  # words are made of figures, never read

"""The risk of a table as a page with pictures, and as a card for notebooks. Only counts and shares: no value of any person."""

from __future__ import annotations

from markupsafe import Markup

from sfumato.report.charts import TERRA, bars, columns
from sfumato.report.frame import Headline, Passage, card, framed
from sfumato.report.section import bullets, paragraph, table
from sfumato.risks.attackers import Attacker
from sfumato.risks.kinds import SAFE_HARBOR
from sfumato.risks.report import RiskReport
from sfumato.risks.writing import people_sentences

_SHOWN = 15
_FOOTER = "Computed on this machine from counts; no row of the table is on this page. Keep it as safe as the table itself."


def render_risk(found: RiskReport) -> str:
    """The whole page."""
    passages = [
        Passage("classes", f"How many {found.word} look alike", _classes(found)),
        Passage("attackers", "What three attackers get", _attackers(found)),
        Passage("columns", "What each column seems to be", _columns(found)),
        Passage("combinations", "Which columns identify", _combinations(found)),
    ]
    if found.people is not None:
        passages.insert(1, Passage("people", "People in several rows", bullets(people_sentences(found.people))))
    if found.special is not None:
        passages.append(Passage("special", "Records that are special", _special(found)))
    if found.population is not None:
        passages.append(Passage("population", "Unique in the population", _population(found)))
    if found.diversity:
        passages.append(Passage("sensitive", "What classes say about sensitive columns", _diversity(found)))
    if found.notes:
        passages.append(Passage("notes", "Assumed", bullets(found.notes)))
    return framed(_headline(found), passages)


def risk_card(found: RiskReport) -> str:
    """A few figures and the picture of class sizes."""
    return card(_headline(found), _sizes(found), _table_of(found))


def _headline(found: RiskReport) -> Headline:
    unique = found.uniques / found.rows
    if found.uniques:
        title = f"{found.uniques:,} of {found.rows:,} {found.word} stand alone"
    else:
        title = (
            f"{'Everybody' if found.people is None else 'Every row'} looks like {found.k - 1:,} other{'s' if found.k > 2 else ''}"
        )
    by = ", ".join(found.quasi_identifiers)
    lead = f"Who knows {by} finds {_share(unique)} of the records with certainty." if found.uniques else f"To who knows {by}."
    figures = (
        (f"{found.k:,}", "smallest class (k)"),
        (_share(found.prosecutor.average), "found by who knows they are in it"),
        (_share(found.individual.share), "expected to be found"),
        (f"{found.classes:,}", "classes"),
    )
    return Headline(title, lead, figures, private=True, footer=_FOOTER)


def _share(value: float) -> str:
    return "0 %" if value == 0 else f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.1f} %"


def _classes(found: RiskReport) -> Markup:
    chosen = "Chosen by names and looks; say which they are with --qi." if found.guessed else "As they were given."
    words = f"Quasi-identifiers: {', '.join(found.quasi_identifiers)}. {chosen} A record is as safe as its class is large."
    return paragraph(words) + _sizes(found)


def _sizes(found: RiskReport) -> Markup:
    rows = [(_span(each.low, each.high), float(each.records), f"{each.records:,}") for each in found.sizes]
    return columns(rows, title="Records by the size of their class", fill=TERRA)


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _attackers(found: RiskReport) -> Markup:
    three = (found.prosecutor, found.journalist, found.marketer)
    rows = [(each.name, each.average, _share(each.average)) for each in three]
    told = table(("attacker", "right at best", "right on average", "who"), [_told(each) for each in three])
    above = table(
        ("records with a risk above", "prosecutor", "journalist"),
        [
            (_share(one.threshold), f"{one.records:,} ({_share(one.share)})", f"{two.records:,} ({_share(two.share)})")
            for one, two in zip(found.prosecutor.at_risk, found.journalist.at_risk, strict=True)
        ],
    )
    one = found.individual
    words = (
        f"Over all records {one.expected:,.1f} are expected to be found ({_share(one.share)}), the one most at risk "
        f"with probability {_share(one.highest)}; {one.outlying:,} records stand out from the others."
    )
    return bars(rows, title="Share that each attacker is right about") + told + above + paragraph(words)


def _told(each: Attacker) -> tuple[str, str, str, str]:
    return each.name, _share(each.highest), _share(each.average), each.meaning


def _columns(found: RiskReport) -> Markup:
    rows = [
        (each.name, each.role, each.reason, f"{each.distinct:,}", f"{each.missing:,}", f"{each.hipaa} {each.kind}".strip())
        for each in found.columns
    ]
    listed = sorted({each.hipaa for each in found.columns if each.hipaa})
    words = "No column shows one of the eighteen kinds of HIPAA's safe harbor by its name or look."
    if listed:
        words = "Kinds of HIPAA's safe harbor: " + "; ".join(f"{letter}, {SAFE_HARBOR[letter]}" for letter in listed) + "."
    hint = "Names and looks only suggest a role; who knows what is for people to say."
    return paragraph(f"{words} {hint}") + table(("column", "seems to be", "because", "values", "missing", "kind"), rows)


def _combinations(found: RiskReport) -> Markup:
    best = found.combinations.found[:_SHOWN]
    rows = [(", ".join(each.columns), f"{each.distinction:.4f}", f"{each.separation:.6f}", f"{each.uniques:,}") for each in best]
    words = (
        "Distinction is the share of different tuples (1: everybody is unique), separation the share of pairs of records that the "
        f"columns tell apart. The {len(best)} most identifying of {len(found.combinations.found):,} combinations."
    )
    left = found.combinations.left_out
    more = paragraph(f"Left out of larger combinations, because they separate least: {', '.join(left)}.") if left else Markup("")
    alone = [
        (each.columns[0], each.distinction, f"{each.distinction:.2%}")
        for each in found.combinations.found
        if len(each.columns) == 1
    ]
    picture = bars(sorted(alone, key=lambda row: -row[1])[:_SHOWN], title="Distinction of single columns")
    return paragraph(words) + table(("columns", "distinction", "separation", "unique records"), rows) + picture + more


def _special(found: RiskReport) -> Markup:
    special = found.special
    assert special is not None
    counts = (
        ", ".join(f"{count:,} with {size} column{'' if size == 1 else 's'}" for size, count in special.by_size.items()) or "none"
    )
    words = (
        f"{special.records:,} records are unique already in at most three of their values (minimal sample uniques: {counts}). "
        "They are the first that somebody finds. The columns they owe it to:"
    )
    ranked = sorted(special.contribution.items(), key=lambda pair: -pair[1])
    rows = [(name, share, f"{share:.1%}") for name, share in ranked if share]
    return paragraph(words) + (bars(rows[:_SHOWN], title="Columns of special uniques", fill=TERRA) if rows else Markup(""))


def _population(found: RiskReport) -> Markup:
    one = found.population
    assert one is not None
    words = (
        f"The table is taken to hold {_share(one.fraction)} of {one.population:,} people. About {one.uniques:,.0f} of them "
        f"({_share(one.share)}) are unique in the population, by the model that the rule of Dankar et al. chooses ({one.chosen})."
    )
    rows = [
        (
            each.model,
            "does not fit" if each.uniques is None else f"{each.uniques:,.0f}",
            "" if each.share is None else _share(each.share),
        )
        for each in one.models
    ]
    return paragraph(words) + table(("model", "unique people", "share of the population"), rows)


def _diversity(found: RiskReport) -> Markup:
    words = "In the worst class: how many values there are, what they are worth (entropy), how far they are from everybody's."
    rows = [
        (each.column, f"{each.l_distinct:g}", f"{each.l_entropy:.3g}", f"{each.t:.3g} ({each.distance})")
        for each in found.diversity
    ]
    return paragraph(words) + table(("column", "l, distinct", "l, entropy", "t"), rows)


def _table_of(found: RiskReport) -> Markup:
    rows = [_told(each)[:3] for each in (found.prosecutor, found.journalist, found.marketer)]
    return table(("attacker", "right at best", "right on average"), rows)

"""Privacy rules: whoever knows the columns on the left must not learn the column on the right beyond a guarantee.

Paper
    [versatile §2.2] rules, [versatile Thm 3.1, Cor. 3.1.1] inference, [versatile Def. 2] irreducible sets.

Notation
    Q → S : g    given Q, hide S, guarantee g. With several columns in S only their *combination* is protected, which is
                 weaker than protecting one of them.

Invariants
    I1  Q → S : g is implied by Q' → S' : g' exactly when Q ⊆ Q', S' ⊆ S and g' covers g. No other inference exists.
    I2  The irreducible form implies every rule it was made from.

Departures
    The paper lets all rules share one guarantee; here each has its own, and a rule is implied only by one at least as strong.

>>> from sfumato.models.p_sensitivity import PSensitivity
>>> class WrittenRule(NamedTuple):
    """The parts of ``"age, icd9 -> race : 3-diversity"``, columns in the order of the text."""

    given: tuple[str, ...]
    hide: tuple[str, ...]
    level: float
    word: str


_GUARANTEE = re.compile(r"^(\d+(?:\.\d+)?)-([a-z][a-z-]*)$")


def written_rule(text: str) -> WrittenRule:
    """A rule in one line, whatever the guarantee is called; nothing before the arrow means that nothing is known.

    >>> written_rule("b, a -> c : 1.2-disclosure")
    WrittenRule(given=('b', 'a'), hide=('c',), level=1.2, word='disclosure')
    """
    sides, by = _split_guarantee(text)
    match = _GUARANTEE.match(by)
    if match is None:
        raise PolicyError(f"'{by}' is no guarantee", where=text, hint="write a number and a word, like '2-diversity'")
    given, hide = _split_sides(sides)
    known = () if not given.strip() else _listed_names(given, text)
    return WrittenRule(known, _listed_names(hide, text), float(match[1]), match[2])


def split_rule(text: str) -> tuple[frozenset[str], frozenset[str], str]:
    """The three parts of ``"age, icd9 -> race : 3-diversity"``; the arrow may also be ``→``.

    >>> sorted(split_rule("b, a -> c : 3-diversity")[0]), split_rule("a → b, c : x")[2]
    (['a', 'b'], 'x')
    """
    sides, by = _split_guarantee(text)
    given, hide = split_arrow(sides)
    return given, hide, by


def split_arrow(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Both sides of ``"a, b -> c"``."""
    left, right = _split_sides(text)
    return frozenset(_listed_names(left, text)), frozenset(_listed_names(right, text))


def _split_guarantee(text: str) -> tuple[str, str]:
    sides, colon, by = text.replace("→", "->").rpartition(":")
    if not colon or not by.strip():
        raise PolicyError("a rule names no guarantee", where=text, hint="end it with ' : 2-diversity' or another guarantee")
    return sides, by.strip()


def _split_sides(text: str) -> tuple[str, str]:
    left, *right = text.replace("→", "->").split("->")
    if len(right) != 1:
        raise PolicyError("expected exactly one '->'", where=text, hint="write 'known columns -> hidden column'")
    return left, right[0]


def _listed_names(side: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in side.split(","))
    if not all(names):
        raise PolicyError("a side of '->' is empty or has a stray comma", where=text, hint="separate column names by commas")
    return names


def listed(names: Iterable[str]) -> str:
    """Column names in a fixed order, for messages."""
    return ", ".join(sorted(names))

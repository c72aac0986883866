"""From the words of a rule to its tree, by recursive descent; nothing is ever evaluated as code.

Grammar, loosest binding first (⟨x⟩, … is a list):

    rule        ::= names "determines" names | names "references" names
                  | "unique" "(" names ")" | "same_multiset" "(" names ")" | "at_least" "(" k "," names ")"
                  | "localities" "(" names ")" ["sample" σ] ["partition" (n | "near" n
                  | "by" names) ["across" m]] ["distances" m]
                  | "at_most" "(" n "," names ")" | "no_overlap" "(" column "," column "by" names ")"
                  | "increasing" "(" column ["by" names] "along" column ")"
                  | condition
    condition   ::= "if" condition "then" condition | conjunction ("or" conjunction)*
    conjunction ::= negation ("and" negation)*
    negation    ::= "not" negation | comparison
    comparison  ::= sum (("=" | "!=" | "<" | "<=" | ">" | ">=") sum)* ["within" ε]
                  | sum "within" ε "of" sum | sum ["not"] "in" "{" constants "}" | column "is" ["not"] "null"
    sum         ::= product (("+" | "-") product)*
    product     ::= factor (("*" | "/" | "%") factor)*
    factor      ::= "-" factor | constant | column | column "[" record "]" | "match" "(" column "," text ")"
                  | aggregate "(" [condition | sum] ["where" condition] ["by" names] ")" | "(" condition ")"
                  | function "(" sums ")" | "valid" "(" system "," column ")"
                  | "running" "(" sum ["by" names] "along" column ")"
                  | ("starts_with" | "ends_with" | "contains") "(" column "," text ")"
                  | "correlation" "(" column "," column ")"
    column      ::= ["original" "."] [[schema "."] table "."] name
    aggregate   ::= "sum" | "mean" | "min" | "max" | "count" | "median" | "distinct" | "quantile"

Departures
    Equal mathematics is accepted in the signs ≤ ≥ ≠ × ÷ −. A chain `800 <= a + b <= 900` is the conjunction of its
    links.

>>> parse("final = (courses + thesis) / 2").body.operator
'='
>>> parse("unique(phone")  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
sfumato.policy.constraint_language.parser.RuleError: expected ')' after the columns
    — character 13 of the rule: unique(phone⟨end⟩


Scan
----
From the text of a rule to its words, each with the character where it begins.

A name may contain hyphens (`education-num`), so a minus between two names wants blanks around it; when the columns of
the table are known, a hyphenated word that is no column is read as a difference after all. Any other name goes between
backquotes.

>>> [token.text for token in scan("a<= 2.5 * `b c`")]
['a', '<=', '2.5', '*', 'b c']


Calls
-----
Words of the rule language that look like calls: functions of one record, numbering systems, orders inside groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date
from fractions import Fraction

from sfumato.core.errors import PolicyError
from sfumato.core.token_reader import Token, TokenReader, exact_number, tokens
from sfumato.data.check_digits import NUMBERS
from sfumato.data.regular_expressions import pattern_problem
from sfumato.policy.constraint_language.functions import FUNCTIONS
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    Arithmetic,
    AtLeast,
    AtMost,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Determines,
    Expression,
    Function,
    Histogram,
    Implies,
    Increasing,
    IntegrityRule,
    IsNull,
    Localities,
    Match,
    Membership,
    Negative,
    Node,
    NoOverlap,
    Not,
    Number,
    Own,
    References,
    Running,
    SameMultiset,
    Statement,
    TextConstant,
    Unique,
    Valid,
)

AGGREGATES = ("sum", "mean", "min", "max", "count", "median", "distinct", "quantile")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_KEYWORDS = frozenset(
    ("and", "or", "not", "if", "then", "in", "within", "of", "determines", "references", "by", "where")
)


def parse(text: str, columns: Collection[str] | None = None) -> IntegrityRule:
    """The rule that `text` states; `columns` (when known) settles where a hyphen belongs to a name."""
    return RuleReader(text, scan(text, columns)).rule()


class RuleReader(TokenReader):
    """Reads one rule."""

    def wrong(self, what: str, at: int | None = None, *, hint: str = "") -> RuleError:
        return RuleError(what, self.text, self.token.at if at is None else at, hint=hint)

    # ---- rules -----------------------------------------------------------------------------------------------------

    def rule(self) -> IntegrityRule:
        if self.token.kind == "end":
            raise self.wrong("the rule is empty")
        body = self.statement() or self.relation()
        if self.token.kind != "end":
            raise self.wrong(f"'{self.token.text}' was not expected here", hint="join conditions with 'and' or 'or'")
        return IntegrityRule(self.text, body)

    def statement(self) -> Statement | None:
        makers: dict[str, Callable[[int], Statement]] = {
            "unique": lambda at: Unique(self.names(), at=at),
            "same_multiset": lambda at: SameMultiset(self.names(), at=at),
            "at_least": lambda at: AtLeast(*self.counted_names(), at=at),
            "at_most": lambda at: AtMost(*self.counted_names(), at=at),
            "histogram": lambda at: histogram(self, at),
            "increasing": lambda at: increasing(self, at),
            "no_overlap": lambda at: no_overlap(self, at),
            "localities": lambda at: Localities(self.names(), at=at),
        }
        if self.token.text not in makers or not self.is_word("(", 1):
            return None
        opening = self.token
        self.next += 2
        made = makers[opening.text](opening.at)
        self.expect(")", "after the columns")
        return self.options(made) if isinstance(made, Localities) else made

    def counted_names(self) -> tuple[int, tuple[ColumnValue, ...]]:
        count = self.whole("how many times each combination occurs", least=1)
        self.expect(",", "before the columns")
        return count, self.names()

    def options(self, made: Localities) -> Localities:
        sample, partition, across, by, near = made.sample, made.partition, made.across, made.by, False
        if self.accept("sample"):
            at, sample = self.token.at, self.number("the sampling rate")
            if not 0 <= sample <= 1:
                raise self.wrong("the sampling rate lies between 0 and 1", at)
        if self.accept("partition"):
            if self.accept("by"):
                by = self.names()
            else:
                near = self.accept("near") is not None
                partition = self.whole("the number of values in a partition", least=3)
        if self.is_word("across") and partition is None and not by:
            raise self.wrong(
                "localities across partitions need partitions", hint="write 'partition' and its size before 'across'"
            )
        if self.accept("across"):
            across = self.whole("the number of localities across partitions", least=1)
        pairs = self.whole("the number of distances compared", least=1) if self.accept("distances") else 0
        return Localities(made.columns, sample, partition, across, by, near, pairs, at=made.at)

    def relation(self) -> Condition | Statement:
        """A condition, or two lists of columns around `determines` or `references`."""
        start = self.next
        if self.token.kind in ("name", "quoted") and self.names_ahead():
            left = self.names()
            word = self.accept("determines", "references")
            if word is not None:
                right = self.names()
                if word.text == "determines":
                    return Determines(left, right, at=word.at)
                if len(left) != len(right):
                    raise self.wrong("both sides of 'references' need the same number of columns", word.at)
                return References(left, right, at=word.at)
            self.next = start
        return self.condition_only(self.condition())

    def names_ahead(self) -> bool:
        words = {token.text for token in self.tokens[self.next :] if token.kind == "name"}
        return not words.isdisjoint(("determines", "references"))

    def names(self) -> tuple[ColumnValue, ...]:
        found = [self.column()]
        while self.accept(","):
            found.append(self.column())
        return tuple(found)

    # ---- conditions ------------------------------------------------------------------------------------------------

    def condition(self) -> Node:
        opening = self.accept("if")
        if opening is not None:
            with self.deeper(opening.at):
                cause = self.condition_only(self.condition())
                self.expect("then", "after the condition")
                return Implies(cause, self.condition_only(self.condition()), at=opening.at)
        return self.joined("or", self.conjunction, Any_)

    def conjunction(self) -> Node:
        return self.joined("and", self.negation, All)

    def joined(self, word: str, part: Callable[[], Node], make: type[All] | type[Any_]) -> Node:
        first = part()
        if not self.is_word(word):
            return first
        parts = [self.condition_only(first)]
        while self.accept(word):
            parts.append(self.condition_only(part()))
        return make(tuple(parts), at=first.at)

    def negation(self) -> Node:
        word = self.accept("not")
        if word is None:
            return self.comparison()
        with self.deeper(word.at):
            return Not(self.condition_only(self.negation()), at=word.at)

    def comparison(self) -> Node:
        first = self.sum()
        if self.is_word("in") or (self.is_word("not") and self.is_word("in", 1)):
            return self.membership(self.expression_only(first))
        if self.is_word("is") and isinstance(first, ColumnValue):
            return null_test(self, first)
        if self.accept("within"):
            tolerance = self.number("the allowed difference")
            self.expect("of", "after the allowed difference")
            value, aim = self.expression_only(first), self.expression_only(self.sum())
            return Compare("=", value, aim, tolerance, at=first.at)
        return self.chain(first)

    def membership(self, value: Expression) -> Condition:
        negated = self.accept("not")
        self.expect("in", "before the list")
        self.expect("{", "to open the list")
        options = [self.constant()]
        while self.accept(","):
            options.append(self.constant())
        self.expect("}", "to close the list")
        found = Membership(value, tuple(options), at=value.at)
        return found if negated is None else Not(found, at=negated.at)

    def chain(self, first: Node) -> Node:
        links: list[Condition] = []
        left = first
        while (sign := self.accept(*_COMPARISONS)) is not None:
            right = self.sum()
            links.append(self.link(sign, self.expression_only(left), self.expression_only(right)))
            left = right
        if not links:
            return first
        return links[0] if len(links) == 1 else All(tuple(links), at=first.at)

    def link(self, sign: Token, left: Expression, right: Expression) -> Compare:
        tolerance = Fraction(0)
        if self.is_word("within"):
            if sign.text != "=":
                raise self.wrong("'within' goes with '='")
            self.take()
            tolerance = self.number("the allowed difference")
        return Compare(sign.text, left, right, tolerance, at=sign.at)

    # ---- expressions -----------------------------------------------------------------------------------------------

    def sum(self) -> Node:
        left = self.product()
        while (sign := self.accept("+", "-")) is not None:
            self.operation(sign.at)
            right = self.expression_only(self.product())
            left = Arithmetic(sign.text, self.expression_only(left), right, at=sign.at)
        return left

    def product(self) -> Node:
        left = self.factor()
        while (sign := self.accept("*", "/", "%")) is not None:
            self.operation(sign.at)
            right = self.expression_only(self.factor())
            if sign.text == "%":
                if constant_value(right) in (None, 0):
                    raise self.wrong("a divisor is a constant other than 0", right.at)
                left = Function("mod", (self.expression_only(left), right), at=sign.at)
                continue
            if sign.text == "/" and constant_value(right) in (None, 0):
                raise self.wrong("a divisor is a constant other than 0", right.at)
            left = Arithmetic(sign.text, self.expression_only(left), right, at=sign.at)
        return left

    def factor(self) -> Node:
        token = self.token
        if self.accept("-"):
            with self.deeper(token.at):
                return Negative(self.expression_only(self.factor()), at=token.at)
        if self.accept("("):
            with self.deeper(token.at):
                inner = self.condition()
            self.expect(")", "to close the parenthesis")
            return inner
        if token.kind in ("number", "text", "date"):
            return self.constant()
        if token.kind == "name" and self.is_word("(", 1):
            return self.call()
        column = self.column()
        return self.cell(column) if self.accept("[") else column

    def cell(self, column: ColumnValue) -> Cell:
        record = self.whole("the number of the record, from 1", least=1)
        self.expect("]", "after the number of the record")
        return Cell(column, record, at=column.at)

    def call(self) -> Node:
        token = self.token
        self.next += 2
        if token.text == "match":
            return self.match(token.at)
        if token.text in AGGREGATES:
            with self.deeper(token.at):
                return self.aggregate(token)
        if token.text in CALLS:
            with self.deeper(token.at):
                return CALLS[token.text](self, token)
        known = ", ".join((*AGGREGATES, *CALLS, "match", "unique", "same_multiset", "histogram", "at_least", "at_most"))
        raise self.wrong(f"'{token.text}' is no function", token.at, hint=f"known: {known}")

    def match(self, at: int) -> Match:
        column = self.column()
        self.expect(",", "before the pattern")
        token = self.token
        if token.kind != "text":
            raise self.wrong("expected the pattern between quotes")
        self.take()
        if error := pattern_problem(token.text):
            what, hint, at = error
            raise self.wrong(what, token.at + 1 + at, hint=hint)
        self.expect(")", "after the pattern")
        return Match(column, token.text, at=at)

    def aggregate(self, token: Token) -> Aggregate:
        argument: Expression | None = None
        where: Condition | None = None
        if not self.is_word(")") and not self.is_word("where") and not self.is_word("by"):
            inner = self.condition()
            if isinstance(inner, Condition):
                if token.text != "count":
                    raise self.wrong("only 'count' takes a condition; elsewhere put it after 'where'", inner.at)
                where = inner
            else:
                argument = self.expression_only(inner)
        elif token.text != "count":
            raise self.wrong(f"'{token.text}' needs a column")
        share = self.share() if token.text == "quantile" else Fraction(1, 2)
        word = self.accept("where")
        if word is not None:
            if where is not None:
                raise self.wrong("the condition is given twice", word.at)
            where = self.condition_only(self.condition())
        by = self.names() if self.accept("by") else ()
        self.expect(")", f"to close '{token.text}('")
        return Aggregate(token.text, argument, where, by, share, at=token.at)

    def share(self) -> Fraction:
        """The share of records that a quantile is not below."""
        self.expect(",", "before the share")
        at, share = self.token.at, self.number("the share of records, between 0 and 1")
        if not 0 < share <= 1:
            raise self.wrong("the share of a quantile lies between 0 and 1", at)
        return share

    # ---- leaves ----------------------------------------------------------------------------------------------------

    def column(self) -> ColumnValue:
        at = self.token.at
        parts = [self.name("a column")]
        while self.accept("."):
            parts.append(self.name("a column after the dot"))
        original = len(parts) > 1 and parts[0] == "original"
        parts = parts[1:] if original else parts
        if len(parts) > 3:
            raise self.wrong("a column has at most a schema and a table before its name", at)
        return ColumnValue(parts[-1], ".".join(parts[:-1]) or None, original, at=at)

    def name(self, what: str) -> str:
        token = self.token
        if token.kind == "quoted" or (token.kind == "name" and token.text not in _KEYWORDS):
            return self.take().text
        found = "the end" if token.kind == "end" else f"'{token.text}'"
        hint = f"write `{token.text}` for a column of that name" if token.text in _KEYWORDS else ""
        raise self.wrong(f"expected {what}, found {found}", hint=hint)

    def constant(self) -> Expression:
        token = self.token
        if token.kind == "text":
            self.take()
            return TextConstant(token.text, at=token.at)
        if token.kind == "date":
            self.take()
            try:
                return Date(date.fromisoformat(token.text), at=token.at)
            except ValueError:
                raise self.wrong("there is no such day", token.at) from None
        return Number(self.number("a constant"), at=token.at)

    def number(self, what: str) -> Fraction:
        sign = -1 if self.accept("-") else 1
        token = self.token
        if token.kind != "number":
            raise self.wrong(f"expected {what}")
        value = exact_number(self.take().text)
        if value is None:
            raise self.wrong("the number is too long", token.at)
        return sign * value

    def whole(self, what: str, *, least: int) -> int:
        at = self.token.at
        value = self.number(what)
        if value.denominator != 1 or value < least:
            raise self.wrong(f"expected {what}: a whole number of at least {least}", at)
        return int(value)

    # ---- kinds -----------------------------------------------------------------------------------------------------

    def condition_only(self, node: Node) -> Condition:
        if not isinstance(node, Condition):
            raise self.wrong("this is a value, not a condition", node.at, hint="compare it with something")
        return node

    def expression_only(self, node: Node) -> Expression:
        if not isinstance(node, Expression):
            raise self.wrong("this is a condition, not a value", node.at)
        return node


def constant_value(node: Expression) -> Fraction | None:
    """The value of an expression without columns, or None."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Negative):
        inner = constant_value(node.value)
        return None if inner is None else -inner
    if isinstance(node, Arithmetic):
        left, right = constant_value(node.left), constant_value(node.right)
        return None if left is None or right is None else _apply(node.operator, left, right)
    return None


def _apply(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left / right


# Scan
# ----


_WORD = re.compile(
    r"""(?P<blank>\s+)
      | (?P<date>\d{4}-\d{2}-\d{2}(?![\w-]))
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(?:-[^\W\d]\w*)*)
      | (?P<quoted>`[^`]+`)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign><=|>=|!=|<>|==|≤|≥|≠|[-−+*×/÷%=<>(){}\[\],.])""",
    re.VERBOSE,
)
_SAME = {"−": "-", "×": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
_ESCAPE = re.compile(r"\\([\"'])")


class RuleError(PolicyError):
    """A rule that cannot be understood; `position` is the offending character, counted from 0."""

    def __init__(self, what: str, text: str, position: int, *, hint: str = "") -> None:
        marked = f"{text[:position]}⟨{text[position : position + 1] or 'end'}⟩{text[position + 1 :]}"
        super().__init__(what, where=f"character {position + 1} of the rule: {marked}", hint=hint)
        self.rule = text
        self.position = position

    def pointer(self) -> str:
        """The rule with a caret under the offending character."""
        return f"{self.rule}\n{' ' * self.position}^"


def scan(text: str, columns: Collection[str] | None = None) -> list[Token]:
    """All words of `text`."""

    def unknown(at: int) -> RuleError:
        hint = "close the quotes" if text[at] in "\"'`" else 'quote texts with " and odd column names with `'
        return RuleError(f"'{text[at]}' has no meaning here", text, at, hint=hint)

    return [word for token in tokens(text, _WORD, unknown) for word in _words(token, columns)]


def _words(token: Token, columns: Collection[str] | None) -> list[Token]:
    if token.kind == "quoted":
        return [Token(token.kind, token.text[1:-1], token.at)]
    if token.kind == "text":
        return [Token(token.kind, _ESCAPE.sub(r"\1", token.text[1:-1]), token.at)]
    if token.kind == "name" and "-" in token.text and columns is not None:
        return _split(token.text, token.at, columns)
    return [Token(token.kind, _SAME.get(token.text, token.text), token.at)]


def _split(word: str, at: int, columns: Collection[str]) -> list[Token]:
    """The longest column first, then the rest: `education-num-age` is `education-num` minus `age`."""
    found: list[Token] = []
    parts = word.split("-")
    while parts:
        size = next((size for size in range(len(parts), 1, -1) if "-".join(parts[:size]) in columns), 1)
        head = "-".join(parts[:size])
        found.append(Token("name", head, at))
        parts, at = parts[size:], at + len(head)
        if parts:
            found.append(Token("sign", "-", at))
            at += 1
    return found


# Calls
# -----


_TEXTS = {"starts_with": "{0}.*", "ends_with": ".*{0}", "contains": ".*{0}.*"}


def increasing(reader: RuleReader, at: int) -> Increasing:
    """A value that never falls, in an order, inside groups."""
    column, (by, along) = reader.column(), order(reader)
    return Increasing(column, by, along, at=at)


def order(reader: RuleReader) -> tuple[tuple[ColumnValue, ...], ColumnValue]:
    """Groups, and the column that says in which order their records stand."""
    by = reader.names() if reader.accept("by") else ()
    reader.expect("along", "before the column that orders the records")
    return by, reader.column()


def no_overlap(reader: RuleReader, at: int) -> NoOverlap:
    """Intervals of a group one after the other."""
    start = reader.column()
    reader.expect(",", "between start and end")
    end = reader.column()
    return NoOverlap(start, end, reader.names() if reader.accept("by") else (), at=at)


def histogram(reader: RuleReader, at: int) -> Histogram:
    """Bins of one width, in groups."""
    column = reader.column()
    reader.expect(",", "before the width of the bins")
    place, width = reader.token.at, reader.number("the width of the bins")
    if width <= 0:
        raise reader.wrong("a bin has a width above 0", place)
    return Histogram(column, width, reader.names() if reader.accept("by") else (), at=at)


def null_test(reader: RuleReader, column: ColumnValue) -> Condition:
    """`is null` and `is not null`."""
    reader.expect("is", "before null")
    negated = reader.accept("not")
    reader.expect("null", "after 'is'")
    found = IsNull(column, at=column.at)
    return found if negated is None else Not(found, at=negated.at)


def function(reader: RuleReader, token: Token) -> Function:
    """A function of one record."""
    found = [reader.expression_only(reader.sum())]
    while reader.accept(","):
        found.append(reader.expression_only(reader.sum()))
    reader.expect(")", f"to close '{token.text}('")
    if len(found) != len(FUNCTIONS[token.text].arguments):
        raise reader.wrong(f"'{token.text}' takes {len(FUNCTIONS[token.text].arguments)} value(s)", token.at)
    return Function(token.text, tuple(found), at=token.at)


def running(reader: RuleReader, token: Token) -> Running:
    """A sum up to each record."""
    argument, (by, along) = reader.expression_only(reader.sum()), order(reader)
    reader.expect(")", "to close 'running('")
    return Running(argument, by, along, at=token.at)


def valid(reader: RuleReader, token: Token) -> Valid:
    """A number with check digits."""
    system = reader.name("a numbering system")
    if system not in NUMBERS:
        raise reader.wrong(f"there is no numbering system '{system}'", token.at, hint="known: " + ", ".join(NUMBERS))
    reader.expect(",", "before the column")
    column = reader.column()
    reader.expect(")", "to close 'valid('")
    return Valid(system, column, at=token.at)


def own(reader: RuleReader, token: Token) -> Own:
    """A function of the data holder's own code."""
    name = reader.name("the name of a function")
    reader.expect(",", "before the columns")
    found = Own(name, reader.names(), at=token.at)
    reader.expect(")", "to close 'own('")
    return found


def correlation(reader: RuleReader, token: Token) -> Aggregate:
    """Of two columns."""
    one = reader.column()
    reader.expect(",", "between the columns")
    found = Function("pair", (one, reader.column()), at=token.at)
    reader.expect(")", "to close 'correlation('")
    return Aggregate("correlation", found, at=token.at)


def text_form(reader: RuleReader, token: Token) -> Match:
    """How a text begins or ends, or what it contains."""
    column = reader.column()
    reader.expect(",", "before the text")
    text = reader.token
    if text.kind != "text":
        raise reader.wrong("expected a text between quotes")
    reader.take()
    reader.expect(")", f"to close '{token.text}('")
    return Match(column, _TEXTS[token.text].format(re.escape(text.text)), at=token.at)


CALLS: dict[str, Callable[[RuleReader, Token], Node]] = {
    "running": running,
    "valid": valid,
    "own": own,
    "correlation": correlation,
    **dict.fromkeys(_TEXTS, text_form),
    **dict.fromkeys(FUNCTIONS, function),
}
"""What may be called inside a condition, besides aggregates and `match`."""

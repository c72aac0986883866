"""Kernels in C++: the loops of the ``kernels`` folders, translated for a compiler that is there before the program runs.

A kernel is a plain function over arrays, records and named tuples. Types are not worked out here: every function becomes a template
and every variable takes the type of its first value, so the C++ compiler infers them from the signatures of the functions that are
called from outside (``signatures.txt``). What a kernel may use is what this file knows; anything else is `Untranslatable`, and a
module that contains it is left to the Python compiler.

Invariants
    I1  A variable is declared in the innermost block that sees all of its uses; where a block always stores before it reads, in
        that block alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "power", ast.BitAnd: "band", ast.BitOr: "bor", ast.BitXor: "bxor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
UNARY = {ast.USub: "neg", ast.Not: "!truth", ast.Invert: "inv"}
BUILTINS = {"len": "len", "min": "mn", "max": "mx", "abs": "absolute", "int": "cast<i64>", "float": "cast<double>", "bool": "truth"}
OF_NUMPY = {
    "sqrt": "f_sqrt", "floor": "f_floor", "ceil": "f_ceil", "log2": "f_log2", "log": "f_log", "exp": "f_exp", "argsort": "argsort",
    "partition": "partition", "concatenate": "concatenate", "where": "where", "arange": "arange",
}  # fmt: skip
TYPES = {
    "int64": "int64_t", "int32": "int32_t", "uint64": "uint64_t", "uint32": "uint32_t", "float64": "double", "float32": "float",
    "uint8": "uint8_t", "bool_": "bool", "bool": "bool", "int": "int64_t", "float": "double",
}  # fmt: skip
RETURNED = {
    "int": "i64",
    "Whole": "i64",
    "float": "double",
    "bool": "bool",
    "np.uint64": "u64",
    "np.uint32": "u32",
    "np.int64": "i64",
}
METHODS = {"copy", "sum", "mean", "max", "any", "sort"}


class Untranslatable(Exception):
    """A kernel uses something that this file does not know."""


@dataclass
class Module:
    """One file of kernels: what it defines and where what it imports is defined."""

    name: str
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    tuples: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, int | float] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def space(self) -> str:
        return "k_" + self.name.replace(".", "_")


def read(path: Path, name: str) -> Module:
    """The parts of a file of kernels that are compiled."""
    module = Module(name, ast.parse(path.read_text(encoding="utf-8")))
    wraps = {"jit"}
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            module.imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
            wraps |= {alias.asname or alias.name for alias in node.names if alias.name == "in_place"}
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
            module.tuples[node.name] = [
                one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            ]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "jit":
            wraps |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Assign):
            module.numbers |= _numbers(node)
        elif isinstance(node, ast.FunctionDef) and any(_decorator(one) in wraps for one in node.decorator_list):
            module.functions[node.name] = node
    return module


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _numbers(node: ast.Assign) -> dict[str, int | float]:
    """Constants of a module: numbers, sums and shifts of them, and tuples of these."""
    target = node.targets[0]
    names, values = ([target], [node.value])
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        names, values = list(target.elts), list(node.value.elts)
    found = {}
    for name, value in zip(names, values, strict=False):
        number = constant(value)
        if isinstance(name, ast.Name) and number is not None:
            found[name.id] = number
    return found


def constant(node: ast.expr) -> int | float | None:
    """The number that an expression of numbers alone comes to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.int64":
        return constant(node.args[0])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = constant(node.left), constant(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.LShift) and isinstance(left, int) and isinstance(right, int):
            return left << right
        if isinstance(node.op, ast.Pow):
            power: int | float = left**right
            return power
        if isinstance(node.op, ast.Sub):
            return left - right
    return None


def number(value: int | float) -> str:
    """A number as C++ writes it."""
    if isinstance(value, float):
        return value.hex()
    if value >= 1 << 63:
        return f"u64({value}ULL)"
    return f"i64({value}LL)" if value > -(1 << 63) else "INT64_MIN"


# ---- where variables live -------------------------------------------------------------------------------------------


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    return [block for name in ("body", "orelse") if (block := getattr(statement, name, None))]


def _heads(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are no blocks."""
    if isinstance(statement, ast.For):
        yield statement.iter
    elif isinstance(statement, ast.If | ast.While):
        yield statement.test
    else:
        yield statement


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def _touches(statement: ast.stmt, name: str) -> bool:
    return _reads(statement, name)


def names_stored(target: ast.expr) -> set[str]:
    """The variables that a target gives a value to."""
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, ast.Tuple):
        return set().union(*(names_stored(one) for one in target.elts))
    return set()


def _stores(statement: ast.stmt, name: str) -> bool:
    """Whether the statement itself gives the variable its value without looking at it."""
    if not isinstance(statement, ast.Assign) or _reads(statement.value, name):
        return False
    return any(name in names_stored(target) for target in statement.targets)


def _own_scope(statement: ast.stmt, name: str) -> bool:
    """Whether every block below stores before it reads, and no head reads (I1)."""
    if isinstance(statement, ast.For) and name in names_stored(statement.target):
        return not _reads(statement.iter, name)
    if not isinstance(statement, ast.For | ast.If | ast.While) or any(_reads(head, name) for head in _heads(statement)):
        return False
    return all(_begins_anew(block, name) for block in _blocks(statement))


def _begins_anew(block: Sequence[ast.stmt], name: str) -> bool:
    """Whether a block, wherever it looks at the variable, has given it a value before."""
    for statement in (one for one in block if _touches(one, name)):
        if _stores(statement, name) or _stores_either_way(statement, name):
            return True
        if not _own_scope(statement, name):
            return False
    return True


def _stores_either_way(statement: ast.stmt, name: str) -> bool:
    """Whether a choice gives the variable a value in each of its branches, before it is looked at."""
    if not isinstance(statement, ast.If) or not statement.orelse or _reads(statement.test, name):
        return False
    return all(
        _begins_anew(block, name) and any(_stores(one, name) or _stores_either_way(one, name) for one in block)
        for block in (statement.body, statement.orelse)
    )


class Homes:
    """For every block the variables that are declared by a statement of it, and those declared before one."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.here: dict[int, set[str]] = {}
        self.before: dict[int, list[tuple[str, ast.stmt]]] = {}
        for name in sorted(assigned(function) - _parameters(function)):
            self._settle(function.body, name)

    def _settle(self, block: Sequence[ast.stmt], name: str) -> None:
        touching = [statement for statement in block if _touches(statement, name)]
        if touching and not _begins_anew(block, name):
            self.before.setdefault(id(touching[0]), []).append((name, touching[0]))
            return
        for statement in touching:
            if _stores(statement, name) or (isinstance(statement, ast.For) and name in names_stored(statement.target)):
                self.here.setdefault(id(statement), set()).add(name)
                if _stores(statement, name):
                    return
            elif _stores_either_way(statement, name):
                self.before.setdefault(id(statement), []).append((name, statement))
                return
            else:
                for inner in _blocks(statement):
                    self._settle(inner, name)


def _parameters(function: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in function.args.args}


def assigned(function: ast.FunctionDef) -> set[str]:
    """The variables that a function gives a value to."""
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

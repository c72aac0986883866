"""Kernels in C++: the loops of the ``kernels`` folders, translated for a compiler that is there before the program runs.

A kernel is a plain function over arrays, records and named tuples. Types are not worked out here: every function becomes a template
and every variable takes the type of its first value, so the C++ compiler infers them from the signatures of the functions that are
called from outside (``signatures.txt``). What a kernel may use is what this file knows; anything else is `Untranslatable`, and a
module that contains it is left to the Python compiler.

Invariants
    I1  A variable is declared in the innermost block that sees all of its uses; where a block always stores before it reads, in
        that block alone.


Cpp
---
One kernel function as a C++ template: statement by statement, expression by expression.

Invariants
    I1  Names cannot meet C++ words or the names of `loops.hpp`: variables are ``v_``, members ``m_``, functions ``f_``.
    I2  What Python evaluates before it stores (the right side of ``a, b = b, a``) is kept in temporaries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
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


# Cpp
# ---


_STRAIGHT = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)


def _straight(function: ast.FunctionDef) -> bool:
    """Whether a function is a few sums one after the other: no loops, no choices."""
    return all(isinstance(one, _STRAIGHT) for one in function.body)


class Writer:
    """Writes the functions of one module; `modules` are all modules of kernels by name."""

    def __init__(self, module: Module, modules: Mapping[str, Module]) -> None:
        self.module, self.modules = module, modules
        self.temporaries = 0

    # ---- functions

    def head(self, function: ast.FunctionDef) -> str:
        kinds = [f"T{place}" for place in range(len(function.args.args))]
        stored = assigned(function)
        given = [
            f"const {kind}& {'p_' if argument.arg in stored else 'v_'}{argument.arg}"
            for kind, argument in zip(kinds, function.args.args, strict=True)
        ]
        template = "template <" + ", ".join(f"class {kind}" for kind in kinds) + "> " if kinds else ""
        where = (
            "ALWAYS" if _straight(function) else "static"
        )  # the compiler calls what is written in many places, and a call is dear
        return f"{template}{where} {self.returned(function)} f_{function.name}({', '.join(given)})"

    def returned(self, function: ast.FunctionDef) -> str:
        note = function.returns
        if note is None:
            raise Untranslatable(f"{self.module.name}: '{function.name}' does not say what it returns")
        if ast.unparse(note) == "None":
            return "void"
        if ast.unparse(note) in RETURNED:
            return RETURNED[ast.unparse(note)]
        if isinstance(note, ast.Subscript) and ast.unparse(note.value) == "tuple" and isinstance(note.slice, ast.Tuple):
            parts = [RETURNED.get(ast.unparse(part)) for part in note.slice.elts]
            if all(parts):
                return "std::tuple<" + ", ".join(str(part) for part in parts) + ">"
        return "auto"

    def function(self, function: ast.FunctionDef) -> str:
        self.homes, self.locals = Homes(function), assigned(function) | {one.arg for one in function.args.args}
        self.kind = self.returned(function)
        stored = assigned(function)
        copies = [f"auto v_{one.arg} = val(p_{one.arg});" for one in function.args.args if one.arg in stored]
        return self.head(function) + " {\n" + "\n".join([*copies, *self.block(function.body)]) + "\n}\n"

    def block(self, body: Sequence[ast.stmt]) -> list[str]:
        lines: list[str] = []
        for statement in body:
            for name, holder in self.homes.before.get(id(statement), []):
                lines.append(f"{self.kind_of(name, holder)} v_{name}{{}};")
            lines += self.statement(statement)
        return lines

    def kind_of(self, name: str, holder: ast.stmt) -> str:
        """The type of a variable whose first value is stored further inside."""
        for node in ast.walk(holder):
            if isinstance(node, ast.For) and name in names_stored(node.target):
                return "i64"
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        return f"decltype(val({self.value(node.value)}))"
                    if isinstance(target, ast.Tuple) and name in names_stored(target):
                        place = [isinstance(one, ast.Name) and one.id == name for one in target.elts].index(True)
                        if isinstance(node.value, ast.Tuple):
                            return f"decltype(val({self.value(node.value.elts[place])}))"
                        return f"decltype(val(std::get<{place}>({self.value(node.value)})))"
        raise Untranslatable(f"{self.module.name}: where does '{name}' get its value?")

    # ---- statements

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(value=value):
                return [self.value(value) + ";"]
            case ast.Break():
                return ["break;"]
            case ast.Continue():
                return ["continue;"]
            case ast.Return(value=value):
                return [self.give_back(value)]
            case ast.If(test=test, body=body, orelse=orelse):
                rest = [" else {", *self.block(orelse), "}"] if orelse else []
                return [f"if ({self.truth(test)}) {{", *self.block(body), "}", *rest]
            case ast.While(test=test, body=body, orelse=[]):
                return [f"while ({self.truth(test)}) {{", *self.block(body), "}"]
            case ast.For(orelse=[]):
                return self.loop(node)
            case ast.Assign():
                return self.assignment(node)
            case ast.AugAssign(target=target, op=op, value=value):
                return self.update(target, BINARY[type(op)], value)
        raise Untranslatable(f"{self.module.name}:{node.lineno}: {type(node).__name__}")

    def give_back(self, value: ast.expr | None) -> str:
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return "return;"
        if self.kind in ("auto", "void"):
            return f"return val({self.value(value)});"
        return f"return {self.kind}({self.value(value)});"

    def loop(self, node: ast.For) -> list[str]:
        if not isinstance(node.target, ast.Name):
            raise Untranslatable(f"{self.module.name}:{node.lineno}: a loop over several names")
        self.temporaries += 1
        counter, name = f"i_{self.temporaries}", node.target.id
        anew = name in self.homes.here.get(id(node), set())
        take = f"auto v_{name} = val({{}});" if anew else f"assign(v_{name}, {{}});"
        body = self.block(node.body)
        if isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range":
            given = [f"i64({self.value(one)})" for one in node.iter.args]
            first, end, step = ["i64(0)", *given, "i64(1)"] if len(given) == 1 else [*given, "i64(1)"][:3]
            down = step.startswith("i64(neg(") or step == "i64(i64(-1LL))"
            sign, ends = (">" if down else "<"), f"const i64 e_{counter} = {end}, s_{counter} = {step};"
            head = f"for (i64 {counter} = {first}; {counter} {sign} e_{counter}; {counter} += s_{counter}) {{"
            return ["{", ends, head, take.format(counter), *body, "}", "}"]
        if isinstance(node.iter, ast.Tuple):
            values = ", ".join(f"i64({self.value(one)})" for one in node.iter.elts)
            return [
                "{",
                f"const i64 a_{counter}[] = {{{values}}};",
                f"for (const i64 {counter} : a_{counter}) {{",
                take.format(counter),
                *body,
                "}",
                "}",
            ]
        kept = f"const auto a_{counter} = val({self.value(node.iter)});"
        head = f"for (i64 {counter} = 0; {counter} < len(a_{counter}); {counter}++) {{"
        return ["{", kept, head, take.format(f"at(a_{counter}, {counter})"), *body, "}", "}"]

    def assignment(self, node: ast.Assign) -> list[str]:
        fresh = self.homes.here.get(id(node), set())
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return [self.put(node.targets[0], self.value(node.value), fresh)]
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
            return [self.put(node.targets[0], self.value(node.value), fresh)]
        kept, lines = [], []
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            targets = node.targets[0].elts
            for value in node.value.elts:
                kept.append(self.temporary())
                lines.append(f"const auto {kept[-1]} = val({self.value(value)});")  # I2
        else:
            whole = self.temporary()
            lines.append(f"const auto {whole} = val({self.value(node.value)});")
            targets = node.targets
            kept = [whole] * len(targets)
            if len(targets) == 1 and isinstance(targets[0], ast.Tuple):
                targets = targets[0].elts
                kept = [f"std::get<{place}>({whole})" for place in range(len(targets))]
                if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                    kept = [f"i64({self.value(node.value)}[{place}])" for place in range(len(targets))]
                    lines = []
        return lines + [self.put(target, value, fresh) for target, value in zip(targets, kept, strict=True)]

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def put(self, target: ast.expr, value: str, fresh: set[str]) -> str:
        match target:
            case ast.Name(id=name):
                if name in fresh:
                    fresh.discard(name)
                    return f"auto v_{name} = val({value}); (void)v_{name};"
                return f"assign(v_{name}, {value});"
            case ast.Subscript(value=array, slice=index):
                return f"setitem({self.value(array)}, {value}, {self.index(index)});"
            case ast.Attribute(value=holder, attr=attr):
                return f"{self.value(holder)}->m_{attr} = i64({value});"
        raise Untranslatable(f"{self.module.name}:{target.lineno}: a target of this kind")

    def update(self, target: ast.expr, operation: str, value: ast.expr) -> list[str]:
        given = self.value(value)
        match target:
            case ast.Name(id=name):
                return [f"update([](const auto& x, const auto& y) {{ return {operation}(x, y); }}, v_{name}, {given});"]
            case ast.Subscript(value=array, slice=index):
                where = self.index(index)
                return [f"setitem({self.value(array)}, {operation}(at({self.value(array)}, {where}), {given}), {where});"]
            case ast.Attribute(value=holder, attr=attr):
                return [f"{self.value(holder)}->m_{attr} = i64({operation}({self.value(holder)}->m_{attr}, {given}));"]
        raise Untranslatable(f"{self.module.name}:{target.lineno}: a target of this kind")

    # ---- expressions

    def truth(self, node: ast.expr) -> str:
        return f"truth({self.value(node)})"

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool() as flag):
                return "true" if flag else "false"
            case ast.Constant(value=int() | float() as given):
                return number(given)
            case ast.Name(id=name):
                return self.name(name)
            case ast.BinOp(op=op, left=left, right=right):
                whole = constant(node)
                return number(whole) if whole is not None else f"{BINARY[type(op)]}({self.value(left)}, {self.value(right)})"
            case ast.UnaryOp(op=op, operand=operand):
                whole = constant(node)
                return number(whole) if whole is not None else f"{UNARY[type(op)]}({self.value(operand)})"
            case ast.BoolOp(op=op, values=values):
                return "(" + (" && " if isinstance(op, ast.And) else " || ").join(self.truth(one) for one in values) + ")"
            case ast.Compare(left=left, ops=ops, comparators=rights):
                sides = [left, *rights]
                pairs = [
                    f"{COMPARISONS[type(op)]}({self.value(one)}, {self.value(two)})"
                    for op, one, two in zip(ops, sides, sides[1:], strict=False)
                ]
                return pairs[0] if len(pairs) == 1 else "(" + " && ".join(pairs) + ")"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.truth(test)} ? {self.value(body)} : {self.value(orelse)})"
            case ast.Tuple(elts=elts):
                return "tup(" + ", ".join(self.value(one) for one in elts) + ")"
            case ast.Subscript(value=array, slice=index):
                return f"at({self.value(array)}, {self.index(index)})"
            case ast.Attribute(value=ast.Name(id="np"), attr="inf"):
                return "double(INFINITY)"
            case ast.Attribute(value=holder, attr=attr):
                return f"{self.value(holder)}->m_{attr}"
            case ast.Call():
                return self.call(node)
        raise Untranslatable(f"{self.module.name}:{node.lineno}: {ast.unparse(node)}")

    def name(self, name: str) -> str:
        if name in self.locals:
            return f"v_{name}"  # I1
        home, own = self.home(name)
        if own in home.numbers:
            return number(home.numbers[own])
        raise Untranslatable(f"{self.module.name}: '{name}' is no number")

    def home(self, name: str) -> tuple[Module, str]:
        """The module that defines a name, and its name there."""
        place, own = self.module.imported.get(name, (self.module.name, name))
        if place not in self.modules:
            raise Untranslatable(f"{self.module.name}: '{name}' comes from {place}")
        return self.modules[place], own

    def index(self, node: ast.expr) -> str:
        return ", ".join(self.one_index(one) for one in (node.elts if isinstance(node, ast.Tuple) else [node]))

    def one_index(self, node: ast.expr) -> str:
        match node:
            case ast.Slice(lower=None, upper=None, step=None):
                return "All{}"
            case ast.Slice(lower=None, upper=None, step=ast.UnaryOp()):
                return "Reverse{}"
            case ast.Slice(lower=lower, upper=None, step=None) if lower is not None:
                return f"SpanFrom{{i64({self.value(lower)})}}"
            case ast.Slice(lower=lower, upper=upper, step=None) if upper is not None:
                return f"Span{{i64({self.value(lower) if lower else '0'}), i64({self.value(upper)})}}"
            case ast.Constant(value=int() as given) if given >= 0:
                return f"C<{given}>{{}}"
        return self.value(node)

    # ---- calls

    def call(self, node: ast.Call) -> str:
        called = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "np":
            return self.numpy(node, node.func.attr)
        if isinstance(node.func, ast.Attribute):
            return self.method(node, node.func)
        given = [self.value(one) for one in node.args]
        if called == "slice":
            return f"Span{{i64({given[0]}), i64({given[1]})}}"
        if called in BUILTINS and called not in self.module.functions and called not in self.module.imported:
            return f"{BUILTINS[called]}({', '.join(given)})"
        home, own = self.home(called)
        if own in home.tuples:
            return f"{home.space}::make_{own}({', '.join(given)})"
        if own in home.functions:
            return f"{home.space}::f_{own}({', '.join(given)})"
        raise Untranslatable(f"{self.module.name}:{node.lineno}: {called}")

    def method(self, node: ast.Call, function: ast.Attribute) -> str:
        holder = self.value(function.value)
        if function.attr == "astype":
            return f"m_astype<{self.kind_named(node.args[0])}>({holder})"
        if function.attr in METHODS and not node.args and not node.keywords:
            return f"m_{function.attr}({holder})"
        raise Untranslatable(f"{self.module.name}:{node.lineno}: .{function.attr}")

    def kind_named(self, node: ast.expr) -> str:
        name = ast.unparse(node).removeprefix("np.")
        if name not in TYPES:
            raise Untranslatable(f"{self.module.name}:{node.lineno}: arrays of {name}")
        return TYPES[name]

    def numpy(self, node: ast.Call, name: str) -> str:
        named = {word.arg: word.value for word in node.keywords}
        if name in TYPES:
            inner = self.value(node.args[0])
            return f"cast<{ {'int32': 'int64_t'}.get(name, TYPES[name]) }>({f'int32_t({inner})' if name == 'int32' else inner})"
        if name in ("zeros", "empty", "ones", "full"):
            values = 2 if name == "full" else 1
            rest = node.args[values:]
            kind = rest[0] if rest else named.get("dtype")
            shape = self.value(node.args[0])
            text = self.kind_named(kind) if kind is not None else "double"
            return f"{name}<{text}>({shape}{', ' + self.value(node.args[1]) if values == 2 else ''})"
        if name in OF_NUMPY:
            return f"{OF_NUMPY[name]}({', '.join(self.value(one) for one in node.args)})"
        raise Untranslatable(f"{self.module.name}:{node.lineno}: np.{name}")


def tuples(module: Module) -> list[str]:
    """The named tuples of a module as structures whose members have whatever type they are given."""
    lines = []
    for name, fields in module.tuples.items():
        kinds = [f"T{place}" for place in range(len(fields))]
        template = "template <" + ", ".join(f"class {kind}" for kind in kinds) + ">"
        members = " ".join(f"{kind} m_{one};" for kind, one in zip(kinds, fields, strict=True))
        made = f"{name}<{', '.join(kinds)}>"
        lines.append(f"{template} struct {name} {{ {members} const {name}* operator->() const {{ return this; }} }};")
        given = ", ".join(f"const {kind}& a{place}" for place, kind in enumerate(kinds))
        values = ", ".join(f"a{place}" for place in range(len(kinds)))
        lines.append(f"{template} ALWAYS {made} make_{name}({given}) {{ return {made}{{{values}}}; }}")
    return lines

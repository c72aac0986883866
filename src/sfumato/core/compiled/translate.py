"""Translate the kernels of one module to an object file: ``python -m sfumato.core.compiled.translate MODULE TARGET``.

The only file that calls numba's compiler ahead of time. `build` starts it and says for which processor.

An entry takes two addresses: the words of its arguments (`native.CallWords`) and memory for the words of its result. It
follows numba's calling convention: ``status entry(result, exception, arguments, memory)``.

Invariants
    I1  Only public calls of numba and llvmlite are used, except for what `build.NUMBA` pins: the calling convention,
        the layout of an array (`_load_array`), the header of counted memory (``runtime.c``).
    I2  Everything but the entries is internal to the object file, and counting references may be inlined. LLVM then
        drops the words of named tuples that nobody reads, and all counting of arrays that come from outside: two to
        four times faster.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from sfumato.core.compiled import Loop
from sfumato.core.compiled.native import KINDS, Signature, signatures, symbol

# mypy: disable-error-code="untyped-decorator"
# (numba's decorators have no types)

_TOKEN = re.compile(r"\{[^}]*\}\[\d\]|[\w.:]+\(|[\w]+\[\d\]|[\w]+|[()]")
_NUMBERS = {"i": types.int64, "u": types.uint64, "f": types.float64, "b": types.boolean}
_WORDS = types.CPointer(types.int64)
_CODES = {from_dtype(np.dtype(kind)): code for code, kind in enumerate(KINDS)}


def object_file(entries: list[Signature]) -> bytes:
    """Return the object file with these entries."""
    whole = llvm.parse_assembly("")
    for entry in entries:
        module, function, written = entry
        whole.link_in(_entry(symbol(entry), getattr(import_module(module), function), argument_types(written)))
    visible = {symbol(entry) for entry in entries}
    for function in whole.functions:
        if not function.is_declaration and function.name not in visible:
            function.linkage = "internal"  # I2
    for constant in whole.global_variables:
        if not constant.is_declaration:
            constant.linkage = "internal"
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=os.environ.get("NUMBA_CPU_NAME", ""), features="", opt=3, reloc="pic", codemodel="default"
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = True
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(whole, passes)
    return bytes(machine.emit_object(whole))


def _compiled(function: Any, options: dict[str, Any]) -> Any:
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


def _entry(name: str, kernel: Loop, arguments: Any) -> Any:
    """Return the LLVM module of an entry with everything that it calls; what others have as well is merged."""
    inner = kernel.linked(_compiled)

    def entry(words: Any, out: Any) -> None:
        store(out, 0, inner(*load(words, arguments)))

    compiled = njit(types.void(_WORDS, _WORDS), no_cpython_wrapper=True, no_cfunc_wrapper=True)(entry)
    (made,) = compiled.overloads.values()
    (text,) = compiled.inspect_llvm().values()
    module = llvm.parse_assembly(re.sub(r"\bnoinline\b", "inlinehint", text))  # I2
    for function in module.functions:
        if function.name == made.fndesc.llvm_func_name:
            function.name, function.linkage = name, "external"
        elif not function.is_declaration:
            function.linkage = "linkonce_odr"
    return module


def argument_types(written: str) -> Any:
    """Return the tuple of numba's types that a line of the list of signatures writes."""
    return types.Tuple(list(_types(iter(_TOKEN.findall(written)))))


def _types(tokens: Iterator[str]) -> Iterator[Any]:
    for token in tokens:
        if token == ")":  # noqa: S105
            return
        elif token == "(":  # noqa: S105
            yield types.Tuple(list(_types(tokens)))
        elif token.endswith("("):
            module, _, name = token[:-1].partition(":")
            yield _named_tuple(getattr(import_module(module), name), list(_types(tokens)))
        elif token in _NUMBERS:
            yield _NUMBERS[token]
        else:
            kind, _, dimensions = token.rpartition("[")
            fields = [(field, np.int64) for field in kind.strip("{}").split()]
            yield types.Array(from_dtype(np.dtype(fields if kind.startswith("{") else kind)), int(dimensions[:-1]), "C")


def _named_tuple(form: type, fields: list[Any]) -> Any:
    """Return the type of a named tuple as numba would find it."""
    alike = len(set(fields)) == 1
    return types.NamedUniTuple(fields[0], len(fields), form) if alike else types.NamedTuple(fields, form)


# Arguments and results as words
# ------------------------------


@intrinsic
def load(context: Any, words: Any, arguments: Any) -> Any:
    """Return the tuple of arguments that the words describe."""
    whole = arguments.instance_type

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        places = iter(range(1 << 30))

        def word() -> Any:
            return builder.load(builder.gep(given[0], [ir.Constant(ir.IntType(64), next(places))]))

        def value(form: Any) -> Any:
            if isinstance(form, types.Array):
                return _load_array(context, builder, form, [word() for _ in range(1 + form.ndim)])
            if isinstance(form, types.BaseTuple):
                return context.make_tuple(builder, form, [value(one) for one in form.types])
            if isinstance(form, types.Float):
                return builder.bitcast(word(), ir.DoubleType())
            return context.cast(builder, word(), types.int64, form)

        return value(whole)

    return whole(words, arguments), generate


def _load_array(context: Any, builder: Any, form: Any, words: list[Any]) -> Any:
    """Return an array that another person owns, in one stretch of memory, from its address and shape (I1)."""
    element = context.get_data_type(form.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(element))
    address, *shape = words
    steps = [size]
    for extent in reversed(shape):
        steps.append(builder.mul(steps[-1], extent))
    count = context.get_constant(types.intp, 1)
    for extent in shape:
        count = builder.mul(count, extent)
    made = context.make_array(form)(context, builder)
    made.data = builder.inttoptr(address, element.as_pointer())
    made.shape, made.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, steps[-2::-1])
    made.itemsize, made.nitems = size, count
    made.meminfo, made.parent = cgutils.get_null_value(made.meminfo.type), cgutils.get_null_value(made.parent.type)
    return made._getvalue()


@intrinsic
def bits(context: Any, number: Any) -> Any:
    """Return the word of a float."""
    return types.int64(types.float64), lambda context, builder, signature, given: builder.bitcast(
        given[0], ir.IntType(64)
    )


@intrinsic
def address(context: Any, array: Any) -> Any:
    """Return where an array begins."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ptrtoint(context.make_array(array)(context, builder, given[0]).data, ir.IntType(64))

    return types.int64(array), generate


malloc = types.ExternalFunction("malloc", types.int64(types.int64))
memcpy = types.ExternalFunction("memcpy", types.int64(types.int64, types.int64, types.int64))


def store(out: Any, at: int, value: Any) -> int:
    """Write the words of a result from `at` on and return the place behind them (compiled only)."""
    raise NotImplementedError


def store_each(out: Any, at: int, values: Any) -> int:
    """Write the words of every element of a tuple (compiled only)."""
    raise NotImplementedError


@overload(store, strict=False)
def _store(out: Any, at: Any, value: Any) -> Callable[..., Any]:
    if isinstance(value, types.Array):
        return _store_array(_CODES[value.dtype], value.ndim)
    if isinstance(value, types.BaseTuple):
        return _store_tuple
    if isinstance(value, types.NoneType):
        return _store_nothing
    if isinstance(value, types.Float):
        return _store_float
    return _store_integer(4 if isinstance(value, types.Boolean) else 1 if value.signed else 2)


def _store_nothing(out: Any, at: int, value: Any) -> int:
    out[at] = 0
    return at + 1


def _store_float(out: Any, at: int, value: Any) -> int:
    out[at], out[at + 1] = 3, bits(np.float64(value))
    return at + 2


def _store_integer(code: int) -> Callable[..., Any]:
    def store(out: Any, at: int, value: Any) -> int:
        out[at], out[at + 1] = code, np.int64(value)
        return at + 2

    return store


def _store_array(code: int, dimensions: int) -> Callable[..., Any]:
    def store(out: Any, at: int, value: Any) -> int:
        whole = np.ascontiguousarray(value)
        size = whole.size * whole.itemsize
        room = malloc(size + 1)
        if room == 0:
            raise MemoryError
        memcpy(room, address(whole), size)
        out[at], out[at + 1], out[at + 2], out[at + 3] = 5, code, dimensions, room
        for dimension in range(dimensions):
            out[at + 4 + dimension] = whole.shape[dimension]
        return at + 4 + dimensions

    return store


def _store_tuple(out: Any, at: int, value: Any) -> int:
    out[at], out[at + 1] = 6, len(value)
    return store_each(out, at + 2, value)


@overload(store_each, strict=False)
def _store_each(out: Any, at: Any, values: Any) -> Callable[..., Any]:
    if len(values) == 0:
        return lambda out, at, values: at
    return lambda out, at, values: store_each(out, store(out, at, values[0]), values[1:])


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(object_file([one for one in signatures() if one[0] == sys.argv[1]]))

"""The command line: one file per command, found by name, loaded when it is used. No privacy logic here.

The command line: one file per command, found by name, loaded when it is used. No privacy logic here.


Memory
------
Memory that a command keeps while it runs, instead of giving it back and asking for it again.

The C library hands every large array back to the system at once, and so do Arrow's own allocators; the system clears
each page before it gives it out anew: of a million published rows that was a fifth of the time. A command ends soon, so
what it has freed it keeps for its next arrays, and Arrow asks the same place. Nothing is asked of other C libraries,
and a program that uses Sfumato as a library decides for itself. For the same reason Python looks for objects that hold
each other only after half a million new ones: while modules are loaded it looks 190 times and finds next to nothing,
for a tenth of a short command's time. At the end of a process it would look three times more, at objects that vanish
with it: another tenth. Where DuckDB was used it does look, or DuckDB complains of everything that is still there.


Help
----
The help of every command and subcommand, for the documentation.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import click

from sfumato import __version__


class Commands(click.Group):
    """A group whose commands are the modules of this package; only the one that runs is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
        return sorted(name.replace("_", "-") for name in names)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        _spare_pandas()
        return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line per command from a small table, so that help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES.get(name, "")) for name in self.list_commands(ctx)])


class _NoPandas:
    """While it stands at the head of the line, pandas is not found."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _spare_pandas() -> None:
    """Half a second of every command: pyarrow asks once whether pandas is there, and by asking loads it. No command
    needs it."""
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


SUMMARIES = {
    "attack": "Run a named attack against a release or a graph.",
    "check": "Validate a policy and say what would happen.",
    "demo": "Run a complete example.",
    "discover": "Draft a policy from data.",
    "explore": "Compare privacy and utility of several settings.",
    "ledger": "Show and verify the releases so far.",
    "measure": "Measure the utility of a release.",
    "new": "Write the file of a new model, method or metric, and its test.",
    "preview": "Show original and published values of a few rows.",
    "publish": "Anonymize, audit and write a release.",
    "query": "Answer COUNT queries from a release.",
    "recover": "Estimate figures of the original graph or table.",
    "report": "Write the report of a release.",
    "risk": "Measure the re-identification risk of a table.",
    "schema": "Print the JSON schema of a policy.",
    "studio": "Open the studio in a browser.",
    "verify": "Audit a release folder independently.",
    "warm-up": "Compile code now that later runs need.",
}


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
"""Every command carries these itself: one that is called alone must not remember other names of its help than under the
root."""


@click.command(cls=Commands, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="sfumato")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def root(ctx: click.Context, debug: bool) -> None:
    """Publish data about people safely, with a certificate that any person can check."""
    ctx.obj = {"debug": debug}
    if ctx.invoked_subcommand != "studio":  # which stays, and works in processes of its own
        keep_memory()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error is one line on stderr and an exit code."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # nobody looks through all packages for them
    os.environ.setdefault(
        "OPENBLAS_THREAD_TIMEOUT", "4"
    )  # its threads sleep at once, instead of asking 2²⁶ times for work
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        code = root.main(given, prog_name="sfumato", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        code = 2
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("error: interrupted", err=True)
        code = 130
    except Exception as error:
        if debug:
            raise
        code = _explain(error)
    sys.exit(code if isinstance(code, int) else 0)


_TROUBLE = {
    errno.ENOSPC: (
        "the disk is full",
        "free some room, or write elsewhere (TMPDIR holds the draft); nothing was published",
    ),
    errno.EDQUOT: ("your share of the disk is used up", "free some room, or write elsewhere; nothing was published"),
    errno.EROFS: ("nothing can be written there: the disk is read-only", "choose another folder"),
    errno.EACCES: ("you may not read or write there", "check the rights, or choose another folder"),
    errno.EPERM: ("you may not read or write there", "check the rights, or choose another folder"),
    errno.ENOENT: ("no such file or folder", "check the path"),
    errno.ENOTDIR: ("a part of the path is no folder", "check the path"),
    errno.EISDIR: ("that is a folder, not a file", "check the path"),
    errno.EPIPE: ("the program that reads the output has ended", "nothing to do"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
}


def _plainly(error: OSError) -> str:
    """What is wrong with a disk or a file, where, and what to try."""
    what, hint = _TROUBLE.get(
        error.errno or 0, (error.strerror or type(error).__name__, "check the path and the rights")
    )
    return f"{what} — {error.filename or 'this machine'} — {hint}"


def _explain(error: Exception) -> int:
    """One line (of a policy: one for each thing that is wrong), without a traceback and without people's values."""
    from sfumato.core.errors import SfumatoError

    if isinstance(error, SfumatoError):
        for one in (error, *getattr(error, "others", ())):
            click.echo(f"error: {one}", err=True)
        return error.exit_code
    if isinstance(error, OSError):
        click.echo(f"error: {_plainly(error)}", err=True)
        return 8
    if isinstance(error, MemoryError):
        click.echo(
            "error: the memory of this machine is not enough — sfumato — give fewer rows, or a larger machine", err=True
        )
        return 8
    click.echo(f"error: unexpected {type(error).__name__} — sfumato — run again with --debug and report it", err=True)
    return 1


# Memory
# ------


_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
"""Names of mallopt's settings (malloc.h)."""
_OBJECTS = 500_000
"""Number of new objects after which Python's garbage collector searches for unreachable cycles."""
_KEPT, _STEP, _LARGEST = 1 << 29, 1 << 26, 1 << 27
"""Free bytes at the end of the heap that are kept, bytes by which it grows, and arrays that are not the heap's."""


def keep_memory() -> None:
    """Let freed memory serve the next arrays, where the C library can be told so."""
    import atexit
    import ctypes
    import gc

    import pyarrow as pa

    gc.set_threshold(_OBJECTS, 5, 5)
    atexit.unregister(_look_no_more)  # once, however many commands one process runs
    atexit.register(_look_no_more)
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):
        tell = ctypes.CDLL(None).mallopt
        for setting, value in (
            (_MMAP_THRESHOLD, _LARGEST),
            (_TRIM_THRESHOLD, _KEPT),
            (_TOP_PAD, _STEP),
            (_ARENA_MAX, 1),
        ):
            tell(setting, value)


def _look_no_more() -> None:
    """At the end of a process: what is there is not looked through."""
    import gc
    import sys

    if "_duckdb" not in sys.modules:
        gc.freeze()


# Help
# ----


def all_help() -> Iterator[tuple[str, str]]:
    """(name, help) of the program, its commands, and theirs."""
    yield from _walk(root, "sfumato")


def _walk(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    with command.make_context(name, [], resilient_parsing=True) as context:
        yield name, command.get_help(context)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                child = command.get_command(context, below)
                if child is not None:
                    yield from _walk(child, f"{name} {below}")

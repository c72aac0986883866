"""Commands as `python -m sfumato` runs them, but without a new process: the same exit codes and the same text."""

from __future__ import annotations

import io
import os
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path


def run(*arguments: str, cwd: Path | str = ".") -> subprocess.CompletedProcess[str]:
    """What the command leaves behind."""
    from sfumato.ui.cli import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            main([os.fspath(argument) for argument in arguments])
        except SystemExit as end:
            code = int(str(end.code or 0))
    return subprocess.CompletedProcess(list(arguments), code, out.getvalue(), err.getvalue())

"""The command behind ``make fuzz``."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.fuzz.running import KINDS, SLOW_KINDS, _memory, play, run
from benchmarks.fuzz.tally import Tally

SHOWN = 3
"""Failures of the same words that are listed; all of them stand in the results."""
RESULTS = Path(__file__).resolve().parents[1] / "results" / "fuzz.json"
JUDGES = RESULTS.with_name("judges.csv")
"""What was tried and judged, one row per kind and seed; runs of a single case are not in it."""


def main() -> int:
    options = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    options.add_argument("--minutes", type=float, default=5.0, help="CPU minutes to go on for")
    options.add_argument("--seed", type=int, default=None, help="repeats a run; drawn and said when it is not given")
    options.add_argument(
        "--kind", default=[], choices=[*KINDS, *SLOW_KINDS], nargs="*", help="only cases of these kinds"
    )
    options.add_argument("--replay", default="", help="one case, as a failure names it: kind:seed:number")
    options.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    options.add_argument("--table", type=Path, default=JUDGES, help="the table of judges that gets the counts")
    asked = options.parse_args()
    tempfile.tempdir = _memory()
    if asked.replay:
        tally = Tally()
        play(asked.replay, tally)
        print(tally.table(), *(f"{each['what']}: {each['detail']}" for each in tally.failures), sep="\n")
        return 0 if tally.clean else 1
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)

    def save(tally: Tally, minutes: float) -> None:
        tally.save(asked.out, seed=seed, **{"CPU minutes": round(minutes, 1)})
        tally.save_rows(asked.table, seed, minutes)

    tally = run(seed, minutes=asked.minutes, only=asked.kind, save=save)
    print(tally.table())
    seen: Counter[str] = Counter()
    for failure in tally.failures:
        said = f"{failure['what']}: {failure['detail'].strip().splitlines()[-1][:160]}"
        seen[said] += 1
        if seen[said] <= SHOWN:
            print(f"make fuzz REPLAY={failure['case']}    # {said}")
    return 0 if tally.clean else 1


if __name__ == "__main__":
    sys.exit(main())

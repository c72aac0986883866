"""How fast whole tables go into and out of PostgreSQL, as a ratio to its plain COPY of the same data in the same run.

A table of mixed types (number, text, numeric, time with zone, uuid, json) of growing size. Plain: psycopg streams the
very CSV bytes into a table with the same primary key, or out of it to nowhere. Wall time here, not CPU: the work is the
server's. The best of three rounds that take turns; a server is started for the purpose unless SFUMATO_TEST_POSTGRES
names one.

    PYTHONPATH=src python benchmarks/database_load.py
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "databases")]

from postgres_server import Server, any_server, session  # noqa: E402

from sfumato.data.database import Database  # noqa: E402
from sfumato.data.table import Table  # noqa: E402
from sfumato.io.sql import load, read_rows, read_schema  # noqa: E402
from sfumato.io.sql.bulk_load import csv_piece  # noqa: E402

SHAPE = "id bigint{key}, name text NOT NULL, price numeric(12,2), at timestamptz, token uuid NOT NULL, notes json"
SIZES = (10_000, 100_000, 1_000_000)
ROUNDS = 3


def rows(count: int) -> Table:
    draw = np.random.default_rng(7)
    number = np.arange(1, count + 1)
    first, second = draw.integers(0, 2**32, (2, count))
    cents = draw.integers(0, 10**6, count)
    moment = np.datetime64("2020-01-01T00:00:00") + draw.integers(0, 10**8, count).astype("timedelta64[s]")
    columns = {
        "id": [str(one) for one in number],
        "name": [f'Customer "{one:x}", {two % 97}' for one, two in zip(first.tolist(), second.tolist(), strict=True)],
        "price": [f"{one // 100}.{one % 100:02d}" for one in cents.tolist()],
        "at": [str(one).replace("T", " ") + "+00" for one in moment],
        "token": [
            f"{a:08x}-{b >> 16:04x}-4{b & 0xFFF:03x}-8{a & 0xFFF:03x}-{(a * 65537 + b) & 0xFFFFFFFFFFFF:012x}"
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ],
        "notes": [
            f'{{"visits": {one % 50}, "tags": ["a", "b{one % 7}"]}}' if one % 9 else None for one in second.tolist()
        ],
    }
    return Table(pa.table(columns))


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def plain_in(server: Server, pieces: list[bytes], keyed: str) -> float:
    with session(server.database()) as connection:

        def work() -> None:
            connection.execute(f"CREATE TABLE t ({SHAPE.format(key=keyed)})")
            with connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)") as copy:
                for piece in pieces:
                    copy.write(piece)

        return timed(work)


def plain_out(url: str) -> float:
    with session(url) as connection:

        def work() -> None:
            with connection.cursor().copy("COPY t TO STDOUT (FORMAT csv)") as copy:
                for _ in copy:
                    pass

        return timed(work)


def measure(server: Server, count: int) -> dict[str, object]:
    with session(model := server.database()) as connection:
        connection.execute(f"CREATE TABLE t ({SHAPE.format(key=' PRIMARY KEY')})")
    data = Database(read_schema(model), {"t": rows(count)})
    pieces = [bytes(csv_piece(batch)) for batch in data.tables["t"].frame.to_batches(max_chunksize=1 << 15)]
    best = dict.fromkeys(("bare", "keyed", "load", "out", "read"), float("inf"))
    for _ in range(ROUNDS):
        target = server.database()
        found = {
            "bare": plain_in(server, pieces, ""),
            "keyed": plain_in(server, pieces, " PRIMARY KEY"),
            "load": timed(lambda target=target: load(target, data.schema, data.tables, fingerprint="benchmark")),
            "out": plain_out(target),
            "read": timed(lambda target=target: read_rows(target, data.schema)),
        }
        best = {name: min(best[name], found[name]) for name in best}
        server.drop_all()
    ratios = {
        "load/COPY": best["load"] / best["keyed"],
        "load/COPY without key": best["load"] / best["bare"],
        "read/COPY": best["read"] / best["out"],
    }
    return {"rows": count, "megabytes": round(sum(map(len, pieces)) / 1e6, 1)} | {
        k: round(v, 3) for k, v in (best | ratios).items()
    }


def main() -> None:
    with any_server() as server:
        found = [measure(server, size) for size in SIZES]
    with (HERE / "results" / "database-load.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(found[0]))
        table.writeheader()
        table.writerows(found)
    for row in found:
        print(row)


if __name__ == "__main__":
    main()

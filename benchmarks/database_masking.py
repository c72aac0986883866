"""How long a database with new values takes, as a ratio to one hand-written UPDATE in the same run.

One table in PostgreSQL: a key, eight replaced columns, three kept ones. Each round takes in turn

    copy     `pg_dump | pg_restore` of the source, nothing replaced
    UPDATE   the same copy, and one UPDATE that sets the eight columns by random()
    publish  `sfumato publish`, mode create: draw, audit, folder, load, audit of the target
    verify   `sfumato verify --target`

Every step is a process of its own. CPU is that of the process and its children; `server` is that of PostgreSQL in the
step. The best of the rounds is taken by wall time, column by column. A server is started unless SFUMATO_TEST_POSTGRES
names one, and then the CPU of the server is not measured.

    python -m benchmarks database_masking [rows] [rounds]
"""

from __future__ import annotations

import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "databases")]

from postgres_server import Server, any_server, session  # noqa: E402

POLICY = """
version: 1
data:
  kind: database
  source: ${MASKING_SOURCE}
  target: ${MASKING_TARGET}
  memory: 1 GB
columns:
  customer.first_name: {role: replaced, domain: {fakes: first_name}}
  customer.last_name: {role: replaced, domain: {fakes: last_name}}
  customer.email: {role: replaced, domain: {pattern: "[a-z]{8}[0-9]{3}@example\\\\.org"}}
  customer.phone: {role: replaced, domain: {pattern: "\\\\+49 1[5-7][0-9] [0-9]{7}"}}
  customer.street: {role: replaced, domain: {fakes: address}}
  customer.postcode: {role: replaced, domain: {pattern: "[1-9][0-9]{4}"}}
  customer.born: {role: replaced, domain: {dates: ["1930-01-01", "2006-12-31"]}}
  customer.balance: {role: replaced, domain: {decimals: [0, 10000], places: 2}}
"""
TABLE = """
CREATE TABLE customer (
  id bigint PRIMARY KEY, first_name varchar(60) NOT NULL, last_name varchar(60) NOT NULL, email text NOT NULL UNIQUE,
  phone varchar(30) NOT NULL, street varchar(120) NOT NULL, postcode char(5) NOT NULL, born date NOT NULL,
  balance numeric(10,2) NOT NULL, status text NOT NULL, created timestamptz NOT NULL, visits integer);
INSERT INTO customer SELECT i, 'Old' || md5(i || 'f')::varchar(6), 'Name' || md5(i || 'l')::varchar(6),
  md5(i || 'e')::varchar(12) || '@shop.example.com', '0044 20 ' || lpad((i * 7919 % 100000000)::text, 8, '0'),
  (i % 90 + 1) || ' ' || md5((i / 40)::text)::varchar(9) || ' Road', lpad((i * 31 % 90000 + 10000)::text, 5, '0'),
  date '1930-01-01' + (i * 17 % 28000)::int, (i * 37 % 1000000) / 100.0, (ARRAY['new', 'active', 'closed'])[i % 3 + 1],
  timestamptz '2020-01-01 00:00+00' + i * interval '7 second', nullif(i % 50, 0)
  FROM generate_series(1, {rows}::bigint) AS i;
"""
UPDATE = """
UPDATE customer SET
  first_name = 'N' || md5(random()::text)::varchar(6), last_name = 'M' || md5(random()::text)::varchar(6),
  email = md5(random()::text || id) || '@example.org', phone = '+49 151 ' || (random() * 9999999)::int,
  street = (random() * 90)::int || ' ' || md5(random()::text)::varchar(9),
  postcode = (10000 + random() * 89999)::int::text,
  born = date '1930-01-01' + (random() * 28000)::int, balance = (random() * 10000)::numeric(10, 2)
"""


def plain(url: str) -> str:
    return sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def server_cpu(server: Server) -> float:
    """Seconds of CPU that the server's processes and those that it has ended took, as far as this machine says."""
    with server.admin() as connection:
        folder = connection.execute("SHOW data_directory").fetchone()[0]  # type: ignore[index]
    try:
        first = int(Path(folder, "postmaster.pid").read_text().split()[0])
        tick = os.sysconf("SC_CLK_TCK")
        used = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(stat.parent.name) == first:
                used += sum(map(int, fields[11:15]))
            elif int(fields[1]) == first:
                used += sum(map(int, fields[11:13]))
        return used / tick
    except (OSError, ValueError, IndexError):
        return float("nan")


def timed(server: Server, work: Callable[[], None]) -> dict[str, float]:
    own, there = resource.getrusage(resource.RUSAGE_CHILDREN), server_cpu(server)
    begun = time.perf_counter()
    work()
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    return {"wall": wall, "cpu": cpu, "server": server_cpu(server) - there, "megabytes": after.ru_maxrss / 1024}


def run(*command: str, **more: str) -> None:
    done = subprocess.run(command, env=os.environ | more, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr or done.stdout}")


def dumped(source: str, target: str) -> None:
    line = f'pg_dump -Fc -Z0 "{plain(source)}" | pg_restore --no-owner -d "{plain(target)}"'
    run("sh", "-c", line)


def measure(server: Server, rows: int, rounds: int) -> list[dict[str, object]]:
    source, home = server.database(), Path(tempfile.mkdtemp(prefix="masking-", dir=os.environ.get("SFUMATO_TEST_ROOM")))
    with session(source) as connection:
        connection.execute(TABLE.replace("{rows}", str(rows)))  # type: ignore[call-overload]
        connection.execute("VACUUM ANALYZE customer")
    policy = home / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    program = [sys.executable, "-m", "sfumato"]
    best: dict[str, dict[str, float]] = {}
    for number in range(rounds):
        copy, changed, target = (server.database() for _ in range(3))
        out = home / f"release-{number}"
        steps: dict[str, Callable[[], None]] = {
            "copy": lambda copy=copy: dumped(source, copy),
            "UPDATE": lambda changed=changed: (
                dumped(source, changed),
                run("psql", "-q", "-d", plain(changed), "-c", UPDATE),
            ),
            "publish": lambda target=target, out=out: run(
                *program,
                "publish",
                str(policy),
                "--out",
                str(out),
                "--no-report",
                MASKING_SOURCE=source,
                MASKING_TARGET=target,
            ),
            "verify": lambda target=target, out=out: run(
                *program, "verify", str(out), "--target", target, MASKING_SOURCE=source, MASKING_TARGET=target
            ),
        }
        for name, step in steps.items():
            found = timed(server, step)
            print(number, name, {key: round(value, 2) for key, value in found.items()}, flush=True)
            best[name] = {key: min(value, best.get(name, found)[key]) for key, value in found.items()}
        with server.admin() as connection:
            for url in (copy, changed, target):
                connection.execute(f'DROP DATABASE "{sa.make_url(url).database}" WITH (FORCE)')  # type: ignore[call-overload]
                server.made.remove(str(sa.make_url(url).database))
        shutil.rmtree(out)
    shutil.rmtree(home)
    return [
        {"rows": rows, "step": name}
        | {key: round(value, 1) for key, value in found.items()}
        | {"wall / UPDATE": round(found["wall"] / best["UPDATE"]["wall"], 2)}
        | {"all CPU / UPDATE": round(_all(found) / _all(best["UPDATE"]), 2)}
        for name, found in best.items()
    ]


def _all(found: dict[str, float]) -> float:
    return found["cpu"] + found["server"]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with any_server() as server:
        found = measure(server, rows, rounds)
    with (HERE / "results" / "database-masking.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(found[0]))
        table.writeheader()
        table.writerows(found)
    for row in found:
        print(row)


if __name__ == "__main__":
    main()

"""One PostgreSQL and one MariaDB for all tests of this folder in one process; a test asks for them by name."""

from mariadb_server import fresh_mariadb, mariadb, without_certificates  # noqa: F401
from postgres_server import fresh, postgres  # noqa: F401

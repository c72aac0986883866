"""How much tests try: some cases on every run, many more with ``pytest --slow`` (or ``SFUMATO_SLOW=1``).

A test that draws cases says how many with `SLOW`; a test that only runs then has the marker ``slow``.
"""

from __future__ import annotations

import os

SLOW = bool(os.environ.get("SFUMATO_SLOW"))

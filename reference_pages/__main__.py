"""``python -m reference_pages``: write the generated pages."""

from __future__ import annotations

from reference_pages import main

if __name__ == "__main__":
    main()

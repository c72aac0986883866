"""``python -m sfumato.catalogue``: write the generated pages."""

from __future__ import annotations

from sfumato.catalogue import main

if __name__ == "__main__":
    main()

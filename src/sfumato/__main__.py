"""``python -m sfumato`` is the command line."""

from sfumato.ui.cli import main

main()

"""Judges of releases by possible worlds, written from the definitions: they import nothing of what makes or audits a
release."""

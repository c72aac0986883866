"""Named adversaries: what an outsider gets out of a release. One per file."""

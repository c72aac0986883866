"""Releases: form, view, certificate, folder, signature, and the bases that every slice implements."""

from sfumato.release.certificate import Certificate, Finding, Records
from sfumato.release.release import Part, Provenance, Release

__all__ = ["Certificate", "Finding", "Part", "Provenance", "Records", "Release"]

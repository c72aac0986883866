"""What is published: parts, certificate, and the folder they travel in."""

from sfumato.release.certificate import Certificate, Finding, Records
from sfumato.release.release import Part, Release, Trace

__all__ = ["Certificate", "Finding", "Part", "Records", "Release", "Trace"]

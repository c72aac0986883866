"""Discovery: what data suggests for its policy.

Discovery: what data suggests for its policy. One finder per file.


Templates
---------
Templates of rules that discovery looks for. One per file; a narrow set, because general miners drown people in
accidents."""

from __future__ import annotations

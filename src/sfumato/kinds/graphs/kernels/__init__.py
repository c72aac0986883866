"""Compiled loops of graphs: counts of small subgraphs, searches for planted accounts.

Compiled counts of small patterns in graphs; each has a plain twin that a test compares it with.


Kernels
-------
Compiled searches for planted accounts; each has a plain twin that a test compares it with.
"""

from __future__ import annotations

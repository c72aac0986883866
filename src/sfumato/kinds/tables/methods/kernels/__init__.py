"""Compiled loops of the table methods; each has a plain twin that a test compares it with.

Compiled loops of recoding; each has a plain twin that a test compares it with.


Kernels
-------
Compiled loops of aggregating.


Kernels
-------
Compiled loops over cliques of several releases; each has a plain twin that a test compares it with.
"""

from __future__ import annotations

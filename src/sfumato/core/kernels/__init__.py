"""Compiled loops that belong to no slice: a random stream, sorting, cells of text files.

The cipher stream inside compiled loops; its plain twin is the library that `randomness` uses everywhere else.


Kernels
-------
Compiled loops for data.


Kernels
-------
Loops over the bytes of files.
"""

from __future__ import annotations

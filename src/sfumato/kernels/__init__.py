"""Compiled inner loops: arrays in, arrays out; the only home of numba. Each kernel has a plain twin that tests it."""

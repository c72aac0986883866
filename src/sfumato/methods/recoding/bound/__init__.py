"""Recoding as an integer program over units and generalized tuples: a bound for every release, and releases that come near it.

`space` lists the generalized tuples, `prices` bounds what any release must cost (`shares`: where
no value may be too frequent), `program` states and solves the integer program,
`search` improves a release with it, `proof` says what is known in the end.
"""

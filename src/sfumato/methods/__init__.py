"""Methods: arrange the data so that its reading will be good. A street of families, each a folder with a page of its own.

====================  ============================================================
`recoding`            one table, its quasi-identifiers written more coarsely
`subtables`           several tables, each exact, that keep rules between columns
`replacing`           new values that obey rules, for tables and whole databases
`baskets`             set-valued records
`graphs`              who knows whom
`sequences`           the same people again
====================  ============================================================

`base` is what a method is; `solver` is the only home of the constraint solver.
"""

"""Slices by kind of data; each has its form, methods, evidence, checks, metrics, attacks and report section.

Forms: what can be published, one file each. `release.form` says what a form declares.

====================  ======================================================================================
`form`             one table, its quasi-identifiers written more coarsely
`anatomy`             exact quasi-identifiers with bucket numbers, and the sensitive values of each bucket
`form`           several tables that share columns, some with buckets of their own
`replaced`            one table with new values that obey rules
`baskets`             set-valued records as base vectors with what may differ
`graph`               edges between renamed people
`database`            all tables of a database, keys and references included
====================  ======================================================================================
"""

"""Forms: what can be published, one file each. `release.form` says what a form declares.

====================  ======================================================================================
`recoded`             one table, its quasi-identifiers written more coarsely
`anatomy`             exact quasi-identifiers with bucket numbers, and the sensitive values of each bucket
`subtables`           several tables that share columns, some with buckets of their own
`replaced`            one table with new values that obey rules
`baskets`             set-valued records as base vectors with what may differ
`graph`               edges between renamed people
`database`            all tables of a database, keys and references included
====================  ======================================================================================
"""

"""Replacing: new values for chosen columns, while everything the policy wants kept stays true.

======================  ==========================================================================================
`obfuscation`           one table whose replaced columns are drawn anew under the rules of `keep:`
`relational`            all tables of a database, keys and references included (`databases`)
`pattern-walk`          numbers that move at random inside the orderings and distances that are kept (`patterns`)
======================  ==========================================================================================

Rules fall into independent parts; each part gets the cheapest engine that is exact (`sampling`), and only what no engine covers
goes to the constraint solver. Begin with `sampling.problem` and `sampling.router`.
"""

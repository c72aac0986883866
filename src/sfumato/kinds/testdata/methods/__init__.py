"""Methods that make test data.

Replacing: new values for chosen columns, while everything the policy wants kept stays true.

======================  ==========================================================================================
`obfuscation`           one table whose replaced columns are drawn anew under the rules of `keep:`
`relational`            all tables of a database, keys and references included (`methods`)
`pattern-walk`          numbers that move at random inside the orderings and distances that are kept (`patterns`)
======================  ==========================================================================================

Rules fall into independent parts; each part gets the cheapest engine that is exact (`sampling`), and only what no
engine covers goes to the constraint solver. Begin with `sampling.problem` and `sampling.sampler_selection`.


Databases
---------
Making all tables of a database anew: maps for linked columns, parts for free ones, subsets, nulls.


Patterns
--------
Pattern-preserving anonymization of numeric tables [multitype ch. 5]: from rules to a polytope to a random point in it.
"""

from __future__ import annotations

"""Methods that publish one table. No module outside `methods` folders on the audit side imports them.

Recoding: one table in, one table out, whose quasi-identifiers are written more coarsely.

All records of a class get the same cells, so an adversary cannot tell the members of a class apart. A method of this
family decides who stands with whom; what a group is written as, and whether it may be, is the same for all of them.

======================  ==========================================================================================
`mondrian`              cut the table where it saves most (`multidimensional_partitioning`): fast on millions of records
`clustering`            gather the nearest records, one group after another (`greedy_clustering`, `class_merging`, `recoding_costs`)
`refined`               the best of the quick methods and a `refined` sweep, improved by `local_search` (`local_search`, `local_search`)
`optimal`               the same together with a loss that no release of the policy can be below (`methods`)
`global`                one level of its hierarchy per column (`full_domain`, `full_domain`), as codebooks want it
======================  ==========================================================================================

Begin with `recoding_problem` (records as leaf codes, groups, requirements), then `recoding` (from a policy to a problem
and back), then one method. Where claims speak of different columns, `recoding` finds what is independent and
`specialization` does the rest. `recoding_problem` asks the models about groups, `recoding_costs` prices cells,
`class_merging` are records that may be exchanged; loops that must be fast are in `kernels`.


Aggregating
-----------
Aggregating: one table in, one table out, in which the quasi-identifiers of small groups are replaced by their averages.

Everybody in a group gets the same cells, so a group is what an adversary is left with, as in recoding; but a number
stays a number.

======================  ==========================================================================================
`microaggregation`      groups of at least k near records: optimal for one column (`microaggregation`), near to it for several
                        (`microaggregation`: MDAV in districts, improved by exchanges)
======================  ==========================================================================================

Begin with `numeric_coordinates` (records as points), then `microaggregation`.


Perturbing
----------
Perturbing: one table in, one table out, in which values of single records are no longer true but what holds on average nearly
is.

Nothing is promised about any person: who knows enough of a person may still find the row that was theirs. How often
that works is measured (``sfumato attack linkage``), as an estimate on the data at hand, and shown in the private
report.

======================  ==========================================================================================
`swapping`              values are exchanged with values of nearby rank: every column keeps its values
`shuffling`             values of some columns are reassigned in the order that others predict
`noise`                 numbers get correlated noise of a declared covariance, which `recover` removes
`pram`                  categories change by a declared matrix that keeps their shares on average
======================  ==========================================================================================


Suppressing
-----------
Suppressing: one table in, one table out, in which single cells are suppressed and everything else stays as it was.

======================  ==========================================================================================
`local-suppression`     few cells, so that an adversary who knows m columns has k candidates (`patterns`,
`local_suppression`)
======================  ==========================================================================================


Sequences
---------
Sequences: one more release of a table that was published before, judged together with all earlier ones.

======================  ==========================================================================================
`sequential`            top-down specialization that asks, before every step, what all releases together would tell
======================  ==========================================================================================

Begin with `sequential_state` (what is asked), `sequential_state` (what never changes), `sequential_state` (the release in
the making), `sequential_search`
(Algorithm 3), `sequential_search` and `sequential_search` (from what a quick test allows to what is proven); `sequential`
says who is new or has left.


Bound
-----
Recoding as an integer program over units and generalized tuples: a bound for every release, and releases that come near it.

`price_bound` lists the generalized tuples, `price_bound` bounds what any release must cost (`price_bound`: where
no value may be too frequent), `integer_program` states and solves the integer program,
`search` improves a release with it, `optimal` says what is known in the end.
"""  # noqa: E501

from __future__ import annotations

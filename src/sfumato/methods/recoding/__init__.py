"""Recoding: one table in, one table out, whose quasi-identifiers are written more coarsely.

Everybody who stands in one group of records gets the same cells, so a group is what an outsider is left with. A method of this
family decides who stands with whom; what a group is written as, and whether it may be, is the same for all of them.

======================  ==========================================================================================
`mondrian`              cut the table where it saves most (`partitioning`): fast on millions of records
`clustering`            gather the nearest records, one group after another (`greedy_clustering`, `joining`, `pricing`)
`refined`               the best of the quick methods and a `lattice` sweep, improved by `local_search` (`rebuilding`, `opening`)
`optimal`               the same together with a loss that no release of the policy can be below (`bound`)
`global`                one level of its hierarchy per column (`full_domain`, `lattice_search`), as codebooks want it
======================  ==========================================================================================

Begin with `problem` (records as leaf codes, groups, claims), then `base` (from a policy to a problem and back), then one method.
Where claims speak of different columns, `components` finds what is independent and `specializing` does the rest.
`claims` asks the models about groups, `costs` prices cells, `units` are records that may be exchanged; loops that must be fast
are in `kernels`.
"""

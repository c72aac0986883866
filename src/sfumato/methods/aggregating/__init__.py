"""Aggregating: one table in, one table out, in which the quasi-identifiers of small groups are replaced by their averages.

Everybody in a group gets the same cells, so a group is what an outsider is left with, as in recoding; but a number stays a number.

======================  ==========================================================================================
`microaggregation`      groups of at least k near records: optimal for one column (`one_column`), near to it for several
                        (`several_columns`: MDAV in districts, improved by exchanges)
======================  ==========================================================================================

Begin with `ground` (records as points), then `microaggregation`.
"""

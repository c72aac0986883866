"""Baskets: set-valued records, each published as what several neighbours have in common.

======================  ==========================================================================================
`blocks`                disjoint blocks of alike records with a secret each; the default
`nonreciprocal`         records in a ring where neighbours are alike, each published with the vote of its next k
======================  ==========================================================================================

`partition` makes blocks, `block_rows` what their rows show, `hiding` and `block_labels` which labels they do not, `forecast` says
beforehand what they will be good for. `orders` and `gray` arrange records on a ring, `rings` and `segments` close it, `window`
improves the order, `assignments` draw who stands where, `voting` writes what a group agrees on, `withholding` hides labels on a
ring.
"""

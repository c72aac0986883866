"""Baskets: set-valued records, each published as what several neighbours have in common.

======================  ==========================================================================================
`nonreciprocal`         records in a ring where neighbours are alike, each published with the vote of its next k
======================  ==========================================================================================

`orders` and `gray` arrange the records, `rings` and `segments` close them, `window` improves the order, `assignments` draw who
stands where, `voting` writes what a window agrees on, `withholding` hides labels that would give a neighbour away.
"""

"""Methods for set-valued records.

Baskets: set-valued records, each published as what several neighbours have in common.

======================  ==========================================================================================
`blocks`                disjoint blocks of alike records with a secret each; the default
`nonreciprocal`         records in a ring where neighbours are alike, each published with the vote of its next k
======================  ==========================================================================================

`record_order` makes blocks, `blocks` what their rows show, `label_hiding` and `blocks` which labels they do not,
`blocks` says beforehand what they will be good for. `orders` and `record_order` arrange records on a ring,
`nonreciprocal` and `record_order` close it, `nonreciprocal` improves the order, `assignments` draw who stands where,
`voting` writes what a group agrees on, `nonreciprocal` hides labels on a ring."""

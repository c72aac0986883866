"""Suppressing: one table in, one table out, in which single cells are suppressed and everything else stays as it was.

======================  ==========================================================================================
`local-suppression`     few cells, so that whoever knows up to m columns is left with k rows (`patterns`, `fewest_cells`)
======================  ==========================================================================================
"""

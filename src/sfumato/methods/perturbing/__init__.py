"""Perturbing: one table in, one table out, in which values of single records are no longer true but what holds on average nearly
is.

Nothing is promised about anybody: who knows enough of a person may still find the row that was theirs. How often that works is
measured (``sfumato attack linkage``), as an estimate on the data at hand, and stands in the private report.

======================  ==========================================================================================
`swapping`              values change places with values of nearby rank: every column keeps its values
`shuffling`             values of some columns are dealt anew in the order that other columns predict
`noise`                 numbers get correlated noise of a declared covariance, which `recover` takes off again
`pram`                  categories change by a declared matrix that keeps their shares on average
======================  ==========================================================================================
"""

"""Sequences: one more release of a table that was published before, judged together with all earlier ones.

======================  ==========================================================================================
`sequential`            top-down specialization that asks, before every step, what all releases together would tell
======================  ==========================================================================================

Begin with `sequel_problem` (what is asked), `past` (what never changes), `partial_release` (the release in the making), `search`
(Algorithm 3), `back_off` and `witness` (from what a quick test allows to what is proven); `growth` says who is new or has left.
"""

"""Methods for graphs.

Graphs: who knows whom, published so that nobody is found again by their ties.

======================  ==========================================================================================
`edge-perturbation`     flip every possible tie with a known probability; analysts correct for it (`prediction`, `edge_perturbation`)
`private-figures`       edges, triangles and degrees with edge-level differential privacy, and a graph drawn from them (`noise`)
`node-private-figures`  ties and degrees with node-level differential privacy: all ties of a person are protected
`degree-anonymity`      add the fewest ties so that every degree is shared by k people (`degrees`)
======================  ==========================================================================================


Degrees
-------
Making the degrees of a graph alike by adding edges: the cheapest sequence, a bound, its realisation, the exact optimum.
"""  # noqa: E501

from __future__ import annotations

"""Several tables out of one: sub-tables and Anatomy, so that each privacy rule is kept although values are exact."""

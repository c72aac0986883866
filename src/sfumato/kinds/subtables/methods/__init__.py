"""Methods that publish sub-tables or buckets.

Sub-tables: several tables out of one, so that each privacy rule is kept although every value is exact.

Rules say "an adversary who knows these columns must not learn that one". A set of columns that violates no rule may be
one table; a column that would is hidden behind buckets. The theory (rules, normal form, join trees, estimates) is in
`policy.privacy_rules` and `subtables`.

======================  ==========================================================================================
`guardian`              split off whatever breaks a rule, give columns back where they help most (`guardian`)
`utility-aware`         few tables, by colouring conflicts (`subtable_method`)
`single-attribute`      every column on its own: the least useful
`anatomy`               one table with bucket numbers, and a table of the values of each bucket
`multi-sensitive`       the same for several sensitive columns at once (`buckets`)
======================  ==========================================================================================

Begin with `subtable_method` (from rules to shuffled, guarded tables), then `buckets` (rows of a bucket) and `guardian`
(information loss)."""

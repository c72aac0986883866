"""Methods that publish sub-tables or buckets.

Sub-tables: several tables out of one, so that each privacy rule is kept although every value is exact.

Rules say "whoever knows these columns must not learn that one". A set of columns that breaks no rule may stand in one
table; a column that would is hidden behind buckets. The theory (rules, normal form, join trees, estimates) is the room
`decomposition`.

======================  ==========================================================================================
`guardian`              split off whatever breaks a rule, give columns back where they help most (`guardian`)
`utility-aware`         few tables, by colouring conflicts (`subtable_method`)
`single-attribute`      every column on its own: the floor of utility
`anatomy`               one table with bucket numbers, and the values of each bucket beside it
`multi-sensitive`       the same for several sensitive columns at once (`buckets`)
======================  ==========================================================================================

Begin with `subtable_method` (from rules to shuffled, guarded tables), then `buckets` (who shares a bucket) and
`guardian` (what is lost)."""

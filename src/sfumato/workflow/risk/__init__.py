"""Risk of a table as it stands, without a policy.

Risk: is a table already anonymous, and who is at risk? No policy is needed, and no row leaves the machine.

Each file holds one way of looking: `figures` (prosecutor, journalist, marketer), `figures` (uniques beyond the sample),
`figures` (which columns identify), `figures` (SUDA), `column_roles` (personal columns by name and look), `roles` (what
each column seems to be). `report` puts them together, `report` shows them."""

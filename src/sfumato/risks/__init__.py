"""Risk: is a table already anonymous, and who is at risk? No policy is needed, and no row leaves the machine.

Each file holds one way of looking: `attackers` (prosecutor, journalist, marketer), `population` (uniques beyond the sample),
`combinations` (which columns identify), `special_uniques` (SUDA), `kinds` (personal columns by name and look), `roles` (what each
column seems to be). `report` puts them together, `page` shows them.
"""

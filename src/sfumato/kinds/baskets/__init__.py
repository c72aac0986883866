"""Set-valued records: each published as what several neighbors have in common, or in blocks."""

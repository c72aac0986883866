"""Templates of rules that discovery looks for. One per file; a narrow set, because general miners drown people in accidents."""

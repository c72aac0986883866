"""Discovery: what data suggests for its policy. One finder per file."""

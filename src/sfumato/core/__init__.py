"""Core: errors, randomness, registry, arrays, compiled loops, self-contained HTML; imports nothing else of the
package."""

"""How a release is made: one method per file. A method never certifies itself."""

"""How a release is judged: plain code that shares nothing with the methods."""

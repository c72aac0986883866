"""Graphs: who is connected with whom, published so that nobody is re-identified by edges."""

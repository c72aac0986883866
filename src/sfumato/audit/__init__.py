"""How a release is judged: plain code that calls no method, with a second count under what both stand on."""

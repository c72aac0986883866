"""The pages of the studio, one file each: a model, and what its forms change."""

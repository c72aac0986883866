"""The pages of the studio, one class each."""

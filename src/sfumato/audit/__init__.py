"""The audit: reads published files, derives evidence, evaluates models and checks; imports no method."""

"""User interfaces: command line, studio, demonstrations, generated reference pages."""

"""Bytes to meaning, pure: what a body says, where it links to, and in which charset it was written."""

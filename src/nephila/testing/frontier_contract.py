"""The frontier's contract under its short name; the rooms are in `nephila.testing.contract`."""

from nephila.testing.contract import FrontierContract

__all__ = ["FrontierContract"]

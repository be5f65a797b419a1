"""Why an address is there, or is not: `explain` for one, `refusals` for all that were refused, `preview` for other rules."""

from nephila.explain.answer import explain
from nephila.explain.change import parsed
from nephila.explain.model import Explanation, Refusals, Refused, Step, Would
from nephila.explain.preview import Preview, preview
from nephila.explain.refusals import refusals

__all__ = ["Explanation", "Preview", "Refusals", "Refused", "Step", "Would", "explain", "parsed", "preview", "refusals"]

"""Novelty: whether the pages of one form of address still say something that the others have not said.

The first pages of a form are taken as they come: most forms have few. Then pages are *watched*: the texts on them (`page.sketch`)
are held against those of the watched pages before. A page is *stale* when nothing on it is new; in a form with two or more
parameters also when what is new is a heading or two over a selection of what was seen elsewhere (a list, filtered and
sorted in one more way); a heading over nothing proves nothing there. Calendars without entries, session copies and pages that
were not found are stale, articles, lists and archives are not. A page of few texts is stale only when its very bytes were met before.

While a form says new things, one page in 64 is watched; the less is new, the more.
"""

from __future__ import annotations

from array import array
from collections import Counter

WINDOW = 64
"""Watched pages that decide. Of a calendar's, half as many do."""
KNOWN_LITTLE = WINDOW // 4
"""Watched pages before which nobody says what a form is worth to another one that leads to it. A form that is never judged is
watched no longer than that, and then rarely."""
FRESH_MAX = 1
"""Of those, so many may have had something new."""
TEXTS_MIN = 5
"""A page with fewer texts is not judged by them: pictures and programs say nothing to us."""
HEADINGS_MAX = 2
FAMILIAR = 3
"""So many texts from other pages for each new heading make a selection."""
COMMON_MIN = 8
"""Watched pages after which it is known what stands on all of them."""
KNOWN_MAX = 16_384
"""Texts of one form; one that has said more is rich, and never judged again."""
RARELY = 64
OFTEN = ((3 / 4, 1), (1 / 2, 2), (1 / 8, 4), (0, RARELY))
"""From this share of stale pages on, one page in so many is watched."""
FED_MAX = 16


class Novelty:
    """What is known of one form of one host. `parameters`: of its addresses; `dated`: they are places in a calendar."""

    __slots__ = ("dated", "fed", "known", "pages", "parameters", "recent", "rich", "samples", "watched")

    def __init__(self, parameters: int = 0, dated: bool = False) -> None:
        self.parameters, self.dated = parameters, dated
        self.pages = self.watched = 0
        self.known: Counter[int] = Counter()
        self.recent = 0
        """a bit for each of the last WINDOW watched pages: 1 for a stale one"""
        self.rich = False
        self.samples: list[str] = []
        """a few of the last stale pages"""
        self.fed: set[str] = set()
        """forms that stale pages have brought new addresses of"""

    @property
    def judged(self) -> bool:
        """Whether it can be found dry. Plain paths that repeat others are copies (a site that is mounted twice), and kept."""
        return self.dated or self.parameters > 0

    @property
    def window(self) -> int:
        return WINDOW // 2 if self.dated else WINDOW

    def wants(self, free: int) -> bool:
        """The next page should be watched. `free`: pages that are taken as they come."""
        if self.rich or self.pages < free:
            return False
        if self.watched < (self.window if self.judged else KNOWN_LITTLE):
            return True
        if not self.judged:
            return self.pages % RARELY == 0
        share = self.stale() / self.window
        return self.pages % next(every for least, every in OFTEN if share >= least) == 0

    def watch(self, sketch: bytes, twin: bool) -> bool:
        """Take in a watched page. `twin`: its bytes were met before. True: it is stale."""
        stale = True if twin else self._stale(array("I", sketch)) if len(sketch) >= 4 * TEXTS_MIN else False
        if stale is not None:
            self.mark(stale)
        return stale is True

    def mark(self, stale: bool) -> None:
        """A page was judged."""
        self.watched += 1
        self.recent = (self.recent << 1 | stale) & ((1 << self.window) - 1)

    def _stale(self, texts: array[int]) -> bool | None:
        """None: it proves nothing."""
        known = self.known
        fresh = [text for text in texts if text not in known]
        stale: bool | None = not fresh
        if fresh and self.parameters > 1 and len(fresh) <= HEADINGS_MAX and not any(text & 1 for text in fresh):
            stale = self._selection(len(fresh), texts) or None
        known.update(texts)
        if len(known) > KNOWN_MAX:
            self.rich = True
            known.clear()
        return stale

    def _selection(self, headings: int, texts: array[int]) -> bool:
        """Below the new headings stands what comes from other pages, but not from all of them."""
        if self.watched < COMMON_MIN:
            return False
        common = self.watched // 2
        familiar = sum(0 < self.known[text] <= common for text in texts)
        return familiar >= FAMILIAR * headings

    def stale(self) -> int:
        """How many of the last watched pages were."""
        return self.recent.bit_count()

    def dry(self) -> bool:
        """Enough pages were watched, and (nearly) none of them said anything new."""
        return self.judged and self.watched >= self.window and self.stale() >= self.window - FRESH_MAX

    def alive(self) -> bool:
        """Its pages are worth coming to: a quarter of them, or more, say something new."""
        seen = min(self.watched, self.window)
        return (seen - self.stale()) * 4 > seen

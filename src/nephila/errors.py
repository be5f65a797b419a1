"""The errors that Nephila raises. Trouble on the web is never one of them: that is an `Outcome`.

NephilaError
├── ConfigError      the user is mistaken: names the key and the fix, before any socket is opened   (exit 2)
├── JobError         the job folder cannot be used: not a job, in use, read-only, newer …            (exit 2)
├── DiskFull         the disk (or the reserve kept free on it) is used up                            (exit 6)
└── Damaged          a state file does not read back: says which and what can be done                (exit 1)
"""


class NephilaError(Exception):
    """Root of all errors that are raised on purpose."""


class ConfigError(NephilaError):
    """A wrong option, key or address. The message names it and says what would be right."""


class JobError(NephilaError):
    """The job folder cannot be used as asked."""


class DiskFull(NephilaError):
    """Nothing more can be stored; the database holds all that was committed."""


class Damaged(NephilaError):
    """A state file does not read back as written."""

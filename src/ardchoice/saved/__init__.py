"""Studies in files: JSON and plain arrays, checked when loaded, nothing unpickled.

A study saved today loads in every later version. So a schema only grows: a new field of a noun gets
a default that says what older files mean by its absence, and `SCHEMA` counts up, for older versions
to know that they are too old. What cannot be said by a default becomes a function in `UPGRADES`.
`tests/saved/schema_1` is a study of the first schema; every schema gets one.
"""

from ardchoice.saved.checkpoint import Checkpoint, changed, clear, differences, must_fit
from ardchoice.saved.folder import load_record, save_record
from ardchoice.saved.plain import to_json

__all__ = [
    "Checkpoint",
    "changed",
    "clear",
    "differences",
    "load_record",
    "must_fit",
    "save_record",
    "to_json",
]

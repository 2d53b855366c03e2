"""Studies in files: JSON and plain arrays, checked when loaded, nothing unpickled."""

from ardchoice.saved.checkpoint import Checkpoint, changed, clear, differences, must_fit
from ardchoice.saved.classes import SavedClass, saved_classes
from ardchoice.saved.decode import Decoder
from ardchoice.saved.encode import Encoder
from ardchoice.saved.folder import (
    is_saved_result,
    load_record,
    load_result,
    save_record,
    save_result,
)
from ardchoice.saved.plain import to_json

__all__ = [
    "Checkpoint",
    "Decoder",
    "Encoder",
    "SavedClass",
    "changed",
    "clear",
    "differences",
    "is_saved_result",
    "load_record",
    "load_result",
    "must_fit",
    "save_record",
    "save_result",
    "saved_classes",
    "to_json",
]

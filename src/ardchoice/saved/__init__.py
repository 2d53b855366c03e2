"""Studies in files: JSON and plain arrays, checked when loaded, nothing unpickled."""

from ardchoice.saved.checkpoint import Checkpoint, changed, clear, differences, must_fit
from ardchoice.saved.classes import SavedClass, saved_classes
from ardchoice.saved.decode import Decoder
from ardchoice.saved.encode import Encoder
from ardchoice.saved.folder import load_record, save_record
from ardchoice.saved.plain import to_json

__all__ = [
    "Checkpoint",
    "Decoder",
    "Encoder",
    "SavedClass",
    "changed",
    "clear",
    "differences",
    "load_record",
    "must_fit",
    "save_record",
    "saved_classes",
    "to_json",
]

"""What people read: the page of a study, its tables and figures, its summary."""

from ardchoice.report.evaluate import evaluate
from ardchoice.report.figures import write_figures
from ardchoice.report.page import write_report
from ardchoice.report.summary import summarise_record, summarise_study
from ardchoice.report.tables import write_tables

__all__ = [
    "evaluate",
    "summarise_record",
    "summarise_study",
    "write_figures",
    "write_report",
    "write_tables",
]

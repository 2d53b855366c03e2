"""Reports of a study: its page, tables, figures and summary."""

from ardchoice.report.brief import study_html
from ardchoice.report.document import Cell, Figure, Mark, Table, show
from ardchoice.report.figures import draw_figure, write_figures
from ardchoice.report.page import environment, write_report
from ardchoice.report.result_page import write_result_report
from ardchoice.report.style import BLUE, GREEN, GREY, ORANGE, STYLE
from ardchoice.report.summary import summarise_record
from ardchoice.report.tables import strip_control_characters, to_csv, write_tables

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "STYLE",
    "Cell",
    "Figure",
    "Mark",
    "Table",
    "draw_figure",
    "environment",
    "show",
    "strip_control_characters",
    "study_html",
    "summarise_record",
    "to_csv",
    "write_figures",
    "write_report",
    "write_result_report",
    "write_tables",
]

"""Report of a fitted model: one self-contained HTML file."""

from mcsquared.report.page import render, report_data, write_report

__all__ = ["render", "report_data", "write_report"]

"""Plot held-out perplexity by training time, with a label at the end of each curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.tables import Result

# Colour-blind safe palette of Okabe and Ito (2008). mcsquared has the two strongest colours.
MCSQUARED_COLOURS = ("#0072B2", "#D55E00")
PEER_COLOURS = {
    "tomotopy LDA": "#009E73",
    "tomotopy HDP": "#CC79A7",
    "scikit-learn LDA": "#E69F00",
    "MALLET LDA": "#56B4E9",
}
MARKERS = "os^DvPX"
SPACING = 0.045  # minimum distance of labels, as a share of the height


def draw_curves(result: Result, path: Path) -> None:
    """Plot the curves of a result over CPU-seconds, with log scales, and write a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 5.0), layout="constrained")
    ends = []
    colours, markers = iter(MCSQUARED_COLOURS), iter(MARKERS)
    for name, curve in result.curves.items():
        seconds, values = zip(*curve, strict=True)
        if name.startswith("mcsquared"):
            colour, style = next(colours), {"linewidth": 2.6, "zorder": 3}
        else:
            colour = PEER_COLOURS.get(name.split(",")[0], "black")
            style = {"linewidth": 1.2, "marker": next(markers), "markersize": 4}
        axes.plot(seconds, values, color=colour, **style)
        ends.append((seconds[-1], values[-1], name, colour))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("CPU-seconds of training")
    axes.set_ylabel("perplexity of the second half of held-out groups, given the first")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, which="both", axis="y")
    _label_ends(axes, ends)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _label_ends(axes: object, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each name next to the end of its curve, moved up to avoid overlaps."""
    axes.figure.canvas.draw()  # sets the limits
    to_share = axes.transAxes.inverted().transform
    last = max(seconds for seconds, *_ in ends)
    height = -1.0
    for seconds, value, name, colour in sorted(ends, key=lambda end: end[1]):
        share = to_share(axes.transData.transform((seconds, value)))[1]
        height = max(share, height + SPACING)
        axes.annotate(
            name,
            xy=(seconds, value),
            xytext=(to_share(axes.transData.transform((last, value)))[0] + 0.02, height),
            textcoords="axes fraction",
            color=colour,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6},
        )

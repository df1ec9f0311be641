"""Lines of code of the programs of a series, counted between marks in its sources:

    // begin lines: NAME, NAME        (# begin lines: NAME in Python)
    // end lines

Lines that are empty or only a comment do not count; a region with several names counts for each."""
import collections, pathlib

here = pathlib.Path(__file__).resolve().parent


def code_lines(series):
    """JSON lines: a row `lines of code: NAME` for each name in the series' sources, in the column of Sinter or of the script's framework."""
    counts = collections.OrderedDict()
    for path in [*sorted(here.glob(f"{series}*.cpp")), here / "peers" / f"{series}.py"]:
        names = []
        for text in map(str.strip, path.read_text().splitlines() if path.exists() else []):
            comment = text.removeprefix("//").removeprefix("#").strip() if text.startswith(("//", "#")) else ""
            if comment.startswith("begin lines:"):
                names = [name.strip() for name in comment.removeprefix("begin lines:").split(",")]
            elif comment == "end lines":
                names = []
            elif text and not comment:
                for name in names:
                    column = "Sinter" if path.suffix == ".cpp" else name
                    counts[name, column] = counts.get((name, column), 0) + 1
    return [{"series": series, "row": f"lines of code: {name}", "column": column, "value": count, "unit": "", "note": ""} for (name, column), count in counts.items()]

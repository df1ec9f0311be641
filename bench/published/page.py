"""The page of the published experiments: tables, charts and assertions from JSON lines (README.md has their forms), as Markdown and as HTML."""
import collections, html, json, math, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import charts

MODES = ("default", "best", "eager")
TIMES = {"s": 1, "ms": 1e-3, "us": 1e-6}
ABOUT = ("Published: as the article has it; [D] derived from its figures by arithmetic; [X] not in the article, but in the programs behind it. The other columns were "
         "measured on this machine. *default* is how a framework behaves if nothing is switched on, *best* the fastest way to have it do the same; for Sinter both are "
         "compiled. An article's seconds are of another machine.")


def series_figures(name):
    """What figures/NAME.json says: title, article, tables and charts."""
    path = pathlib.Path(__file__).resolve().parent / "figures" / f"{name}.json"
    if not path.exists():
        return {"title": name, "article": "", "about": "", "tables": [], "charts": []}
    return json.loads(path.read_text())


def split_column(column):
    """("PyTorch", "best") of "PyTorch best"; a column without a mode is a framework that has only one."""
    name, _, mode = column.rpartition(" ")
    return (name, mode) if mode in MODES else (column, "")


def show_time(seconds, digits=3):
    for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.{digits}g} {name}"
    return f"{seconds * 1e9:.{digits}g} ns"


def times(ratio):
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def show(value, unit, digits=4, time_digits=3):
    if value is None:
        return "not a number"
    if isinstance(value, str):
        return value
    if unit in TIMES:
        return show_time(value * TIMES[unit], time_digits)
    if isinstance(value, int):
        return f"{value:,}"
    return (repr(value) if digits >= 17 else f"{value:.{digits}g}") + (f" {unit}" if unit else "")


class Row:
    """A row of a table: published figures and measured ones, by framework and mode."""
    def __init__(self, spec):
        self.name, self.unit, self.digits = spec["row"], spec.get("unit", ""), spec.get("digits", 4)
        self.published = spec.get("published", [])
        self.more_is_better = spec.get("better") == "more"
        self.compared = "better" in spec or self.unit in TIMES
        self.cells = collections.OrderedDict()  # (framework, mode) -> line

    def add(self, line):
        self.unit = self.unit or line["unit"]
        if line["unit"] in TIMES:
            self.compared = True
        self.cells[split_column(line["column"])] = line

    def frameworks(self):
        return list(dict.fromkeys(framework for framework, _ in self.cells))

    def value(self, cell):
        """In seconds, if it is a time."""
        return cell["value"] * TIMES.get(cell["unit"], 1)

    def of(self, mine, modes):
        """(value, framework, mode) of each cell of Sinter, or of each other framework, with one of these modes."""
        return [(self.value(cell), framework, mode) for (framework, mode), cell in self.cells.items()
                if (framework == "Sinter") == mine and mode in modes and isinstance(cell["value"], (int, float))]

    def ratio(self, other, mine):
        """How many times better mine is than the other."""
        return (mine / other if self.more_is_better else other / mine) if mine and other else None

    def lead(self, sinter, rivals):
        pick = max if self.more_is_better else min
        mine, (rival, framework, _) = pick(sinter)[0], pick(rivals)
        ratio = self.ratio(rival, mine)
        if ratio is None:
            return ""
        if abs(ratio - 1) < 0.02:
            return f"level with {framework}"
        return f"ahead of {framework}, {times(ratio)}" if ratio > 1 else f"behind {framework}, {times(1 / ratio)}"

    def verdict(self):
        """Sinter against the best of the others: best against best, default against default, or against the article."""
        if not self.compared or not self.of(True, MODES + ("",)):
            return ""
        found = []
        for word, modes in (("best", MODES + ("",)), ("default", ("default", ""))):
            sinter, rivals = self.of(True, modes), self.of(False, modes)
            if sinter and rivals:
                found.append(f"{word}: {self.lead(sinter, rivals)}")
        numbers = [(p["value"] * TIMES.get(self.unit, 1), f"the article{': ' + p['what'] if p.get('what') else ''}", "") for p in self.published
                   if isinstance(p["value"], (int, float))]
        if not found and numbers:
            found.append(self.lead(self.of(True, MODES + ("",)), numbers))
        return "; ".join(found)

    def price(self):
        """{framework: default over best} where both were measured."""
        return {framework: self.ratio(self.value(self.cells[framework, "default"]), self.value(self.cells[framework, "best"]))
                for framework in self.frameworks()
                if all(isinstance(self.cells.get((framework, mode), {}).get("value"), (int, float)) for mode in ("default", "best"))} if self.compared else {}


class Section:
    """A series: its rows in their tables, its curves, assertions and remarks."""
    def __init__(self, name, lines):
        figures = series_figures(name)
        self.name, self.title, self.article, self.about = name, figures["title"], figures["article"], figures["about"]
        self.tables = [(table["title"], [Row(spec) for spec in table["rows"]]) for table in figures["tables"]]
        known = {row.name: row for _, rows in self.tables for row in rows}
        more = []
        self.charts = {c["title"]: (c["x"], {curve: [tuple(p) for p in points] for curve, points in c["curves"].items()}) for c in figures["charts"]}
        self.asserted = [line for line in lines if "assert" in line]
        self.remarks = list(dict.fromkeys(line["remark"] for line in lines if "remark" in line))
        for line in lines:
            if "row" in line:
                if line["row"] not in known:
                    more.append(known.setdefault(line["row"], Row({"row": line["row"]})))
                known[line["row"]].add(line)
            if "chart" in line and line["y"] is not None:
                self.charts.setdefault(line["chart"], ("", {}))[1].setdefault(line["curve"], []).append((line["x"], line["y"]))
        for _, rows in self.tables:
            rows[:] = [row for row in rows if row.published or row.cells]
        if more:
            self.tables.append(("Further figures" if self.tables else "", more))
        self.tables = [(title, [row for row in rows if row.cells or row.published]) for title, rows in self.tables]
        self.tables = [(title, rows) for title, rows in self.tables if rows]

    def rows(self):
        return [row for _, rows in self.tables for row in rows]


def published_text(row):
    marks = lambda p: f" [{p['mark']}]" if p.get("mark") else ""
    return [(p.get("what", "") + " " + show(p["value"], row.unit, row.digits, 4) + marks(p)).strip() + (f" ({p['note']})" if p.get("note") else "") for p in row.published]


def table_of(rows, notes):
    """Head and cells, each cell a list of lines. Notes get numbers and are collected."""
    frameworks = list(dict.fromkeys(f for row in rows for f in row.frameworks()))
    frameworks.sort(key=lambda f: f != "Sinter")
    verdicts = any(row.verdict() for row in rows)
    head = ["", "published", *frameworks] + (["Sinter is"] if verdicts else [])
    body = []
    for row in rows:
        cells = [[row.name], published_text(row)]
        for framework in frameworks:
            lines = []
            for (name, mode), cell in row.cells.items():
                if name != framework:
                    continue
                mark = ""
                if cell.get("note"):
                    if cell["note"] not in notes:
                        notes.append(cell["note"])
                    mark = f" ({notes.index(cell['note']) + 1})"
                lines.append(f"{mode} {show(cell['value'], cell['unit'], row.digits)}{mark}".strip())
            cells.append(lines)
        body.append(cells + ([[row.verdict()] if row.verdict() else []] if verdicts else []))
    return head, body


def bar_chart(title, rows):
    """Times over Sinter's best, a group a row; "" where no row has both."""
    groups, names = [], []
    for row in rows:
        mine = row.of(True, MODES + ("",))
        if row.unit not in TIMES or not mine or not row.of(False, MODES + ("",)):
            continue
        least = min(mine)[0]
        entries = [(f"{framework} {mode}".strip(), self_value / least, show_time(self_value)) for self_value, framework, mode in mine + row.of(False, MODES + ("",))]
        names.extend(n for n, _, _ in entries if n not in names)
        groups.append((row.name, entries))
    return charts.bars(groups, names, f"{title}: time over that of Sinter's best; shorter is better", label=330, unit=50) if groups else ""


def price_table(sections):
    """The price of not knowing: default over best, the geometric mean and the greatest over all rows that have both."""
    prices = collections.defaultdict(list)
    for section in sections:
        for row in section.rows():
            for framework, ratio in row.price().items():
                prices[framework].append((ratio, f"{section.name}: {row.name}"))
    body = []
    for framework, found in sorted(prices.items(), key=lambda item: item[0] != "Sinter"):
        mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
        worst, where = max(found)
        body.append([[framework], [str(len(found))], [times(mean)], [f"{times(worst)} ({where})"]])
    return ["", "rows", "default over best, geometric mean", "greatest"], body


class Markdown:
    def __init__(self, folder):
        self.folder, self.out = folder, []
    def heading(self, level, words): self.out.append(f"{'#' * level} {words}\n")
    def paragraph(self, words): self.out.append(words + "\n")
    def items(self, list_): self.out.append("".join(f"- {words}\n" for words in list_))
    def table(self, head, body):
        cell = lambda lines: "<br>".join(line.replace("|", "\\|") for line in lines)
        rows = [head] + [[cell(lines) for lines in row] for row in body]
        self.out.append("| " + " | ".join(rows[0]) + " |\n" + "|---" * len(head) + "|\n" + "".join("| " + " | ".join(row) + " |\n" for row in rows[1:]))
    def chart(self, name, svg):
        (self.folder / f"{name}.svg").write_text(svg)
        self.out.append(f"![{name}]({name}.svg)\n")
    def write(self): (self.folder / "published.md").write_text("\n".join(self.out))


class Html:
    STYLE = ("body{font:15px/1.45 sans-serif;max-width:1500px;margin:2em auto;padding:0 1em;color:#222;background:#fff}.wide{overflow-x:auto}"
             "table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:4px 8px;text-align:left;vertical-align:top}svg{max-width:100%;height:auto}"
             "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}td,th{border-color:#444}}")
    def __init__(self, folder):
        self.folder, self.out = folder, []
    def words(self, text):
        parts = html.escape(text).split("*")
        return "".join(f"<em>{p}</em>" if i % 2 and i + 1 < len(parts) else p for i, p in enumerate(parts))
    def heading(self, level, words): self.out.append(f"<h{level}>{html.escape(words)}</h{level}>")
    def paragraph(self, words): self.out.append(f"<p>{self.words(words)}</p>")
    def items(self, list_): self.out.append("<ul>" + "".join(f"<li>{html.escape(words)}</li>" for words in list_) + "</ul>")
    def table(self, head, body):
        row = lambda tag, cells: "<tr>" + "".join(f"<{tag}>{'<br>'.join(map(html.escape, lines))}</{tag}>" for lines in cells) + "</tr>"
        self.out.append('<div class="wide"><table>' + row("th", [[h] for h in head]) + "\n".join(row("td", cells) for cells in body) + "</table></div>")
    def chart(self, name, svg): self.out.append(f"<p>{svg}</p>")
    def write(self):
        (self.folder / "published.html").write_text('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Published experiments</title><style>'
                                                    + self.STYLE + "</style></head><body>\n" + "\n".join(self.out) + "\n</body></html>\n")


def asserted_text(line):
    value, low, high = line["value"], line["low"], line["high"]
    number = lambda x: f"{x:.10g}" if low != high else f"{x:g}" if x == int(x) else repr(x)
    verdict = "holds" if line["ok"] else "DOES NOT HOLD"
    return f"{verdict}: {line['assert']}: {'NaN' if value is None else number(value)}" + (f" in [{number(low)}, {number(high)}]" if low != high else f", must be {number(low)}")


def write(folder, lines, machine):
    """Both pages into the folder. The lines are grouped by series in the order of their first line."""
    by_series = collections.OrderedDict()
    for line in lines:
        by_series.setdefault(line["series"], []).append(line)
    sections = [Section(name, found) for name, found in by_series.items()]
    folder.mkdir(parents=True, exist_ok=True)
    for page in (Markdown(folder), Html(folder)):
        page.heading(1, "Published experiments on Sinter")
        page.paragraph(machine)
        page.paragraph(ABOUT)
        head, body = price_table(sections)
        if body:
            page.heading(2, "The price of not knowing")
            page.paragraph("How much slower each framework is as it behaves by default than in its best mode, over the rows below that have both.")
            page.table(head, body)
        for section in sections:
            page.heading(2, section.title)
            if section.article:
                page.paragraph(f"Article: {section.article}. {section.about}")
            if section.remarks:
                page.items(section.remarks)
            for number, (title, rows) in enumerate(section.tables, 1):
                notes = []
                if title:
                    page.heading(3, title)
                page.table(*table_of(rows, notes))
                if notes:
                    page.items(f"({i}) {note}" for i, note in enumerate(notes, 1))
                svg = bar_chart(title or section.title, rows)
                if svg:
                    page.chart(f"{section.name}-table-{number}", svg)
            for number, (title, (x, curves)) in enumerate(section.charts.items(), 1):
                page.chart(f"{section.name}-chart-{number}", charts.curves(title, curves, x or "epoch"))
            if section.asserted:
                page.heading(3, "Asserted")
                page.items(map(asserted_text, section.asserted))
        page.write()

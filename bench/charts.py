"""Charts as SVG text, with nothing but Python's standard library. Each stands alone or in an HTML page, needs no script, and is light or dark as the
reader's system is."""
import html, math

LIGHT = ("#c0392b", "#e6a59d", "#2c7fb8", "#f0a202", "#7b3294", "#4d9221", "#636363", "#1b9e77")
DARK = ("#ff7b6b", "#8f4a42", "#6db6e8", "#ffc04d", "#c38be0", "#8fd460", "#b0b0b0", "#5fd3ae")


def style():
    def rules(text, line, back, colors):
        return (f".chart .back{{fill:{back}}}.chart text{{fill:{text}}}.chart .axis{{stroke:{line}}}"
                + "".join(f".chart .c{i}{{fill:{c}}}.chart .l{i}{{stroke:{c}}}" for i, c in enumerate(colors)))
    return (f"<style>{rules('#222', '#bbb', '#fff', LIGHT)}.chart .curve{{fill:none;stroke-width:1.8}}"
            f"@media(prefers-color-scheme:dark){{{rules('#ddd', '#555', '#16181c', DARK)}}}</style>")


def drawing(width, height, parts):
    return (f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" '
            f'font-size="11">{style()}<rect class="back" width="{width}" height="{height}"/>' + "".join(parts) + "</svg>\n")


def text(x, y, words, extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{extra}>{html.escape(str(words))}</text>'


def bars(groups, names, caption, most=8, label=190, unit=70, room=190):
    """Groups [(head, [(name, ratio, words)])]: each bar is as long as its ratio, cut at `most`; its color is that of its name among `names`."""
    bar, y, out = 15, 24, []
    for head, entries in groups:
        out.append(text(0, y + bar - 3, head, ' font-weight="bold"'))
        for name, ratio, words in entries:
            length = min(ratio, most) * unit
            out.append(f'<rect class="c{names.index(name) % len(LIGHT)}" x="{label}" y="{y}" width="{max(length, 1):.0f}" height="{bar - 3}"/>')
            out.append(text(label + length + 6, y + bar - 4, f"{name} {words}{' →' if ratio > most else ''}"))
            y += bar
        y += 10
    return drawing(label + most * unit + room, y, [text(label, 14, caption), *out])


def spans(rows, names, caption, width=460, label=152, room=135):
    """Rows [(name, ratio, words)]: each bar is as long as its ratio; its first unit has the color of the first of two names, the rest that of the second."""
    bar, y, unit, out = 21, 48, (width - label - room) / max(ratio for _, ratio, _ in rows), [text(8, 16, caption, ' font-weight="bold"')]
    for i, name in enumerate(names):
        out.append(f'<rect class="c{i}" x="{8 + 75 * i}" y="26" width="10" height="10"/>' + text(23 + 75 * i, 35, name))
    for name, ratio, words in rows:
        out.append(text(label - 6, y + bar - 8, name, ' text-anchor="end"'))
        for i, length in ((1, ratio), (0, min(ratio, 1))):
            out.append(f'<rect class="c{i}" x="{label}" y="{y + 2}" width="{length * unit:.1f}" height="{bar - 6}"/>')
        out.append(text(label + ratio * unit + 6, y + bar - 8, words))
        y += bar
    return drawing(width, y + 8, out)


def ticks(low, high, count=5):
    """Round numbers from low to high."""
    if not high > low:
        return [low]
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(f for f in (1, 2, 5, 10) if (high - low) / (step * f) <= count)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def curves(title, lines, x_name, width=640, height=260):
    """Lines {name: [(x, y)]} over common axes, with their names at the right."""
    left, right, top, bottom = 56, 170, 26, 36
    points = [p for line in lines.values() for p in line]
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y0, y1 = min(p[1] for p in points), max(p[1] for p in points)
    if x1 == x0:
        x1 = x0 + 1
    if y1 == y0:
        y1 = y0 + (abs(y0) or 1)
    at_x = lambda x: left + (x - x0) / (x1 - x0) * (width - left - right)
    at_y = lambda y: height - bottom - (y - y0) / (y1 - y0) * (height - top - bottom)
    out = [text(left, 14, title, ' font-weight="bold"'), text((left + width - right) / 2, height - 6, x_name, ' text-anchor="middle"')]
    for y in ticks(y0, y1):
        out.append(f'<line class="axis" x1="{left}" x2="{width - right}" y1="{at_y(y):.1f}" y2="{at_y(y):.1f}"/>')
        out.append(text(left - 5, at_y(y) + 4, f"{y:.4g}", ' text-anchor="end"'))
    for x in ticks(x0, x1, 8):
        out.append(text(at_x(x), height - bottom + 14, f"{x:.4g}", ' text-anchor="middle"'))
    for i, (name, line) in enumerate(lines.items()):
        i %= len(LIGHT)
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in line)
        out.append(f'<polyline class="curve l{i}" points="{path}"/>')
        out.extend(f'<circle class="c{i}" cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="2"/>' for x, y in (line if len(line) < 3 else []))
        out.append(f'<rect class="c{i}" x="{width - right + 10}" y="{top + 16 * i}" width="10" height="10"/>')
        out.append(text(width - right + 25, top + 16 * i + 9, name))
    return drawing(width, max(height, top + 16 * len(lines) + 8), out)

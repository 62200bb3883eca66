// How a range becomes rows of cells. Pure.

// Up to this many addresses a range is drawn address by address; beyond, only those that somebody has.
const MOST_DRAWN = 4096n;
// Up to this many it is drawn without leaving out rows in which everything is free.
const MOST_WHOLE = 512n;
// Fewer free rows than this are not worth leaving out.
const LEAST_GAP = 4n;

// The rows of a section: {mode: "map" | "list", rows}. In a map a row is {kind: "row", first, from, to}: the address of its first
// column, and first and last address that belong to the range; or {kind: "gap", first, last}: free rows that are left out.
// Sections of several ranges, and large ones, are lists: the page shows the addresses in use only.
export function layOut(section, columns) {
  if (section.ranges.length !== 1 || section.size > MOST_DRAWN) return { mode: "list", rows: [] };
  const [range] = section.ranges;
  const width = BigInt(columns);
  // Long ranges are laid out by round addresses, short ones from where they begin.
  const start = section.size > 2n * width ? range.first - (range.first % width) : range.first;
  const used = new Set(section.infos.map((info) => (info.value - start) / width));
  const last = (range.last - start) / width;
  const rows = [];
  for (let row = 0n; row <= last; ++row) {
    const first = start + row * width;
    const end = freeUntil(row, last, used);
    if (section.size > MOST_WHOLE && end - row >= LEAST_GAP) {
      const from = first < range.first ? range.first : first;
      const to = start + end * width - 1n;
      rows.push({ kind: "gap", first: from, last: to > range.last ? range.last : to });
      row = end - 1n;
    } else {
      const to = first + width - 1n;
      rows.push({ kind: "row", first, from: first < range.first ? range.first : first, to: to > range.last ? range.last : to });
    }
  }
  return { mode: "map", rows };
}

function freeUntil(row, last, used) {
  let end = row;
  while (end <= last && !used.has(end)) ++end;
  return end;
}

// Where a key takes the focus among rows of `lengths` cells; null if it means nothing here.
export function moveFocus(lengths, at, key, control) {
  const clamp = (row, column) => ({ row, column: Math.min(column, lengths[row] - 1) });
  const { row, column } = at;
  switch (key) {
    case "ArrowLeft":
      if (column > 0) return { row, column: column - 1 };
      return row > 0 ? { row: row - 1, column: lengths[row - 1] - 1 } : at;
    case "ArrowRight":
      if (column + 1 < lengths[row]) return { row, column: column + 1 };
      return row + 1 < lengths.length ? { row: row + 1, column: 0 } : at;
    case "ArrowUp": return row > 0 ? clamp(row - 1, column) : at;
    case "ArrowDown": return row + 1 < lengths.length ? clamp(row + 1, column) : at;
    case "PageUp": return clamp(Math.max(0, row - 8), column);
    case "PageDown": return clamp(Math.min(lengths.length - 1, row + 8), column);
    case "Home": return control ? { row: 0, column: 0 } : { row, column: 0 };
    case "End": return control ? clamp(lengths.length - 1, Infinity) : { row, column: lengths[row] - 1 };
    default: return null;
  }
}

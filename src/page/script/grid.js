// The map of one section: an ARIA grid with one tab stop. Cells are made once and changed where their address changed.
import { addressKey, contains, formatAddress, formatRange } from "./ip.js";
import { layOut, moveFocus } from "./layout.js";
import { describe, formatCount } from "./text.js";
import { element, setAttributes } from "./dom.js";

const FIRST_IN_LIST = 256;

export class Grid {
  #rows = [];      // elements that can have the focus, by row
  #cells = new Map();
  #shape = "";
  #limit = FIRST_IN_LIST;
  #handlers;

  // handlers: open(key, cell) when a cell is chosen, peek(text) when one is looked at, changed() when more is to be drawn.
  constructor(label, handlers) {
    this.#handlers = handlers;
    this.element = element("div", { class: "grid", role: "grid", "aria-label": label });
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("click", (event) => this.#choose(event.target.closest("[data-cell]")));
    this.element.addEventListener("focusin", (event) => this.#onFocus(event.target));
    this.element.addEventListener("pointerover", (event) => this.#look(event.target.closest("[data-cell]")));
    this.element.addEventListener("pointerleave", () => this.#handlers.peek(""));
    this.element.addEventListener("focusout", () => this.#handlers.peek(""));
  }

  // Draws a section. `context`: {usable, selected, matches(info)}.
  update(section, columns, context) {
    const layout = layOut(section, columns);
    const listed = layout.mode === "list" ? section.infos.slice(0, this.#limit) : [];
    const shape = this.#shapeOf(layout, listed, columns);
    if (shape !== this.#shape) {
      const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.cell : null;
      this.#build(layout, listed, section, columns);
      this.#shape = shape;
      if (focused) (this.#cells.get(focused) ?? this.#rows[0]?.[0])?.focus();
    }
    this.#paint(section, context);
    this.element.hidden = this.#rows.length === 0;
    return { mode: layout.mode, listed: listed.length, rows: this.#rows.length };
  }

  showMore() {
    this.#limit += FIRST_IN_LIST * 4;
  }

  cell(key) {
    return this.#cells.get(key);
  }

  #shapeOf(layout, listed, columns) {
    if (layout.mode === "list") return "list/" + columns + "/" + listed.map((info) => info.key).join();
    return "map/" + columns + "/" + layout.rows.map((row) => row.kind[0] + (row.from ?? row.first)).join();
  }

  #build(layout, listed, section, columns) {
    this.#cells = new Map();
    this.#rows = [];
    const nodes = layout.mode === "list" ? this.#buildList(listed, columns) : this.#buildMap(layout.rows, section.family, columns);
    this.element.replaceChildren(...nodes);
    setAttributes(this.element, { class: "grid " + layout.mode, "data-family": section.family });
    for (const cell of this.#rows.flat()) cell.tabIndex = -1;
    if (this.#rows.length > 0) this.#rows[0][0].tabIndex = 0;
  }

  #buildMap(rows, family, columns) {
    return rows.map((row) => {
      if (row.kind === "gap") return this.#buildGap(row, family, columns);
      const label = formatAddress(family, row.from);
      const node = element("div", { class: "row", role: "row" }, element("span", { class: "at", role: "rowheader" }, label));
      const cells = [];
      for (let value = row.first; value < row.first + BigInt(columns); ++value) {
        if (value < row.from || value > row.to) {
          node.append(element("span", { class: "void", role: "presentation" }));
          continue;
        }
        const key = addressKey(family, value);
        const cell = element("span", { role: "gridcell", "data-cell": key });
        cell.value = value;
        this.#cells.set(key, cell);
        cells.push(cell);
        node.append(cell);
      }
      this.#rows.push(cells);
      return node;
    });
  }

  #buildGap(row, family, columns) {
    const text = `${formatCount(row.last - row.first + 1n)} more, all free: ${formatRange({ family, ...row })}`;
    const cell = element("span", { role: "gridcell", class: "gap", "aria-colspan": columns }, text);
    this.#rows.push([cell]);
    return element("div", { class: "row", role: "row" }, cell);
  }

  #buildList(infos, columns) {
    // Two to a row at least where they are short.
    const wide = Math.max(1, Math.floor(columns / (infos.every((info) => info.family === 4) ? 8 : 16)));
    const rows = [];
    for (let i = 0; i < infos.length; i += wide) {
      const cells = infos.slice(i, i + wide).map((info) => {
        const cell = element("span", { role: "gridcell", "data-cell": info.key }, element("span", { class: "text" }, info.text));
        this.#cells.set(info.key, cell);
        return cell;
      });
      this.#rows.push(cells);
      rows.push(element("div", { class: "row", role: "row" }, ...cells));
    }
    return rows;
  }

  #paint(section, context) {
    const taken = new Map(section.infos.map((info) => [info.key, info]));
    for (const [key, cell] of this.#cells) {
      const info = taken.get(key);
      const state = info?.state ?? (contains(context.usable, section.family, cell.value) ? "free" : "excluded");
      const flags = (info?.deleting ? " deleting" : "") + (info && context.matches(info) ? " match" : "");
      setAttributes(cell, {
        class: "cell " + state + flags,
        "aria-label": info ? describe(info) : formatAddress(section.family, cell.value) + ", " + state,
        "aria-selected": key === context.selected ? "true" : null,
      });
    }
  }

  #position(cell) {
    const row = this.#rows.findIndex((cells) => cells.includes(cell));
    return row < 0 ? null : { row, column: this.#rows[row].indexOf(cell) };
  }

  #onKey(event) {
    const at = this.#position(event.target);
    if (!at || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      this.#choose(event.target);
      event.preventDefault();
      return;
    }
    const to = moveFocus(this.#rows.map((cells) => cells.length), at, event.key, event.ctrlKey);
    if (!to) return;
    event.preventDefault();
    this.#rows[to.row][to.column].focus();
  }

  #onFocus(cell) {
    if (!this.#position(cell)) return;
    for (const other of this.element.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    this.#look(cell);
  }

  #look(cell) {
    if (cell) this.#handlers.peek(cell.getAttribute("aria-label") ?? cell.textContent);
  }

  #choose(cell) {
    if (!cell?.dataset.cell) return;
    cell.focus();
    this.#handlers.open(cell.dataset.cell, cell);
  }
}

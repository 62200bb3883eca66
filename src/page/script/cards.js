// One card for each class: its numbers, what is wrong, who waits, and the map or table of its addresses.
import { contains, formatRange } from "./ip.js";
import { element, quoted, reconcileChildren, setAttributes, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { clean, formatCount, ownerText, plural, STATES, stateName } from "./text.js";

const MOST_CLAIMS = 20;
const FIRST_ROWS = 200;
// Longer sections are laid out by the browser when they come into sight.
const MOST_ROWS_LAID_OUT = 64;

export class Card {
  #grids = new Map();
  #rows = FIRST_ROWS;
  #handlers;

  constructor(handlers) {
    this.#handlers = handlers;
    const id = "class-" + Card.next++;
    this.title = element("h2", { id });
    this.badges = element("ul", { class: "badges", "aria-label": "About this class" });
    this.numbers = element("p", { class: "numbers" });
    this.key = element("ul", { class: "key", "aria-label": "Addresses by state" });
    this.troubles = element("ul", { class: "troubles", "aria-label": "Problems" });
    this.waiting = element("ul", { class: "waiting", "aria-label": "Claims that wait" });
    this.sections = element("div", { class: "sections" });
    this.table = element("div", { class: "table" });
    this.element = element(
      "section", { class: "card", "aria-labelledby": id },
      element("div", { class: "title" }, this.title, this.badges),
      this.numbers, this.key, this.troubles, this.waiting, this.sections, this.table,
    );
  }

  static next = 1;

  update(view, context) {
    this.title.replaceChildren(quoted(clean(view.name, 253) || "(no class)"));
    fill(this.badges, badgesOf(view));
    setText(this.numbers, numbersOf(view));
    this.#updateKey(view);
    fill(this.troubles, view.troubles.map(({ reason, message }) => `${reason}: ${message}`));
    fill(this.waiting, claimLines(view.claims));
    this.sections.hidden = context.view !== "map";
    this.table.hidden = context.view !== "table";
    if (context.view === "map") this.#updateSections(view, context);
    else this.#updateTable(view, context);
  }

  // The cell of an address, if it is drawn here.
  cell(key) {
    for (const grid of this.#grids.values()) if (grid.cell(key)) return grid.cell(key);
    return this.table.querySelector(`button[data-address="${CSS.escape(key)}"]`);
  }

  #updateKey(view) {
    const wanted = new Map(STATES.filter(([key]) => view.counts.get(key) > 0n).map(([key]) => [key, view.counts.get(key)]));
    const make = () => element("li", {}, element("span", { "aria-hidden": "true" }), element("span", {}));
    reconcileChildren(this.key, wanted, make, () => {});
    for (const item of this.key.children) {
      setAttributes(item.firstChild, { class: "cell swatch " + item.dataset.key });
      // Free addresses of two families are no sensible sum; the line above has both numbers.
      const mixed = item.dataset.key === "free" && view.totals.every(({ count }) => count > 0n);
      setText(item.lastChild, (mixed ? "" : formatCount(wanted.get(item.dataset.key)) + " ") + stateName(item.dataset.key));
    }
  }

  #updateSections(view, context) {
    const wanted = new Map(view.sections.map((section) => [sectionTitle(section), section]));
    if (view.outside.length > 0) wanted.set(outsideTitle(view), { ranges: [], family: 0, infos: view.outside, size: null });
    for (const key of this.#grids.keys()) if (!wanted.has(key)) this.#grids.delete(key);
    reconcileChildren(
      this.sections, wanted,
      (section) => this.#makeSection([...wanted].find(([, other]) => other === section)[0], view.name),
      (node, section) => this.#updateSection(node, section, view, context),
    );
  }

  #makeSection(title, name) {
    const grid = new Grid(`${title}, class ${clean(name, 253)}`, this.#handlers);
    this.#grids.set(title, grid);
    const more = element("button", { type: "button", class: "more" }, "Show more");
    more.addEventListener("click", () => {
      grid.showMore();
      this.#handlers.changed();
    });
    return element("div", { class: "section" }, element("h3", {}, title), element("p", { class: "remark" }), grid.element, more);
  }

  #updateSection(node, section, view, context) {
    const grid = this.#grids.get(node.dataset.key);
    const { mode, listed, rows } = grid.update(section, context.columns, { ...context, usable: view.usable });
    node.classList.toggle("long", rows > MOST_ROWS_LAID_OUT);
    setText(node.querySelector(".remark"), mode === "list" ? listRemark(section, view, listed) : "");
    node.querySelector(".more").hidden = mode !== "list" || listed >= section.infos.length;
  }

  #updateTable(view, context) {
    const infos = [...view.sections.flatMap((section) => section.infos), ...view.outside].filter(
      (info) => !context.filtering || context.matches(info),
    );
    if (!this.table.firstChild) this.#makeTable(clean(view.name, 253));
    const wanted = new Map(infos.slice(0, this.#rows).map((info) => [info.key, info]));
    reconcileChildren(this.table.querySelector("tbody"), wanted, makeRow, updateRow);
    for (const row of this.table.querySelectorAll("tbody tr"))
      setAttributes(row, { class: row.dataset.key === context.selected ? "selected" : null });
    this.table.querySelector("table").hidden = infos.length === 0;
    setText(this.table.querySelector(".rest"), tableRemark(infos.length, view, context));
    this.table.querySelector(".more").hidden = infos.length <= this.#rows;
  }

  #makeTable(name) {
    const heads = ["Address", "State", "Claim", "Attached to", "Object"].map((text) => element("th", { scope: "col" }, text));
    const more = element("button", { type: "button", class: "more" }, "Show more");
    more.addEventListener("click", () => {
      this.#rows += FIRST_ROWS * 4;
      this.#handlers.changed();
    });
    this.table.append(
      element(
        "div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Addresses in use, class ${name}` },
        element("table", {}, element("caption", { class: "hidden" }, "Addresses in use, class " + name),
          element("thead", {}, element("tr", {}, ...heads)), element("tbody", {})),
      ),
      element("p", { class: "rest" }), more,
    );
    this.table.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-address]");
      if (button) this.#handlers.open(button.dataset.address, button);
    });
  }
}

function makeRow(info) {
  const cells = [0, 1, 2, 3].map(() => element("td", {}));
  cells[0].append(element("span", { "aria-hidden": "true" }), element("span", {}));
  for (const cell of cells.slice(1)) cell.append(quoted(""));
  const button = element("button", { type: "button", class: "plain", "data-address": info.key }, quoted(info.text));
  return element("tr", {}, element("th", { scope: "row" }, button), ...cells);
}

function updateRow(row, info) {
  const cells = row.querySelectorAll("td");
  setAttributes(cells[0].firstChild, { class: "cell swatch " + info.state });
  setText(cells[0].lastChild, stateName(info.state) + (info.deleting ? ", being deleted" : ""));
  const shown = info.users.filter((user) => !user.placeholder).map((user) => "Service " + ownerText(user));
  const texts = [
    ownerText(info.claim),
    info.workload ? clean(info.workload.kind, 63) + " " + ownerText(info.workload) : shown.join(", "),
    clean(info.objects[0]?.metadata.name, 253),
  ];
  texts.forEach((text, i) => setText(cells[i + 1].firstChild, text));
}

// Short texts as list items; the list hides when there are none.
function fill(list, texts) {
  if (texts.join("\n") !== list.dataset.content) {
    list.dataset.content = texts.join("\n");
    list.replaceChildren(...texts.map((text) => element("li", {}, quoted(text))));
  }
  list.hidden = texts.length === 0;
}

function badgesOf(view) {
  if (!view.exists) return ["class deleted; its addresses stay held"];
  const badges = [view.isDefault ? "default" : "", view.deleting ? "being deleted" : "", view.provisioner];
  return [...badges, view.reclaimPolicy].filter((text) => text !== "");
}

function numbersOf(view) {
  if (view.origin === "gone") return "";
  if (view.origin === "none") return "The class does not say which addresses it has.";
  const parts = view.totals
    .filter(({ count }) => count > 0n)
    .map(({ family, count, free }) => `${plural(count, `IPv${family} address`, `IPv${family} addresses`)}, ${formatCount(free)} free`);
  return parts.join("; ") + (view.origin === "status" ? "; as the driver reports them" : "");
}

export function claimLines(claims) {
  const lines = claims.slice(0, MOST_CLAIMS).map((claim) => {
    const what = claim.phase === "Lost" ? "has lost an address" : "waits for " + claim.family;
    return `${claim.namespace}/${claim.name} ${what}` + (claim.reason ? `: ${claim.reason}. ${claim.message}` : "");
  });
  if (claims.length > MOST_CLAIMS) lines.push(`and ${formatCount(claims.length - MOST_CLAIMS)} more`);
  return lines;
}

function sectionTitle(section) {
  if (section.ranges.length === 1) return formatRange(section.ranges[0]);
  return formatCount(section.ranges.length) + " more ranges";
}

function outsideTitle(view) {
  return view.entries.length > 0 ? "Outside the ranges" : "Addresses";
}

function listRemark(section, view, listed) {
  const some = listed < section.infos.length ? `; the first ${formatCount(listed)} are shown` : "";
  if (section.size === null) return plural(section.infos.length, "address", "addresses") + some;
  const taken = section.infos.length;
  const verb = taken === 1 ? " is in use" : " are in use";
  return `${formatCount(taken)} of ${formatCount(section.size)}${verb}${some}. Too many to draw: only those in use are shown.`;
}

function tableRemark(count, view, context) {
  if (context.filtering) return plural(count, "address", "addresses") + " found";
  const free = view.counts.get("free");
  const used = view.sections.flatMap((section) => section.infos).filter((info) => contains(view.usable, info.family, info.value)).length;
  if (count === 0) return `Nothing is in use; ${formatCount(free)} free.`;
  return `${plural(count, "address is", "addresses are")} in use or kept, ${used} of them in the ranges; ${formatCount(free)} free.`;
}

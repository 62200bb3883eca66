// The list of what happened.
import { element, quoted, reconcileChildren, setText } from "./dom.js";
import { timeOfItem } from "./timeline.js";

const FIRST_SHOWN = 100;

export class FeedView {
  // `open(key)` shows the address that a change is about.
  constructor({ list, empty, open }) {
    this.list = list;
    this.empty = empty;
    this.open = open;
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-address]");
      if (button) this.open(button.dataset.address, button);
    });
  }

  render(items) {
    const wanted = new Map(items.slice(0, FIRST_SHOWN).map((item) => [item.id, item]));
    reconcileChildren(this.list, wanted, make, update);
    this.empty.hidden = items.length > 0;
  }
}

function make(item) {
  const parts = [element("time", { datetime: item.at })];
  if (item.warning) parts.push(element("strong", { class: "flag" }, "Warning"));
  if (item.type === "change") {
    parts.push(element("button", { type: "button", class: "plain", "data-address": item.key }, quoted(item.text)));
  } else {
    parts.push(quoted(item.title, { class: "reason" }), quoted("", { class: "times" }), quoted(item.about, { class: "about" }));
    parts.push(quoted("", { class: "note" }));
  }
  // Blanks between them are for lines to break at, and for voices.
  const spaced = parts.flatMap((part) => [part, " "]);
  return element("li", { class: item.type + (item.warning ? " warning" : "") }, ...spaced);
}

function update(node, item) {
  const time = node.querySelector("time");
  if (time.dateTime !== item.at) time.dateTime = item.at;
  setText(time, timeOfItem(item));
  if (item.type !== "event") return;
  setText(node.querySelector(".times"), item.count > 1 ? `${item.count} times` : "");
  setText(node.querySelector(".note"), item.text);
}

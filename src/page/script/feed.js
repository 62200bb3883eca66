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
  return element(
    "li",
    { class: item.type + (item.warning ? " warning" : "") },
    element("time", { datetime: item.at }, ""),
    item.warning ? element("strong", { class: "flag" }, "Warning") : null,
    item.type === "change" ? element("button", { type: "button", class: "plain", "data-address": item.key }, quoted(item.text)) : null,
    item.type === "event" ? quoted(item.title, { class: "reason" }) : null,
    item.type === "event" ? quoted("", { class: "times" }) : null,
    item.type === "event" ? quoted(item.about, { class: "about" }) : null,
    item.type === "event" ? quoted("", { class: "note" }) : null,
  );
}

function update(node, item) {
  const time = node.querySelector("time");
  if (time.dateTime !== item.at) time.dateTime = item.at;
  setText(time, timeOfItem(item));
  if (item.type !== "event") return;
  setText(node.querySelector(".times"), item.count > 1 ? `${item.count} times` : "");
  setText(node.querySelector(".note"), item.text);
}

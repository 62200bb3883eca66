// What happened, newest first: events of the cluster and changes of addresses. Pure. The order is that of arrival, since clocks
// of the cluster and of the browser differ; only what was there at the start is sorted by its own time.
import { clean, clock } from "./text.js";

const MOST_ITEMS = 300;
const TOLD_KINDS = new Set([
  "IPAddress", "IPAddressClaim", "IPAddressClass", "Service", "IPAddressPool", "L2Advertisement", "BGPAdvertisement",
]);

// When an event (events.k8s.io/v1) last happened; older writers fill the deprecated fields.
export function timeOfEvent(event) {
  const time = event.series?.lastObservedTime ?? event.deprecatedLastTimestamp ?? event.eventTime;
  return time ?? event.metadata.creationTimestamp ?? "";
}

function itemOfEvent(event, id) {
  const { kind = "", namespace = "", name = "" } = event.regarding ?? {};
  const count = event.series?.count ?? event.deprecatedCount ?? 1;
  return {
    id,
    type: "event",
    warning: event.type === "Warning",
    at: timeOfEvent(event),
    title: clean(event.reason, 128),
    about: clean(kind, 63) + " " + clean(namespace && kind !== "IPAddress" && kind !== "IPAddressClass" ? namespace + "/" + name : name, 320),
    text: clean(event.note, 1024),
    count: Number.isSafeInteger(count) && count > 1 ? count : 1,
  };
}

export class Timeline {
  items = [];
  #seen = new Map();

  // Takes the events as they are now; returns the items that are new or happened again.
  takeEvents(events) {
    const fresh = [];
    const seen = new Map();
    for (const event of events) {
      if (!TOLD_KINDS.has(event.regarding?.kind)) continue;
      const id = "event/" + event.metadata.uid;
      const version = event.metadata.resourceVersion;
      seen.set(id, version);
      if (this.#seen.get(id) !== version) fresh.push(itemOfEvent(event, id));
    }
    this.#seen = seen;
    fresh.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
    this.#put(fresh);
    return fresh;
  }

  takeChanges(changes, now) {
    const fresh = changes.map((change, i) => ({
      id: `change/${now.getTime()}/${i}/${change.key}`,
      type: "change",
      warning: change.warning,
      at: now.toISOString(),
      title: "",
      about: "",
      text: change.text,
      count: 1,
      key: change.key,
    }));
    this.#put(fresh);
    return fresh;
  }

  #put(fresh) {
    if (fresh.length === 0) return;
    const ids = new Set(fresh.map((item) => item.id));
    this.items = [...fresh, ...this.items.filter((item) => !ids.has(item.id))].slice(0, MOST_ITEMS);
  }

  // What a filter ("all", "event", "change", "warning") leaves.
  filtered(filter) {
    if (filter === "warning") return this.items.filter((item) => item.warning);
    return filter === "all" ? this.items : this.items.filter((item) => item.type === filter);
  }
}

// An item as a sentence for the live region.
export function sayItem(item) {
  if (item.type === "change") return item.text;
  return `${item.warning ? "Warning: " : ""}${item.title}, ${item.about}`;
}

export function timeOfItem(item) {
  return clock(item.at);
}

// Making elements. Text goes in as text nodes only; there is no way from here to markup.

// element("p", {class: "note", "aria-label": "x"}, "text", child, …). Attributes that are null or false are left out.
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  setAttributes(node, attributes);
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export function setAttributes(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(key);
    else if (node.getAttribute(key) !== String(value)) node.setAttribute(key, value === true ? "" : value);
  }
}

// Text of the cluster, kept from reordering what stands around it.
export function quoted(text, attributes = {}) {
  return element("bdi", attributes, text);
}

// Sets an element's text if it differs, so that nothing is laid out or read again for nothing.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Makes the children of `parent` those of `wanted` (a Map key -> item) in order: what is there under a key is updated, the rest
// made or removed. make(item) returns an element, update(element, item) changes it.
export function reconcileChildren(parent, wanted, make, update) {
  const present = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const [key, item] of wanted) {
    let child = present.get(key);
    if (child) {
      present.delete(key);
    } else {
      child = make(item);
      child.dataset.key = key;
    }
    update(child, item);
    const place = before ? before.nextSibling : parent.firstChild;
    if (child !== place) parent.insertBefore(child, place);
    before = child;
  }
  for (const child of present.values()) child.remove();
}

// Making elements, and showing values of every kind. Whatever comes from a server becomes text here, never markup.

/** An element: attributes by name, then children, which are nodes or text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Past this many characters JSON is shown without colours, and past the second in part. */
const COLOUR_UP_TO = 20_000;
const SHOW_UP_TO = 60_000;
const ONE_LINE = 46;
/** Deeper than this nothing is indented any more: a server may nest as deep as it likes. */
const MAX_INDENT = 80;

/** A value as indented JSON. */
export function json(value) {
  const text = written(value);
  const pre = make("pre", { class: "json" });
  if (text.length > COLOUR_UP_TO) {
    pre.append(text.slice(0, SHOW_UP_TO));
    if (text.length > SHOW_UP_TO) {
      const more = make("button", { type: "button", class: "quiet" }, `Show all ${text.length} characters`);
      more.addEventListener("click", () => pre.replaceChildren(text));
      pre.append("\n", more);
    }
    return pre;
  }
  for (const line of text.split("\n")) pre.append(jsonLine(line));
  return pre;
}

function written(value) {
  try {
    return pretty(value);
  } catch {
    return "(nested too deeply to be shown)";
  }
}

/** Indented JSON in which what is short enough stays on one line. */
function pretty(value, indent = "", before = 0) {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? String(value);
  const isList = Array.isArray(value);
  const keys = Object.keys(value);
  if (keys.length === 0) return isList ? "[]" : "{}";
  if (indent.length > MAX_INDENT) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = keys.map((key) => {
    const name = isList ? "" : `${JSON.stringify(key)}: `;
    return name + pretty(value[key], inner, name.length);
  });
  const short = parts.join(", ");
  const [open, close] = isList ? "[]" : "{}";
  const fits = indent.length + before + short.length < ONE_LINE && !short.includes("\n");
  if (fits && indent !== "") return open + short + close;
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

/** A line whose continuation hangs under it. Indented by style: spaces would be a place to break before the key. */
function jsonLine(line) {
  const words = line.trimStart();
  const element = make("span", { class: "json-line" });
  element.style.paddingInlineStart = `${line.length - words.length + 2}ch`;
  let end = 0;
  for (const match of words.matchAll(TOKENS)) {
    const kind = match[2] ? "key" : match[1] ? "string" : "literal";
    element.append(words.slice(end, match.index), make("span", { class: kind }, match[1] ?? match[0]), match[2] ?? "");
    end = match.index + match[0].length;
  }
  element.append(`${words.slice(end)}\n`);
  return element;
}

/** Something that can be opened, closed at first. */
export function folded(title, ...children) {
  return make("details", { class: "folded" }, make("summary", {}, title), ...children);
}

const MEDIA = /^(image|audio)\/[\w.+-]+$/;

function media(data, type, name) {
  const kind = MEDIA.exec(type ?? "")?.[1];
  if (!kind || typeof data !== "string" || !/^[A-Za-z0-9+/=\s]*$/.test(data)) return null;
  const source = `data:${type};base64,${data.replace(/\s/g, "")}`;
  return kind === "image"
    ? make("img", { src: source, alt: name || "An image from the server" })
    : make("audio", { controls: true, src: source });
}

/** One block of content; ``read`` shows the resource of a URI. */
export function block(content, read) {
  const type = content?.type;
  if (type === "text") return make("div", { class: "text" }, String(content.text ?? ""));
  if (type === "image" || type === "audio") {
    return media(content.data, content.mimeType, "") ?? unshown(content);
  }
  if (type === "resource_link") {
    const title = content.title ?? content.name ?? content.uri;
    const place = make("div", { class: "linked" });
    const button = make("button", { type: "button" }, "Read");
    button.addEventListener("click", () => read(String(content.uri), place));
    return make(
      "div",
      { class: "link" },
      make("p", {}, make("strong", {}, String(title)), " ", make("code", {}, String(content.uri))),
      content.description ? make("p", { class: "muted" }, String(content.description)) : null,
      button,
      place,
    );
  }
  if (type === "resource") return resource(content.resource ?? {});
  return unshown(content);
}

/** The contents of one resource. */
export function resource(contents) {
  const head = make("p", { class: "muted" }, make("code", {}, String(contents.uri ?? "")));
  if (contents.mimeType) head.append(" · ", String(contents.mimeType));
  const box = make("div", { class: "resource" }, head);
  if (typeof contents.text === "string") box.append(make("div", { class: "text" }, contents.text));
  else if (typeof contents.blob === "string") {
    const shown = media(contents.blob, contents.mimeType, String(contents.uri ?? ""));
    const bytes = Math.floor((contents.blob.replace(/[\s=]/g, "").length * 3) / 4);
    box.append(shown ?? make("p", { class: "muted" }, `${bytes} bytes, which this page does not show.`));
  } else box.append(json(contents));
  return box;
}

function unshown(content) {
  return make("div", {}, make("p", { class: "muted" }, "Content that this page does not show:"), json(content));
}

/** The result of a request, by its method. */
export function result(method, value, read) {
  const box = make("div", { class: "result" });
  if (method === "resources/read") {
    for (const contents of value.contents ?? []) box.append(resource(contents));
  } else if (method === "prompts/get") {
    if (value.description) box.append(make("p", { class: "muted" }, String(value.description)));
    for (const message of value.messages ?? []) box.append(spoken(message, read));
  } else {
    box.append(...toolResult(value, read));
  }
  if (!box.hasChildNodes()) box.append(make("p", { class: "muted" }, "The result is empty."));
  return box;
}

/** A message with who says it. */
export function spoken(message, read) {
  const blocks = Array.isArray(message?.content) ? message.content : [message?.content];
  return make(
    "div",
    { class: "spoken" },
    make("p", { class: "role" }, String(message?.role ?? "")),
    ...blocks.map((content) => block(content, read)),
  );
}

function toolResult(value, read) {
  const parts = [];
  const blocks = Array.isArray(value.content) ? value.content : [];
  if (!Object.hasOwn(value, "structuredContent")) return blocks.map((content) => block(content, read));
  parts.push(make("p", { class: "label" }, "Structured content"), json(value.structuredContent));
  // Servers repeat the structure as text for older clients; it need not be read twice.
  const repeated = blocks.filter((content) => isSame(content, value.structuredContent));
  const others = blocks.filter((content) => !repeated.includes(content));
  if (others.length) parts.push(make("p", { class: "label" }, "Content"), ...others.map((one) => block(one, read)));
  if (repeated.length) parts.push(folded("The same as text", ...repeated.map((one) => block(one, read))));
  return parts;
}

function isSame(content, structure) {
  if (content?.type !== "text") return false;
  try {
    return JSON.stringify(JSON.parse(content.text)) === JSON.stringify(structure);
  } catch {
    return false;
  }
}

/** What went wrong, and what to do about it. */
export function failure(error, retry = null) {
  const box = make("div", { class: "problem", "data-kind": error.kind ?? "broken" });
  const code = error.error?.code;
  const title = code === undefined ? "Failed" : `Error ${code}`;
  box.append(make("p", {}, make("strong", {}, `⚠ ${title}: `), error.message));
  if (error.advice) box.append(make("p", {}, error.advice));
  if (error.error && Object.hasOwn(error.error, "data")) box.append(folded("The error's data", json(error.error.data)));
  if (retry) box.append(make("button", { type: "button", onclick: retry }, "Try again"));
  return box;
}

// Text to values and back: server-sent events, and the headers that repeat what is in the body.

import { Failure } from "./failures.js";

// ---- Server-sent events -------------------------------------------------------------------------------

/** Reads events from text, however it is cut into pieces. */
export class EventParser {
  #rest = "";
  #afterCr = false;
  #fields = null;

  constructor(onEvent, onComment) {
    this.onEvent = onEvent;
    this.onComment = onComment;
  }

  push(text) {
    if (text === "") return;
    // A CR ends a line at once; the LF that may follow it, perhaps in the next piece, is part of the same end.
    if (this.#afterCr && text[0] === "\n") text = text.slice(1);
    this.#afterCr = text === "" ? false : text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line);
  }

  #line(line) {
    if (line === "") {
      const fields = this.#fields;
      this.#fields = null;
      if (fields) this.onEvent({ ...fields, data: fields.data === null ? null : fields.data.join("\n") });
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.onComment(line.slice(1).replace(/^ /, ""));
      return;
    }
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    const fields = (this.#fields ??= { event: "", id: null, retry: null, data: null });
    if (name === "data") (fields.data ??= []).push(value);
    else if (name === "event") fields.event = value;
    else if (name === "id" && !value.includes("\0")) fields.id = value;
    else if (name === "retry" && /^[0-9]{1,9}$/.test(value)) fields.retry = Number(value);
  }
}

// ---- Headers that mirror the body ---------------------------------------------------------------------

/** Which parameter the header Mcp-Name repeats. */
export const NAME_PARAMS = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Where a schema has schemas in it. Other keywords hold data, in which an annotation is somebody's value. */
const SUBSCHEMAS = new Set([
  ...["items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"],
  ...["oneOf", "anyOf", "allOf", "not", "if", "then", "else"],
  ...["additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema"],
]);
const SUBSCHEMA_MAPS = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"]);

/** A value as any header can carry it: as it is, or Base64 between two marks. */
export function encodeHeaderValue(value) {
  const wrapped = value.startsWith("=?base64?") && value.endsWith("?=");
  if (/^[ -~]*$/.test(value) && !value.startsWith(" ") && !value.endsWith(" ") && !wrapped) return value;
  // A lone surrogate has no UTF-8 form; the encoder would silently send another character.
  if (/\p{Surrogate}/u.test(value)) throw new Failure("broken", "A value has half a character in it.");
  let bytes = "";
  for (const byte of new TextEncoder().encode(value)) bytes += String.fromCharCode(byte);
  return `=?base64?${btoa(bytes)}?=`;
}

/** The annotated parameters of an input schema: [{path, name}]; ``problem`` says why a client must not use it. */
export function paramHeaders(schema) {
  const found = [];
  const seen = new Set();
  let problem = "";
  const visit = (node, path) => {
    if (node === null || typeof node !== "object") return;
    if (Object.hasOwn(node, "x-mcp-header")) {
      const name = node["x-mcp-header"];
      if (path === null || path.length === 0) problem ||= "stands where no argument is";
      else if (typeof name !== "string" || !TOKEN.test(name)) problem ||= "is not a header name";
      else if (!["integer", "string", "boolean"].includes(node.type)) problem ||= `is on a ${node.type}`;
      else if (seen.has(name.toLowerCase())) problem ||= `names ${name} twice`;
      else {
        seen.add(name.toLowerCase());
        found.push({ path, name });
      }
    }
    for (const [keyword, value] of Object.entries(node)) {
      if (value === null || typeof value !== "object") continue;
      if (keyword === "properties") {
        for (const [name, child] of Object.entries(value)) visit(child, path && [...path, name]);
      } else if (SUBSCHEMAS.has(keyword)) {
        // An annotation in there is not reached by properties alone, and so invalid.
        for (const child of Array.isArray(value) ? value : [value]) visit(child, null);
      } else if (SUBSCHEMA_MAPS.has(keyword)) {
        for (const child of Object.values(value)) visit(child, null);
      }
    }
  };
  visit(schema, []);
  return { headers: found, problem };
}

/** The headers that repeat the marked arguments of a call. */
export function emitParamHeaders(headers, args) {
  const lines = {};
  for (const { path, name } of headers) {
    let value = args;
    for (const step of path) value = value !== null && typeof value === "object" ? value[step] : undefined;
    if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new Failure("broken", `${path.join(".")} is too large for the header Mcp-Param-${name}.`);
    }
    if (typeof value === "string") lines[`Mcp-Param-${name}`] = encodeHeaderValue(value);
    else if (typeof value === "boolean" || Number.isInteger(value)) lines[`Mcp-Param-${name}`] = String(value);
  }
  return lines;
}

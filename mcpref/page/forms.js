// Forms: from a JSON Schema to inputs and back to a value, and the questions that a server asks.

import { Failure } from "./failures.js";
import { folded, json, make, spoken } from "./shown.js";

let lastNumber = 0;
const nextId = (prefix) => `${prefix}-${++lastNumber}`;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// ---- One field ----------------------------------------------------------------------------------------

/** Follow a reference within the schema, and see past "or null". */
function simplify(schema, root, depth = 0) {
  if (!isObject(schema) || depth > 8) return {};
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#/")) {
    let target = root;
    for (const step of schema.$ref.slice(2).split("/")) {
      const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
    }
    const { $ref, ...rest } = schema;
    return simplify({ ...(isObject(target) ? target : {}), ...rest }, root, depth + 1);
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    const others = choices.filter((choice) => choice?.type !== "null");
    if (others.length === 1 && others.length < choices.length) {
      const { anyOf, oneOf, ...rest } = schema;
      return simplify({ ...others[0], ...rest }, root, depth + 1);
    }
  }
  if (Array.isArray(schema.type)) {
    const others = schema.type.filter((type) => type !== "null");
    if (others.length === 1) return { ...schema, type: others[0] };
  }
  return schema;
}

/** The choices of a schema that has nothing but choices: [{value, title}], else null. */
function choicesOf(schema) {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, place) => ({ value, title: String(names[place] ?? asText(value)) }));
  }
  if (Object.hasOwn(schema, "const")) return [{ value: schema.const, title: asText(schema.const) }];
  const listed = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(listed) || !listed.length) return null;
  if (!listed.every((choice) => isObject(choice) && Object.hasOwn(choice, "const"))) return null;
  return listed.map(({ const: value, title }) => ({ value, title: String(title ?? asText(value)) }));
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What a control gives when nothing was entered. */
const NOTHING = Symbol("nothing");

/**
 * A control: its element, ``read`` gives the value, NOTHING, or throws an Error whose message is for the person;
 * ``save`` and ``load`` keep what was typed when the page makes the form anew.
 */
function control(schema, required, id) {
  const choices = choicesOf(schema);
  if (choices) return selectControl(schema, choices, required, id);
  if (schema.type === "boolean") return checkboxControl(schema, required, id);
  if (schema.type === "integer" || schema.type === "number") return numberControl(schema, id);
  if (schema.type === "string") return textControl(schema, id);
  if (schema.type === "array" && isObject(schema.items)) {
    const several = choicesOf(schema.items);
    if (several) return severalControl(schema, several, id);
  }
  return jsonControl(schema, id);
}

const typed = (element) => ({ save: () => element.value, load: (value) => (element.value = value) });

function selectControl(schema, choices, required, id) {
  const element = make("select", { id });
  if (!required || !Object.hasOwn(schema, "default")) element.append(make("option", { value: "" }, "—"));
  choices.forEach(({ value, title }, place) => {
    const label = title === asText(value) ? title : `${title} (${asText(value)})`;
    element.append(make("option", { value: place, selected: isEqual(value, schema.default) }, label));
  });
  return {
    element,
    read: () => (element.value === "" ? NOTHING : choices[Number(element.value)].value),
    ...typed(element),
  };
}

function checkboxControl(schema, required, id) {
  const element = make("input", { id, type: "checkbox" });
  element.checked = schema.default === true;
  // Nobody has said "no" to a box that nobody has touched, if it may be left out.
  let touched = required || typeof schema.default === "boolean";
  element.addEventListener("change", () => (touched = true));
  return {
    element,
    read: () => (touched ? element.checked : NOTHING),
    save: () => [touched, element.checked],
    load: (value) => ([touched, element.checked] = value),
  };
}

function numberControl(schema, id) {
  const whole = schema.type === "integer";
  const step = schema.multipleOf ?? (whole ? 1 : "any");
  const element = make("input", {
    id,
    type: "number",
    step,
    min: schema.minimum,
    max: schema.maximum,
    inputmode: whole ? "numeric" : "decimal",
  });
  if (typeof schema.default === "number") element.value = String(schema.default);
  const read = () => {
    if (element.validity.badInput) throw new Error("This is not a number.");
    if (element.value === "") return NOTHING;
    const value = Number(element.value);
    if (whole && !Number.isInteger(value)) throw new Error("This must be a whole number.");
    if (whole && !Number.isSafeInteger(value)) throw new Error("A browser cannot send so large a number exactly.");
    if (value < schema.minimum) throw new Error(`This must be ${schema.minimum} or more.`);
    if (value > schema.maximum) throw new Error(`This must be ${schema.maximum} or less.`);
    if (value <= schema.exclusiveMinimum) throw new Error(`This must be more than ${schema.exclusiveMinimum}.`);
    if (value >= schema.exclusiveMaximum) throw new Error(`This must be less than ${schema.exclusiveMaximum}.`);
    return value;
  };
  return { element, read, ...typed(element) };
}

const INPUT_TYPES = { date: "date", "date-time": "datetime-local", email: "email", uri: "url" };

function textControl(schema, id) {
  const initial = typeof schema.default === "string" ? schema.default : "";
  const type = INPUT_TYPES[schema.format] ?? "text";
  const long = type === "text" && (schema.maxLength > 200 || initial.length > 80 || initial.includes("\n"));
  const element = long
    ? make("textarea", { id, rows: 3, maxlength: schema.maxLength })
    : make("input", { id, type, maxlength: type === "text" ? schema.maxLength : undefined, autocomplete: "off" });
  if (type === "datetime-local") element.step = "1";
  element.value = type === "datetime-local" ? localTime(initial) : initial;
  const read = () => {
    const value = element.value;
    if (element.validity.badInput) throw new Error("This is not complete.");
    if (value === "") return NOTHING;
    if (element.validity.typeMismatch) throw new Error(`This is not ${type === "email" ? "an e-mail address" : "a URL"}.`);
    const length = [...value].length;
    if (length < schema.minLength) throw new Error(`This needs at least ${schema.minLength} characters.`);
    if (length > schema.maxLength) throw new Error(`This may have at most ${schema.maxLength} characters.`);
    if (typeof schema.pattern === "string" && !matches(schema.pattern, value)) {
      throw new Error(`This does not match ${schema.pattern}`);
    }
    return type === "datetime-local" ? new Date(value).toISOString() : value;
  };
  return { element, read, ...typed(element) };
}

function localTime(text) {
  const time = new Date(text);
  if (text === "" || Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function matches(pattern, value) {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true; // Not an expression of this language: the server will say.
  }
}

function severalControl(schema, choices, id) {
  const element = make("div", { id, class: "several", role: "group" });
  const chosen = Array.isArray(schema.default) ? schema.default : [];
  const boxes = choices.map(({ value, title }) => {
    const box = make("input", { type: "checkbox", id: nextId(id) });
    box.checked = chosen.some((one) => isEqual(one, value));
    element.append(make("div", { class: "option" }, box, make("label", { for: box.id }, title)));
    return box;
  });
  const read = () => {
    const values = choices.filter((_, place) => boxes[place].checked).map(({ value }) => value);
    if (!values.length && !(schema.minItems > 0) && !chosen.length) return NOTHING;
    if (values.length < schema.minItems) throw new Error(`Choose at least ${schema.minItems}.`);
    if (values.length > schema.maxItems) throw new Error(`Choose at most ${schema.maxItems}.`);
    return values;
  };
  return {
    element,
    read,
    save: () => boxes.map((box) => box.checked),
    load: (values) => boxes.forEach((box, place) => (box.checked = values[place] === true)),
  };
}

function jsonControl(schema, id) {
  const example = schema.type === "array" ? "[ ]" : schema.type === "object" ? "{ }" : "JSON";
  const element = make("textarea", { id, rows: 3, class: "code", spellcheck: "false", placeholder: example });
  if (Object.hasOwn(schema, "default")) element.value = JSON.stringify(schema.default, null, 2);
  const read = () => {
    const text = element.value.trim();
    if (text === "") return NOTHING;
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new Error(`This is not JSON: ${error.message}`);
    }
    if (schema.type === "array" && !Array.isArray(value)) throw new Error("This must be a JSON array: [ … ]");
    if (schema.type === "object" && !isObject(value)) throw new Error("This must be a JSON object: { … }");
    return value;
  };
  return { element, read, ...typed(element) };
}

// ---- A form -------------------------------------------------------------------------------------------

/** Inputs for the properties of an object schema. ``read`` gives the object, or null after saying what is wrong. */
export class Fields {
  #fields = [];
  #whole = null;

  constructor(schema, options = {}) {
    this.element = make("div", { class: "fields" });
    const properties = isObject(schema?.properties) ? schema.properties : {};
    const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
    for (const [name, property] of Object.entries(properties)) {
      this.#add(name, simplify(property, schema), required.has(name), options);
    }
    if (this.isEmpty && takesMore(schema)) {
      const whole = { type: "object", description: "The schema names no properties: write the whole object." };
      this.#add("arguments", whole, false, options);
      this.#whole = this.#fields[0];
    }
  }

  get isEmpty() {
    return this.#fields.length === 0;
  }

  #add(name, schema, required, { decorate } = {}) {
    const id = nextId("field");
    const made = control(schema, required, id);
    const problem = make("p", { class: "field-problem", id: `${id}-problem`, hidden: true });
    const words = [];
    if (typeof schema.description === "string") words.push(schema.description);
    if (typeof schema["x-mcp-header"] === "string") words.push(`Also sent as the header Mcp-Param-${schema["x-mcp-header"]}.`);
    const note = words.length ? make("p", { class: "muted", id: `${id}-note` }, words.join("\n")) : null;
    made.element.setAttribute("aria-describedby", [note ? note.id : "", problem.id].join(" ").trim());
    if (required) made.element.setAttribute("aria-required", "true");
    made.element.dataset.field = name;
    const title = typeof schema.title === "string" ? schema.title : name;
    const tag = made.element.getAttribute("role") === "group" ? "span" : "label";
    const caption = make(
      tag,
      { for: tag === "label" ? id : undefined, id: `${id}-label` },
      title,
      title === name ? null : make("code", {}, name),
      make("span", { class: "kind" }, kindOf(schema)),
      required ? make("span", { class: "required" }, "required") : null,
    );
    if (tag === "span") made.element.setAttribute("aria-labelledby", caption.id);
    const isBox = made.element.type === "checkbox";
    const row = make(
      "div",
      { class: isBox ? "field boxed" : "field" },
      ...(isBox ? [made.element, caption] : [caption, made.element]),
      note,
      problem,
    );
    made.element.addEventListener("input", () => this.#show(problem, made.element, ""));
    this.element.append(row);
    this.#fields.push({ name, required, problem, ...made });
    decorate?.(name, made.element, row);
  }

  #show(place, element, words) {
    place.hidden = words === "";
    place.textContent = words === "" ? "" : `⚠ ${words}`;
    if (words === "") element.removeAttribute("aria-invalid");
    else element.setAttribute("aria-invalid", "true");
  }

  /** What is entered, as far as it can be read. */
  peek() {
    const entries = [];
    for (const field of this.#fields) {
      try {
        const value = field.read();
        if (value !== NOTHING) entries.push([field.name, value]);
      } catch {
        // Not finished.
      }
    }
    return Object.fromEntries(entries);
  }

  read() {
    const entries = [];
    let wrong = null;
    for (const field of this.#fields) {
      let words = "";
      try {
        const value = field.read();
        if (value !== NOTHING) entries.push([field.name, value]);
        else if (field.required) words = "This is required.";
      } catch (error) {
        words = error.message;
      }
      this.#show(field.problem, field.element, words);
      if (words) wrong ??= field.element;
    }
    if (wrong) {
      (wrong.querySelector?.("input") ?? wrong).focus();
      return null;
    }
    if (this.#whole) return entries.length ? entries[0][1] : {};
    // Not by assignment: a property may be called __proto__.
    return Object.fromEntries(entries);
  }

  save() {
    return new Map(this.#fields.map((field) => [field.name, field.save()]));
  }

  load(saved) {
    for (const field of this.#fields) if (saved.has(field.name)) field.load(saved.get(field.name));
  }
}

function takesMore(schema) {
  if (!isObject(schema)) return false;
  const elsewhere = ["$ref", "oneOf", "anyOf", "allOf", "patternProperties"];
  return elsewhere.some((keyword) => Object.hasOwn(schema, keyword)) || isObject(schema.additionalProperties);
}

function kindOf(schema) {
  if (typeof schema.format === "string") return schema.format;
  if (choicesOf(schema)) return "choice";
  return typeof schema.type === "string" ? schema.type : "JSON";
}

// ---- Questions of a server ----------------------------------------------------------------------------

/** Put a question to the person. Resolves to the bare result; rejects when it is refused, or the signal aborts. */
export function ask(place, method, params, signal) {
  return new Promise((resolve, reject) => {
    const box = make("form", { class: "question", "data-question": method });
    box.noValidate = true;
    const finish = (settle, value) => {
      box.remove();
      signal.removeEventListener("abort", gone);
      settle(value);
    };
    const gone = () => finish(reject, new Failure("cancelled", "Cancelled."));
    if (signal.aborted) return gone();
    signal.addEventListener("abort", gone);
    const answer = (result) => finish(resolve, result);
    const refuse = (words) => finish(reject, new Failure("refused", words));
    const kinds = {
      "elicitation/create": params.mode === "url" ? askUrl : askForm,
      "sampling/createMessage": askModel,
      "roots/list": askRoots,
    };
    if (!Object.hasOwn(kinds, method)) {
      return finish(reject, new Failure("broken", `The server asks for ${method}, which this client does not know.`));
    }
    kinds[method](box, params, answer, refuse);
    place.append(box);
    box.querySelector("input, textarea, select, a.button, button")?.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
    return undefined;
  });
}

const button = (words, kind, action) => make("button", { type: "button", class: kind, onclick: action }, words);

function askForm(box, params, answer) {
  const fields = new Fields(params.requestedSchema);
  box.append(
    make("p", { class: "asks" }, "The server asks you"),
    make("p", { class: "message" }, String(params.message ?? "")),
    fields.element,
    make(
      "div",
      { class: "buttons" },
      make("button", { type: "submit", class: "primary" }, "Accept"),
      button("Decline", "", () => answer({ action: "decline" })),
      button("Cancel the question", "", () => answer({ action: "cancel" })),
    ),
    make("p", { class: "muted" }, "Do not enter passwords or keys: a server must not ask for them in a form."),
    folded("The schema of the form", json(params.requestedSchema ?? {})),
  );
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = fields.read();
    if (content !== null) answer({ action: "accept", content });
  });
}

function askUrl(box, params, answer) {
  box.append(make("p", { class: "asks" }, "The server wants you to visit a page"));
  box.append(make("p", { class: "message" }, String(params.message ?? "")));
  const buttons = make("div", { class: "buttons" });
  const text = String(params.url ?? "");
  let url = null;
  try {
    url = new URL(text);
  } catch {
    // Said below.
  }
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) {
    // The whole address, with the host standing out: that is what tells whom one is about to talk to.
    const [before, after] = [`${url.protocol}//`, url.href.slice(url.href.indexOf(url.host) + url.host.length)];
    box.append(make("p", { class: "address" }, before, make("strong", {}, url.host), after));
    if (url.protocol === "http:") box.append(make("p", { class: "warning" }, "⚠ The connection to it is not encrypted."));
    if (/(^|\.)xn--/.test(url.hostname)) {
      box.append(make("p", { class: "warning" }, "⚠ The name has letters that look like others. Compare it with care."));
    }
    const link = make(
      "a",
      { class: "button primary", href: url.href, target: "_blank", rel: "noopener noreferrer" },
      `Accept, and open ${url.host}`,
    );
    link.addEventListener("click", () => setTimeout(() => answer({ action: "accept" })));
    buttons.append(link);
  } else {
    box.append(make("p", { class: "address" }, text));
    box.append(make("p", { class: "warning" }, "⚠ This is not an address that the page opens."));
  }
  buttons.append(
    button("Decline", "", () => answer({ action: "decline" })),
    button("Cancel the question", "", () => answer({ action: "cancel" })),
  );
  box.append(buttons);
}

function askModel(box, params, answer, refuse) {
  const id = nextId("model");
  const text = make("textarea", { id, rows: 3 });
  const problem = make("p", { class: "field-problem", hidden: true });
  box.append(make("p", { class: "asks" }, "The server asks the model"));
  if (params.systemPrompt) box.append(make("p", { class: "muted" }, `System prompt: ${String(params.systemPrompt)}`));
  for (const message of params.messages ?? []) box.append(spoken(message, () => {}));
  box.append(
    make("label", { for: id }, "You are the model: what do you answer?"),
    text,
    problem,
    make("p", { class: "muted" }, `At most ${String(params.maxTokens)} tokens are asked for.`),
    make(
      "div",
      { class: "buttons" },
      make("button", { type: "submit", class: "primary" }, "Answer"),
      button("Refuse", "", () => refuse("User rejected sampling request")),
    ),
  );
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    if (text.value === "") {
      problem.hidden = false;
      problem.textContent = "⚠ Write an answer, or refuse.";
      text.focus();
      return;
    }
    const content = { type: "text", text: text.value };
    answer({ role: "assistant", model: "a person", content, stopReason: "endTurn" });
  });
}

function askRoots(box, params, answer, refuse) {
  const id = nextId("roots");
  const text = make("textarea", { id, rows: 3, class: "code", placeholder: "file:///home/me/project" });
  const problem = make("p", { class: "field-problem", hidden: true });
  box.append(
    make("p", { class: "asks" }, "The server asks for your directories"),
    make("label", { for: id }, "One file:// URI on each line; none is an answer, too"),
    text,
    problem,
    make(
      "div",
      { class: "buttons" },
      make("button", { type: "submit", class: "primary" }, "Answer"),
      button("Refuse", "", () => refuse("User rejected roots request")),
    ),
  );
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const uris = text.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    const wrong = uris.find((uri) => !uri.startsWith("file://"));
    if (wrong !== undefined) {
      problem.hidden = false;
      problem.textContent = `⚠ ${wrong} does not begin with file://`;
      text.focus();
      return;
    }
    answer({ roots: uris.map((uri) => ({ uri })) });
  });
}

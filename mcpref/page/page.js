// The page: what the server offers, and a form for each thing to try it.

import { paramHeaders } from "./codec.js";
import { Failure } from "./failures.js";
import { ask, Fields } from "./forms.js";
import { Log } from "./log.js";
import { failure, folded, json, make, result } from "./shown.js";
import { MODERN, REVISIONS } from "./spec.js";
import { Server } from "./wire.js";

const at = (id) => document.getElementById(id);
const endpoint = new URL(document.querySelector('meta[name="mcp-endpoint"]').content, document.baseURI).href;
const log = new Log(at("wire"), at("newest"));
/** With more entries than this, a box to filter them appears. */
const MANY = 12;
/** How long to wait for somebody who is typing before suggestions are fetched. */
const TYPING_MS = 250;

let server = new Server(endpoint, MODERN, log);
let facts = null;
/** Counts connections, so that what a former one still finds out is dropped. */
let generation = 0;
// Ends what a server asks outside of any call, when the connection it came on is over.
let questions = new AbortController();
const running = new Set();

function say(words) {
  at("status").textContent = words;
}

// ---- One call, as it runs -----------------------------------------------------------------------------

/** Where a request's progress, log messages, questions and result appear. */
class Run {
  #place;
  #controller = new AbortController();
  #over = new AbortController();
  #began = performance.now();
  #questions = make("div", { class: "questions" });
  #asked = new Map();
  #card = null;

  constructor(place) {
    this.#place = place;
    this.state = make("p", { class: "state", role: "status" }, "Running …");
    this.cancelling = make("button", { type: "button", class: "cancel" }, "Cancel");
    this.cancelling.addEventListener("click", () => this.cancel());
    this.onWire = make("button", { type: "button", class: "quiet on-wire", hidden: true }, "Show on the wire");
    this.onWire.addEventListener("click", () => this.#card.show());
    this.bar = make("progress", { "aria-label": "Progress" });
    this.words = make("span", { class: "words" });
    this.progress = make("div", { class: "progress", hidden: true }, this.bar, this.words);
    this.logs = make("ol", { class: "logs", "aria-label": "Log messages", hidden: true });
    this.outcome = make("div", { class: "outcome-box" });
    place.replaceChildren(
      make("div", { class: "run-head" }, this.state, this.onWire, this.cancelling),
      this.progress,
      this.logs,
      this.#questions,
      this.outcome,
    );
    place.dataset.state = "running";
    place.scrollIntoView({ block: "nearest" });
  }

  cancel() {
    this.cancelling.disabled = true;
    this.state.textContent = "Cancelling …";
    this.#controller.abort();
  }

  async start(method, params, mirror) {
    const using = server;
    running.add(this);
    try {
      const value = await using.call(method, params, {
        mirror: using.modern ? mirror : null,
        signal: this.#controller.signal,
        onProgress: (about) => this.#onProgress(about),
        onLog: (about) => this.#onLog(about),
        onWithdrawn: (id) => this.#asked.get(id)?.abort(),
        ask: (asked, about, id) => this.#ask(asked, about, id),
        onExchange: (card) => {
          this.#card = card;
          this.onWire.hidden = false;
        },
      });
      this.#end(value.isError === true ? "error" : "done", using);
      if (value.isError === true) {
        this.outcome.append(make("p", { class: "tool-error" }, make("strong", {}, "⚠ The tool reports an error")));
      }
      this.outcome.append(result(method, value, read));
    } catch (error) {
      this.#fail(error, using);
    } finally {
      running.delete(this);
      // Whatever is still being asked has nobody to answer to any more.
      this.#over.abort();
      this.#place.scrollIntoView({ block: "nearest" });
    }
  }

  #end(state, using) {
    this.#place.dataset.state = state;
    this.cancelling.remove();
    const time = ((performance.now() - this.#began) / 1000).toFixed(2);
    const words = { done: "Done", error: "Ended with an error", failed: "Failed", cancelled: "Cancelled" }[state];
    this.state.textContent = `${words} after ${time} s, over ${using.revision}`;
  }

  #fail(error, using) {
    const kind = error instanceof Failure ? error.kind : "broken";
    this.#end(kind === "cancelled" || kind === "refused" ? "cancelled" : "failed", using);
    if (kind === "cancelled") return;
    if (kind === "refused") {
      this.outcome.append(make("p", {}, "You refused, so the request is not sent again."));
      return;
    }
    this.outcome.append(failure(error));
    // An error of 2025-11-25 that names pages to be visited first.
    const elicitations = error.error?.code === -32042 ? error.error.data?.elicitations : null;
    for (const about of Array.isArray(elicitations) ? elicitations : []) {
      const never = new AbortController().signal;
      ask(this.#questions, "elicitation/create", { ...about, mode: "url" }, never).then(
        () => this.outcome.append(make("p", {}, "Call again when you are done there.")),
        () => {},
      );
    }
  }

  #reveal(element) {
    if (!element.hidden) return;
    element.hidden = false;
    this.#place.scrollIntoView({ block: "nearest" });
  }

  #onProgress({ progress, total, message }) {
    this.#reveal(this.progress);
    if (typeof total === "number" && total > 0) {
      this.bar.max = total;
      this.bar.value = progress;
    } else {
      this.bar.removeAttribute("value");
    }
    const count = typeof total === "number" ? `${progress} of ${total}` : String(progress);
    this.words.textContent = typeof message === "string" ? `${count}: ${message}` : count;
  }

  #onLog({ level, logger, data }) {
    this.#reveal(this.logs);
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.logs.append(
      make(
        "li",
        { "data-level": level },
        make("span", { class: "level" }, String(level)),
        make("span", {}, logger ? make("span", { class: "muted" }, `${String(logger)}: `) : null, text),
      ),
    );
    if (this.logs.childElementCount > 100) this.logs.firstElementChild.remove();
  }

  async #ask(method, params, id) {
    const gone = new AbortController();
    const all = AbortSignal.any([this.#controller.signal, this.#over.signal, gone.signal]);
    if (id !== undefined) this.#asked.set(id, gone);
    this.state.textContent = "The server waits for you";
    this.#place.dataset.state = "asking";
    try {
      return await ask(this.#questions, method, params, all);
    } finally {
      if (id !== undefined) this.#asked.delete(id);
      if (!this.#questions.hasChildNodes() && this.#place.dataset.state === "asking") {
        this.state.textContent = this.#controller.signal.aborted ? "Cancelling …" : "Running …";
        this.#place.dataset.state = "running";
      }
      // The form that had the focus is gone; whoever uses the keyboard must not be sent back to the top.
      if (document.activeElement === document.body) this.cancelling.focus({ preventScroll: true });
    }
  }
}

/** Read a resource and show it at a place. */
function read(uri, place) {
  return new Run(place).start("resources/read", { uri }, null);
}

// ---- What the server offers ---------------------------------------------------------------------------

/** A form that starts a request: fields, a button, and the place where what follows appears. */
function tryout(words, fields, prepare) {
  const place = make("div", { class: "run" });
  const button = make("button", { type: "submit", class: "primary" }, words);
  const form = make("form", { class: "tryout" }, fields?.element ?? null, make("div", { class: "buttons" }, button));
  form.noValidate = true;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = fields ? fields.read() : {};
    if (values === null) return;
    button.disabled = true;
    try {
      const { method, params, mirror } = prepare(values);
      await new Run(place).start(method, params, mirror ?? null);
    } catch (error) {
      place.replaceChildren(failure(error));
    } finally {
      button.disabled = false;
      if (document.activeElement === document.body) button.focus({ preventScroll: true });
    }
  });
  return [form, place];
}

function describe(entry) {
  return typeof entry.description === "string" && entry.description !== ""
    ? make("p", { class: "description" }, entry.description)
    : null;
}

const HINTS = {
  readOnlyHint: ["read-only", "writes"],
  destructiveHint: ["destructive", "not destructive"],
  idempotentHint: ["idempotent", "not idempotent"],
  openWorldHint: ["open world", "closed world"],
};

function hints(annotations) {
  const shown = Object.entries(HINTS)
    .filter(([name]) => typeof annotations?.[name] === "boolean")
    .map(([name, [yes, no]]) => make("li", { title: name }, annotations[name] ? yes : no));
  return shown.length ? make("ul", { class: "hints", "aria-label": "Hints, which are not guarantees" }, ...shown) : null;
}

function toolBody(tool) {
  const { headers, problem } = paramHeaders(tool.inputSchema);
  const fields = new Fields(tool.inputSchema);
  const parts = [describe(tool), hints(tool.annotations)];
  const invalid = `An x-mcp-header of this tool ${problem}: clients of ${MODERN} must leave the tool out.`;
  if (problem) parts.push(make("p", { class: "warning" }, `⚠ ${invalid}`));
  const prepare = (args) => {
    if (problem && server.modern) throw new Failure("broken", invalid, "An older revision can call it.");
    return { method: "tools/call", params: { name: tool.name, arguments: args }, mirror: headers };
  };
  parts.push(
    ...tryout("Call", fields, prepare),
    folded("Input schema", json(tool.inputSchema ?? {})),
    tool.outputSchema ? folded("Output schema", json(tool.outputSchema)) : null,
  );
  return { fields, parts };
}

function resourceBody(entry) {
  const about = [entry.mimeType, typeof entry.size === "number" ? `${entry.size} bytes` : ""].filter(Boolean).join(" · ");
  const parts = [
    describe(entry),
    make("p", { class: "muted" }, make("code", {}, String(entry.uri)), about ? ` · ${about}` : ""),
    ...tryout("Read", null, () => ({ method: "resources/read", params: { uri: entry.uri } })),
  ];
  return { fields: null, parts };
}

const SIMPLE_VARIABLE = /\{([A-Za-z0-9_.]+)\}/g;

function templateBody(entry) {
  const template = String(entry.uriTemplate);
  const names = [...template.matchAll(SIMPLE_VARIABLE)].map((match) => match[1]);
  const simple = !template.replace(SIMPLE_VARIABLE, "").includes("{");
  // Operators of RFC 6570 are for libraries; a person can write the URI.
  const properties = simple
    ? Object.fromEntries(names.map((name) => [name, { type: "string" }]))
    : { uri: { type: "string", default: template, description: "The template, filled in by hand." } };
  const fields = new Fields({ properties, required: Object.keys(properties) }, {
    decorate: simple ? suggest({ type: "ref/resource", uri: template }, () => fields) : undefined,
  });
  const expand = (values) => template.replace(SIMPLE_VARIABLE, (_, name) => percent(values[name]));
  const parts = [
    describe(entry),
    make("p", { class: "muted" }, make("code", {}, template), entry.mimeType ? ` · ${String(entry.mimeType)}` : ""),
    ...tryout("Read", fields, (values) => ({
      method: "resources/read",
      params: { uri: simple ? expand(values) : values.uri },
    })),
  ];
  return { fields, parts };
}

function percent(text) {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function promptBody(entry) {
  const listed = Array.isArray(entry.arguments) ? entry.arguments : [];
  const schema = {
    properties: Object.fromEntries(
      listed.map(({ name, title, description }) => [String(name), { type: "string", title, description }]),
    ),
    required: listed.filter((argument) => argument.required === true).map(({ name }) => String(name)),
  };
  const fields = new Fields(schema, { decorate: suggest({ type: "ref/prompt", name: entry.name }, () => fields) });
  const parts = [
    describe(entry),
    ...tryout("Get", fields, (args) => ({ method: "prompts/get", params: { name: entry.name, arguments: args } })),
  ];
  return { fields, parts };
}

/** Suggestions while somebody types, where the server has them. */
function suggest(ref, fields) {
  return (name, element, row) => {
    if (element.tagName !== "INPUT") return;
    const list = make("datalist", { id: `${element.id}-suggestions` });
    row.append(list);
    element.setAttribute("list", list.id);
    let timer;
    let asking = null;
    element.addEventListener("input", (event) => {
      clearTimeout(timer);
      // What is picked from the list is complete.
      if (!facts?.capabilities.completions || event.inputType === "insertReplacementText") return;
      timer = setTimeout(async () => {
        asking?.abort();
        asking = new AbortController();
        const { [name]: _, ...others } = fields().peek();
        const params = { ref, argument: { name, value: element.value } };
        if (server.revision !== "2025-03-26" && Object.keys(others).length) params.context = { arguments: others };
        try {
          const { completion } = await server.request("completion/complete", params, { signal: asking.signal });
          const values = Array.isArray(completion?.values) ? completion.values : [];
          list.replaceChildren(...values.map((value) => make("option", { value: String(value) })));
        } catch {
          // Suggestions are a courtesy; the log shows what became of them.
        }
      }, TYPING_MS);
    });
  };
}

const SECTIONS = [
  { kind: "tool", title: "Tools", capability: "tools", method: "tools/list", member: "tools", id: "name", body: toolBody },
  { kind: "resource", title: "Resources", capability: "resources", method: "resources/list", member: "resources", id: "uri", body: resourceBody },
  { kind: "template", title: "Resource templates", capability: "resources", method: "resources/templates/list", member: "resourceTemplates", id: "uriTemplate", body: templateBody },
  { kind: "prompt", title: "Prompts", capability: "prompts", method: "prompts/list", member: "prompts", id: "name", body: promptBody },
];

/** One of the four lists. What did not change keeps its place on the page, with all that was typed and shown. */
class Section {
  #list = make("div", { class: "items" });
  #count = make("span", { class: "count" });
  #items = new Map();

  constructor(about) {
    this.about = about;
    this.entries = [];
    this.element = make(
      "section",
      { "aria-labelledby": `section-${about.kind}`, "data-section": about.kind },
      make("h2", { id: `section-${about.kind}` }, about.title, " ", this.#count),
      this.#list,
    );
  }

  async fetch() {
    const mine = generation;
    const { method, member } = this.about;
    try {
      const entries = await server.list(method, member);
      if (mine === generation) this.#show(entries.filter((entry) => entry !== null && typeof entry === "object"));
    } catch (error) {
      if (mine !== generation) return;
      this.#count.textContent = "";
      this.#list.replaceChildren(failure(error, () => this.fetch()));
    }
  }

  #show(entries) {
    this.entries = entries;
    this.#count.textContent = String(entries.length);
    const items = new Map();
    for (const entry of entries) {
      const id = String(entry[this.about.id]);
      const text = JSON.stringify(entry);
      const former = this.#items.get(id);
      items.set(id, former?.text === text ? former : this.#item(id, entry, text, former));
    }
    this.#items = items;
    const shown = [...items.values()].map((item) => item.element);
    this.#list.replaceChildren(...(shown.length ? shown : [make("p", { class: "muted" }, "None.")]));
    filter();
  }

  #item(id, entry, text, former) {
    const name = String(entry.name ?? id);
    const title = String(entry.title ?? entry.annotations?.title ?? name);
    const brief = typeof entry.description === "string" ? entry.description.split("\n")[0] : "";
    const body = make("div", { class: "item-body" });
    const element = make(
      "details",
      { class: "item", "data-kind": this.about.kind, "data-name": name, open: former?.element.open === true },
      make(
        "summary",
        {},
        make("span", { class: "title" }, title),
        title === name ? null : make("code", {}, name),
        make("span", { class: "brief" }, brief),
      ),
      body,
    );
    const item = { element, fields: null, saved: former?.fields?.save() ?? former?.saved, text };
    // Not before it is looked at: a server may have a thousand tools.
    const build = () => {
      if (!element.open || body.hasChildNodes()) return;
      const { fields, parts } = this.about.body(entry);
      body.append(...parts.filter((part) => part !== null));
      item.fields = fields;
      if (item.saved) fields?.load(item.saved);
    };
    element.addEventListener("toggle", build);
    build();
    return item;
  }
}

let sections = [];

function filter() {
  const box = document.getElementById("filter");
  const words = box?.value.toLowerCase() ?? "";
  for (const item of document.querySelectorAll(".item")) {
    item.hidden = words !== "" && !item.querySelector("summary").textContent.toLowerCase().includes(words);
  }
}

// ---- Connecting ---------------------------------------------------------------------------------------

function showAbout({ info, instructions, versions, revision }) {
  const name = String(info.title || info.name || "MCP server");
  document.title = name;
  at("name").textContent = name;
  const speaks = versions.length ? `speaks ${versions.join(", ")}` : "";
  const agreed = revision === MODERN ? speaks : `agreed on ${revision}`;
  const identity = [info.name, info.version ? `version ${info.version}` : "", agreed].filter(Boolean).map(String);
  at("identity").replaceChildren(identity.join(" · "));
  if (typeof info.websiteUrl === "string" && /^https?:\/\//.test(info.websiteUrl)) {
    at("identity").append(" · ", make("a", { href: info.websiteUrl, rel: "noopener noreferrer", target: "_blank" }, "website"));
  }
  for (const [id, words] of [["description", info.description], ["instructions", instructions]]) {
    at(id).hidden = typeof words !== "string" || words === "";
    at(id).textContent = typeof words === "string" ? words : "";
  }
}

async function connect() {
  const mine = ++generation;
  questions.abort(); // What was asked outside of any call; its form goes now.
  questions = new AbortController();
  at("problem").replaceChildren();
  at("listen").disabled = true;
  say(`Connecting with ${server.revision} …`);
  let found;
  try {
    found = await server.open();
  } catch (error) {
    if (mine !== generation) return;
    facts = null;
    say("Not connected.");
    at("problem").replaceChildren(failure(error, connect));
    return;
  }
  if (mine !== generation) return;
  facts = found;
  server.onRequest = (method, params) => ask(at("problem"), method, params, questions.signal);
  showAbout(facts);
  at("listen").disabled = false;
  const wanted = SECTIONS.filter(({ capability }) => facts.capabilities[capability]);
  sections = wanted.map((about) => sections.find((section) => section.about === about) ?? new Section(about));
  at("catalog").replaceChildren(...sections.map((section) => section.element));
  if (!sections.length) at("catalog").append(make("p", { class: "muted" }, "This server declares nothing to list."));
  for (const section of sections) {
    await section.fetch();
    if (mine !== generation) return;
  }
  offerFilter();
  sayWhatIsThere();
}

function sayWhatIsThere() {
  const counts = sections.map((section) => `${section.about.title.toLowerCase()} ${section.entries.length}`);
  const session = server.session ? ` in session ${server.session.slice(0, 8)}…` : "";
  say(`Connected with ${server.revision}${session}: ${counts.join(", ") || "nothing listed"}.`);
}

function offerFilter() {
  const total = sections.reduce((sum, section) => sum + section.entries.length, 0);
  if (total <= MANY || document.getElementById("filter")) return;
  const box = make("input", { id: "filter", type: "search", placeholder: "Name or words", oninput: filter });
  at("catalog").prepend(make("div", { class: "filter" }, make("label", { for: "filter" }, "Filter"), box));
}

// ---- Listening for changes ----------------------------------------------------------------------------

let listening = null;

async function listen() {
  const button = at("listen");
  if (listening) {
    listening.abort();
    return;
  }
  const mine = (listening = new AbortController());
  button.setAttribute("aria-pressed", "true");
  button.textContent = "Stop listening";
  const { capabilities } = facts;
  const notifications = {};
  for (const kind of ["tools", "prompts", "resources"]) {
    if (capabilities[kind]?.listChanged) notifications[`${kind}ListChanged`] = true;
  }
  if (capabilities.resources?.subscribe) {
    const listed = sections.find((section) => section.about.kind === "resource")?.entries ?? [];
    const uris = listed.map((entry) => entry.uri).slice(0, 100);
    if (uris.length) notifications.resourceSubscriptions = uris;
  }
  let words = "The server ended the stream. Listen again to hear of changes.";
  say("Listening for changes.");
  try {
    await server.listen(notifications, { signal: mine.signal, onMessage: heard });
  } catch (error) {
    words = error.kind === "cancelled" ? "No longer listening." : `No longer listening: ${error.message} ${error.advice}`;
  }
  if (listening === mine) {
    listening = null;
    button.setAttribute("aria-pressed", "false");
    button.textContent = "Listen for changes";
    say(words);
  }
}

async function heard({ method, params }) {
  if (method === "notifications/resources/updated") {
    say(`The resource ${String(params?.uri)} has changed.`);
    return;
  }
  const changed = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
  if (!changed) return;
  for (const section of sections) if (section.about.capability === changed) await section.fetch();
  say(`The ${changed} have changed; the list is up to date.`);
}

// ---- The controls -------------------------------------------------------------------------------------

function leave() {
  listening?.abort();
  for (const run of running) run.cancel();
  return server.close();
}

function explainEra() {
  at("era").textContent = REVISIONS.find(({ id }) => id === server.revision).says;
}

const choice = at("revision");
for (const { id, label } of REVISIONS) choice.append(make("option", { value: id }, label));
choice.value = MODERN;
choice.addEventListener("change", () => {
  leave();
  server = new Server(endpoint, choice.value, log);
  explainEra();
  connect();
});
at("listen").addEventListener("click", listen);
at("refresh").addEventListener("click", connect);
at("clear").addEventListener("click", () => log.clear());
// A page that comes back from the browser's cache has lost its session; the next request opens another.
addEventListener("pagehide", leave);

explainEra();
connect();

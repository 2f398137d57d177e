// What went over the wire: a card for each exchange, a row for each thing that was sent or arrived, and beside each
// row what it is and where the specification says so.

import { noteFor, notesOnHeaders, notesOnReceived, notesOnSent, notesOnStatus } from "./spec.js";
import { json, make } from "./shown.js";

/** So that the page stays quick however long it is open. */
const MAX_CARDS = 80;
const MAX_EVENTS = 100;
/** How near to the end a reader counts as reading along. */
const NEAR = 60;
/** Exchanges that come by themselves, or by the dozen, begin folded. */
const FOLDED =
  /^(server\/discover|initialize|notifications\/initialized|logging\/setLevel|[a-z]+\/(templates\/)?list|completion\/complete)$/;

export class Log {
  #box;
  #newest;
  #following = true;
  #scheduled = false;

  constructor(box, newest) {
    this.#box = box;
    this.#newest = newest;
    let before = 0;
    box.addEventListener("scroll", () => {
      const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
      // Only somebody who scrolls up leaves: when much arrives at once, the end is far for a moment by itself.
      if (near) this.#following = true;
      else if (box.scrollTop < before) this.#following = false;
      before = box.scrollTop;
      if (this.#following) newest.hidden = true;
    });
    newest.addEventListener("click", () => {
      this.#following = true;
      this.changed();
    });
  }

  clear() {
    for (const card of this.#box.querySelectorAll(".exchange")) card.remove();
  }

  exchange(facts) {
    const card = new Card(this, facts);
    this.#box.querySelector("#wire-empty")?.remove();
    this.#box.append(card.element);
    const cards = this.#box.querySelectorAll(".exchange");
    if (cards.length > MAX_CARDS) cards[0].remove();
    this.changed();
    return card;
  }

  /** Follow what arrives, unless the reader has scrolled away from it. */
  changed() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      const box = this.#box;
      if (this.#following) box.scrollTop = box.scrollHeight;
      else this.#newest.hidden = box.scrollHeight <= box.clientHeight;
    });
  }
}

class Card {
  #log;
  #facts;
  #method;
  #began = performance.now();
  #rows;
  #outcome;
  #events = 0;
  #dropped = 0;
  #explained = new Set();
  isAnswered = false;
  isEnded = false;

  constructor(log, facts) {
    this.#log = log;
    this.#facts = facts;
    const { revision, verb, url, headers, message, repliesTo } = facts;
    this.#method = message?.method ?? facts.about?.method ?? null;
    const title = repliesTo ? `answer to ${repliesTo}` : (message?.method ?? verb);
    const target = message?.params?.name ?? message?.params?.uri;
    this.#outcome = make("span", { class: "outcome" }, "waiting");
    this.#rows = make("div", { class: "rows" });
    this.element = make(
      "details",
      { class: "exchange", open: !FOLDED.test(title), "data-method": title, "data-revision": revision },
      make(
        "summary",
        {},
        make("span", { class: "arrow", "aria-hidden": "true" }, "→"),
        make("span", { class: "method" }, title),
        typeof target === "string" ? make("span", { class: "target" }, target) : null,
        make("span", { class: "revision" }, revision),
        this.#outcome,
      ),
      this.#rows,
    );
    this.element.dataset.state = "waiting";
    this.#row(
      "request",
      [
        make(
          "p",
          { class: "line" },
          make("span", { class: "direction" }, "→ Request"),
          make("code", {}, `${verb} ${new URL(url).pathname}`),
          copyAsCurl(facts),
        ),
        headerList(Object.entries(headers)),
      ],
      notesOnHeaders(verb, headers, revision),
    );
    if (message) this.#row("sent", [json(message)], notesOnSent(message, revision, repliesTo));
  }

  /** Bring this card before the reader. */
  show() {
    this.element.open = true;
    this.element.scrollIntoView({ block: "start" });
    this.element.querySelector("summary").focus({ preventScroll: true });
  }

  response(response, type) {
    const { headers, verb } = this.#facts;
    const facts = {
      status: response.status,
      type,
      verb,
      hadSession: Object.hasOwn(headers, "Mcp-Session-Id"),
      opensSession: response.headers.has("mcp-session-id"),
    };
    const status = `${response.status} ${response.statusText}`.trim();
    this.#row(
      "response",
      [this.#line("← Response", make("code", {}, status)), headerList([...response.headers])],
      notesOnStatus(facts),
    );
    this.#outcome.textContent = status;
    this.element.dataset.state = response.ok ? "streaming" : "failed";
  }

  body(text, value) {
    const shown = value === undefined ? make("pre", { class: "json" }, text.slice(0, 20_000)) : json(value);
    this.#row("body", [this.#line("← Body"), shown], value === undefined ? [] : notesOnReceived(value, this.#method));
  }

  event(event, value) {
    const fields = [];
    if (event.event) fields.push(`event: ${event.event}`);
    if (event.id !== null) fields.push(`id: ${event.id}`);
    if (event.retry !== null) fields.push(`retry: ${event.retry}`);
    if (!event.data) fields.push("no data");
    const keys = value === undefined ? (event.data ? [] : ["event priming"]) : notesOnReceived(value, this.#method);
    const row = this.#row(
      "event",
      [
        this.#line("← Event", fields.length ? make("code", {}, fields.join("  ")) : null),
        value !== undefined ? json(value) : event.data ? make("pre", { class: "json" }, event.data) : null,
      ],
      keys,
    );
    row.dataset.of = typeof value?.method === "string" ? value.method : "";
    this.#countEvent();
  }

  comment(text) {
    const row = this.#row("comment", [this.#line("← Comment", make("code", {}, `: ${text}`))], ["event comment"]);
    row.classList.add("small");
    this.#countEvent();
  }

  answered() {
    this.isAnswered = true;
  }

  /** How it ended, if that needs saying. */
  end(note, failure) {
    if (this.isEnded) return;
    this.isEnded = true;
    const cancelled = note !== null && note !== "end broken";
    const state = cancelled ? "cancelled" : failure || note ? "failed" : "done";
    this.element.dataset.state = state;
    const shown = this.#outcome.textContent;
    const how = { cancelled: "closed", failed: shown === "waiting" ? "failed" : shown, done: shown }[state];
    this.#outcome.textContent = `${how} · ${seconds(performance.now() - this.#began)}`;
    if (note === null && failure === null) return;
    const words = failure && !cancelled ? failure.message : "Closed before the answer.";
    this.#row("end", [this.#line("End"), make("p", { class: "ended" }, words)], note ? [note] : []);
  }

  #line(direction, ...more) {
    const offset = `+${seconds(performance.now() - this.#began)}`;
    return make(
      "p",
      { class: "line" },
      make("span", { class: "direction" }, direction),
      make("span", { class: "offset" }, offset),
      ...more,
    );
  }

  #row(part, content, keys) {
    const notes = keys.map((key) => this.#note(key)).filter((note) => note !== null);
    const row = make(
      "div",
      { class: "row", "data-part": part },
      make("div", { class: "what" }, ...content),
      make("div", { class: "notes" }, ...notes),
    );
    this.#rows.append(row);
    this.#log.changed();
    return row;
  }

  #note(key) {
    const note = noteFor(key, this.#facts.revision);
    if (note === null) return null;
    const link = note.url
      ? make("a", { href: note.url, target: "_blank", rel: "noopener noreferrer", title: note.text }, note.label)
      : null;
    // What was explained in this card already is not explained again; its link stays.
    const text = this.#explained.has(key) ? "" : note.text;
    this.#explained.add(key);
    return make("p", {}, text, text && link ? make("br") : null, link);
  }

  #countEvent() {
    if (++this.#events <= MAX_EVENTS) return;
    const rows = this.#rows.querySelectorAll(':scope > [data-part="event"], :scope > [data-part="comment"]');
    rows[0].remove();
    this.#dropped++;
    let place = this.#rows.querySelector(":scope > .dropped");
    if (!place) {
      place = make("p", { class: "dropped muted" });
      rows[1].before(place);
    }
    place.textContent = `${this.#dropped} earlier events are no longer shown.`;
  }
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function headerList(lines) {
  const list = make("dl", { class: "headers" });
  for (const [name, value] of lines) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return list;
}

// ---- curl ---------------------------------------------------------------------------------------------

/** The same request for a shell. */
export function asCurl({ verb, url, headers, message }) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl -N ${quote(url)}`];
  if (verb === "DELETE") parts.push("-X DELETE");
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (message) parts.push(`-d ${quote(JSON.stringify(message))}`);
  return parts.join(" \\\n  ");
}

function copyAsCurl(facts) {
  const button = make("button", { type: "button", class: "quiet copy" }, "Copy as curl");
  button.addEventListener("click", async () => {
    const text = asCurl(facts);
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy as curl"), 1500);
    } catch {
      // No clipboard, as on a page that is not secure: show it instead, ready to be copied by hand.
      const shown = make("pre", { class: "json curl", tabindex: "0" }, text);
      button.closest(".line").after(shown);
      button.remove();
      getSelection().selectAllChildren(shown);
    }
  });
  return button;
}

// A client of both eras, as small as it can be: what is sent, what comes back, and in which order.
//
// Nothing here touches the page. A log is told of every exchange as it happens; whoever calls says what to do
// with progress, log messages and questions.

import { emitParamHeaders, encodeHeaderValue, EventParser, NAME_PARAMS } from "./codec.js";
import { asFailure, Failure, httpFailure, rpcFailure } from "./failures.js";
import { MODERN } from "./spec.js";

const META = "io.modelcontextprotocol/";
const CLIENT = { name: "mcpref page", version: "1.0" };
const BOTH = "application/json, text/event-stream";
/** How often one request is sent, the first time included, before the page gives up. */
const MAX_ROUNDS = 16;
/** How often a broken legacy stream is resumed. */
const MAX_RESUMES = 5;
/** How many pages of a list are fetched. */
const MAX_PAGES = 100;
/** How long a cancelled legacy request may take to end its stream. */
const CANCEL_GRACE_MS = 1500;

let lastId = 0;

// ---- The client ---------------------------------------------------------------------------------------

/** What this client can be asked, in the words of each revision. */
function capabilities(revision) {
  const found = { sampling: {}, roots: {} };
  if (revision === "2025-06-18") found.elicitation = {};
  else if (revision !== "2025-03-26") found.elicitation = { form: {}, url: {} };
  return found;
}

/** One server, spoken to in one revision. */
export class Server {
  #opening = null;
  #session = null;

  constructor(url, revision, log) {
    this.url = url;
    this.revision = revision;
    this.modern = revision === MODERN;
    this.log = log;
    /** Called with what is asked outside of any call; a legacy server may do that on its GET stream. */
    this.onRequest = null;
  }

  get session() {
    return this.#session;
  }

  /** What the server is and can do: asked each time, or, legacy, told by the handshake once. */
  open() {
    if (this.modern) return this.#discover();
    this.#opening ??= this.#handshake().catch((error) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #discover() {
    const result = await this.#send("server/discover", {}, {});
    const info = result._meta?.[`${META}serverInfo`] ?? result.serverInfo ?? {};
    return {
      info,
      capabilities: result.capabilities ?? {},
      instructions: result.instructions,
      versions: result.supportedVersions ?? [],
      revision: this.revision,
    };
  }

  async #handshake() {
    this.#session = null;
    const params = {
      protocolVersion: this.revision,
      capabilities: capabilities(this.revision),
      clientInfo: CLIENT,
    };
    const result = await this.#send("initialize", params, {
      onHeaders: (headers) => {
        this.#session = headers.get("mcp-session-id");
      },
    });
    if (result.protocolVersion !== this.revision) {
      throw new Failure(
        "broken",
        `The server offers revision ${String(result.protocolVersion)}, not ${this.revision}.`,
        "Choose that revision above, if it is there.",
      );
    }
    await this.notify("notifications/initialized");
    if (result.capabilities?.logging) await this.#send("logging/setLevel", { level: "debug" }, {});
    return {
      info: result.serverInfo ?? {},
      capabilities: result.capabilities ?? {},
      instructions: result.instructions,
      versions: [result.protocolVersion],
      revision: this.revision,
    };
  }

  /** End the session, if there is one. Best effort: the page may be on its way out. */
  async close() {
    if (!this.#session) return;
    const headers = this.#headers("DELETE", null, {});
    this.#session = null;
    this.#opening = null;
    await this.#exchange("DELETE", null, headers, { keepalive: true }).catch(() => {});
  }

  /** One request and its result. Legacy: within the session, which is opened anew once if the server forgot it. */
  async request(method, params, options = {}) {
    if (this.modern) return this.#send(method, params, options);
    await this.open();
    const session = this.#session;
    try {
      return await this.#send(method, params, options);
    } catch (error) {
      if (error.status !== 404 || !session) throw error;
      // Of several requests that find the session gone, one opens another.
      if (this.#session === session) this.#opening = null;
      await this.open();
      return this.#send(method, params, options);
    }
  }

  /** A request that may report progress, log and ask questions, until its final result. */
  async call(method, params, options) {
    let extra = {};
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const result = await this.request(method, { ...params, ...extra }, { ...options, tracked: true });
      if (!this.modern) return result;
      const kind = result.resultType ?? "complete";
      if (kind === "complete") return result;
      if (kind !== "input_required") {
        throw new Failure("broken", `The result is of a type that this client does not know: ${String(kind)}.`);
      }
      const asked = Object.entries(result.inputRequests ?? {});
      const hasState = Object.hasOwn(result, "requestState");
      if (asked.length === 0 && !hasState) {
        throw new Failure("broken", "The server needs input, but does not say which.");
      }
      if (round === MAX_ROUNDS) break;
      extra = {};
      if (asked.length) {
        const answers = asked.map(async ([key, entry]) => [
          key,
          await options.ask(String(entry?.method), entry?.params ?? {}),
        ]);
        extra.inputResponses = Object.fromEntries(await Promise.all(answers));
      }
      if (options.signal?.aborted) throw new Failure("cancelled", "Cancelled.");
      // Exactly as it came, and only if it came.
      if (hasState) extra.requestState = result.requestState;
    }
    throw new Failure("broken", `The server still asks for input after ${MAX_ROUNDS} rounds.`);
  }

  /** All entries of a list, page after page. */
  async list(method, member) {
    const entries = [];
    const seen = new Set();
    let params = {};
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = await this.request(method, params);
      if (Array.isArray(result[member])) entries.push(...result[member]);
      const cursor = result.nextCursor;
      // An empty cursor is a cursor; one that was there before would never end.
      if (typeof cursor !== "string" || seen.has(cursor)) break;
      seen.add(cursor);
      params = { cursor };
    }
    return entries;
  }

  /** Hear of changes until the signal aborts or the server ends the stream. */
  async listen(notifications, { signal, onMessage }) {
    if (this.modern) {
      await this.#send("subscriptions/listen", { notifications }, { signal, onMessage, listening: true });
      return;
    }
    await this.open();
    const headers = this.#headers("GET", null, {});
    await this.#exchange("GET", null, headers, { signal, onMessage, listening: true });
  }

  async notify(method, params) {
    const message = { jsonrpc: "2.0", method, ...(params && { params }) };
    await this.#exchange("POST", message, this.#headers("POST", message, {}), {});
  }

  // ---- One message ------------------------------------------------------------------------------------

  #headers(verb, message, { paramHeaders: mirrored = {} }) {
    const headers = {};
    if (verb === "POST") headers["Content-Type"] = "application/json";
    if (verb !== "DELETE") headers.Accept = verb === "POST" ? BOTH : "text/event-stream";
    if (this.modern) {
      headers["MCP-Protocol-Version"] = this.revision;
      headers["Mcp-Method"] = message.method;
      const name = message.params?.[NAME_PARAMS[message.method]];
      if (typeof name === "string") headers["Mcp-Name"] = encodeHeaderValue(name);
      return { ...headers, ...mirrored };
    }
    if (message?.method === "initialize") return headers;
    if (this.revision !== "2025-03-26") headers["MCP-Protocol-Version"] = this.revision;
    if (this.#session) headers["Mcp-Session-Id"] = this.#session;
    return headers;
  }

  async #send(method, params, options) {
    if (options.signal?.aborted) throw new Failure("cancelled", "Cancelled.");
    const id = ++lastId;
    const token = `p${id}`;
    const meta = {};
    if (this.modern) {
      meta[`${META}protocolVersion`] = this.revision;
      meta[`${META}clientInfo`] = CLIENT;
      meta[`${META}clientCapabilities`] = capabilities(this.revision);
      if (options.tracked) meta[`${META}logLevel`] = "debug";
    }
    if (options.tracked) meta.progressToken = token;
    const sent = Object.keys(meta).length ? { ...params, _meta: meta } : params;
    const message = { jsonrpc: "2.0", id, method, ...(Object.keys(sent).length && { params: sent }) };
    const mirrored = options.mirror ? emitParamHeaders(options.mirror, params.arguments ?? {}) : {};
    const headers = this.#headers("POST", message, { paramHeaders: mirrored });

    const cancelling = this.#cancelling(id, options.signal);
    const onMessage = (received) => {
      options.onMessage?.(received);
      const about = received.params ?? {};
      if (received.method === "notifications/progress" && about.progressToken === token) options.onProgress?.(about);
      else if (received.method === "notifications/message") options.onLog?.(about);
      else if (received.method === "notifications/cancelled") options.onWithdrawn?.(about.requestId);
    };
    let answer;
    try {
      answer = await this.#exchange("POST", message, headers, { ...options, onMessage, ...cancelling.options });
    } finally {
      cancelling.done();
    }
    if (options.signal?.aborted) throw new Failure("cancelled", "Cancelled.");
    if (answer === undefined) {
      const advice = this.modern ? "Streams of this revision cannot be resumed: send the request again." : "";
      throw new Failure("broken", "The connection ended before the answer came.", advice);
    }
    if (answer.error) throw rpcFailure(answer.error);
    return answer.result ?? {};
  }

  /** How a signal cancels: modern by closing the stream, legacy by a notification. */
  #cancelling(id, signal) {
    if (this.modern || !signal) return { options: { signal }, done: () => {} };
    const stop = new AbortController();
    let timer;
    const cancel = () => {
      const reason = "cancelled by the person at the page";
      this.notify("notifications/cancelled", { requestId: id, reason }).catch(() => {});
      timer = setTimeout(() => stop.abort(), CANCEL_GRACE_MS);
    };
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return {
      options: { signal: stop.signal, cancelled: () => signal.aborted },
      done: () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      },
    };
  }

  /** One HTTP exchange; resolves to the response with the message's id as soon as it is there, else undefined. */
  async #exchange(verb, message, headers, options, repliesTo = null) {
    const card = this.log.exchange({ revision: this.revision, verb, url: this.url, headers, message, repliesTo });
    options.onExchange?.(card);
    try {
      return await this.#attempt(card, verb, message, headers, options);
    } catch (error) {
      const failure = asFailure(error);
      const aborted = failure.kind === "cancelled";
      card.end(aborted ? (options.listening ? "end listen" : "end aborted") : null, failure);
      throw failure;
    }
  }

  async #attempt(card, verb, message, headers, options) {
    const response = await fetch(this.url, {
      method: verb,
      headers,
      body: message === null ? undefined : JSON.stringify(message),
      signal: options.signal,
      keepalive: options.keepalive === true,
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
    const type = (response.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
    card.response(response, type);
    if (response.ok) options.onHeaders?.(response.headers);
    if (response.ok && type === "text/event-stream") return this.#stream(card, response, message, headers, options);
    const text = await response.text();
    const body = parse(text);
    if (text !== "") card.body(text, body);
    if (!response.ok) throw httpFailure(response, body);
    card.end(null, null);
    if (verb === "GET") throw new Failure("broken", "The answer is not a stream of events.");
    // An error whose id could not be told is still the answer: nothing else will come.
    return isAnswer(body, message) || body?.error ? body : undefined;
  }

  #stream(card, response, message, headers, options) {
    return new Promise((resolve, reject) => {
      const last = { id: null, retry: 0 };
      const receive = (received) => {
        if (isAnswer(received, message)) {
          card.answered();
          resolve(received);
        } else if (received && typeof received.method === "string") {
          if (Object.hasOwn(received, "id")) this.#asked(received, options);
          else options.onMessage?.(received);
        }
      };
      this.#read(card, response, last, receive)
        .then(async () => {
          const wanted = message && Object.hasOwn(message, "id") && !card.isAnswered;
          const cancelled = options.cancelled?.() === true;
          const resumable = !this.modern && last.id !== null && (options.resumes ?? 0) < MAX_RESUMES;
          const how = cancelled ? "end cancelled" : resumable ? "end resumable" : "end broken";
          card.end(wanted ? how : null, null);
          return wanted && how === "end resumable" ? this.#resume(message, headers, options, last) : undefined;
        })
        .then(resolve, (error) => {
          const failure = asFailure(error);
          if (!card.isEnded) {
            const note = options.listening ? "end listen" : "end aborted";
            card.end(failure.kind === "cancelled" ? note : null, failure);
          }
          reject(failure);
        });
    });
  }

  async #read(card, response, last, receive) {
    const parser = new EventParser(
      (event) => {
        if (event.id !== null) last.id = event.id;
        if (event.retry !== null) last.retry = event.retry;
        const body = event.data ? parse(event.data) : undefined;
        card.event(event, body);
        // A batch, which one revision has, is several messages.
        for (const received of Array.isArray(body) ? body : [body]) receive(received);
      },
      (text) => card.comment(text),
    );
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      parser.push(value);
    }
  }

  async #resume(message, headers, options, last) {
    const resumes = (options.resumes ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, Math.min(last.retry || 500, 10_000)));
    const lines = this.#headers("GET", null, {});
    lines["Last-Event-ID"] = last.id;
    const facts = { revision: this.revision, verb: "GET", url: this.url, headers: lines, message: null };
    const again = this.log.exchange({ ...facts, about: message });
    const response = await fetch(this.url, { headers: lines, signal: options.signal, cache: "no-store" }).catch((error) => {
      again.end(null, asFailure(error));
      throw error;
    });
    const type = (response.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
    again.response(response, type);
    if (!response.ok || type !== "text/event-stream") {
      const failure = httpFailure(response, undefined);
      again.end(null, failure);
      throw failure;
    }
    return this.#stream(again, response, message, headers, { ...options, resumes });
  }

  /** A legacy server's request: answered in a POST of its own, while the stream it came on goes on. */
  async #asked(request, options) {
    const { id, method } = request;
    const reply = (member) => {
      const message = { jsonrpc: "2.0", id, ...member };
      const headers = this.#headers("POST", message, {});
      return this.#exchange("POST", message, headers, {}, method).catch(() => {});
    };
    if (this.modern) return undefined; // Not allowed any more; the log shows it.
    if (method === "ping") return reply({ result: {} });
    const ask = options.ask ?? this.onRequest;
    if (!QUESTIONS.includes(method) || !ask) {
      return reply({ error: { code: -32601, message: `Method not found: ${method}` } });
    }
    try {
      return await reply({ result: await ask(method, request.params ?? {}, id) });
    } catch (error) {
      if (error.kind === "cancelled") return undefined; // Nobody waits for an answer.
      return reply({ error: { code: error.kind === "refused" ? -1 : -32603, message: error.message } });
    }
  }
}

/** What a server may ask of this client. */
export const QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"];

function isAnswer(received, message) {
  return (
    received !== null &&
    typeof received === "object" &&
    message !== null &&
    Object.hasOwn(message, "id") &&
    received.id === message.id &&
    typeof received.method !== "string"
  );
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// What each thing on the wire is, in plain words, and the section of the specification that says so.
//
// NOTES is JSON, so that a test can read it and look every link up. A link is "<page>#<anchor>" under "modern" or
// "legacy"; a revision of its own stands above its era, and null means that the revision has no such section. In
// the text of an era, "modern.text" or "legacy.text" stands above "text".

const SITE = "https://modelcontextprotocol.io/specification/";

export const NOTES = {
  "headers": {
    "modern.text": "Headers repeat version, method and name, so that a proxy can route without reading the body. The server refuses a request whose headers and body differ.",
    "modern": "basic/transports/streamable-http#standard-request-headers",
    "legacy.text": "Each message is a POST of its own. The answer may be one JSON body or a stream of events.",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "headers.param": {
    "text": "The tool's schema marks an argument with x-mcp-header: it is repeated in an Mcp-Param header.",
    "modern": "basic/transports/streamable-http#custom-headers-from-tool-parameters"
  },
  "headers.encoded": {
    "text": "A value that is not plain ASCII travels as =?base64?…?=.",
    "modern": "basic/transports/streamable-http#value-encoding"
  },
  "headers.session": {
    "text": "Mcp-Session-Id names the session.",
    "legacy": "basic/transports#session-management"
  },
  "headers.version": {
    "text": "MCP-Protocol-Version repeats what was agreed on.",
    "legacy": "basic/transports#protocol-version-header",
    "2025-03-26": null
  },
  "meta": {
    "text": "Who asks, what it can do and which revision it speaks stand in _meta of each request: there was no handshake.",
    "modern": "basic/index#meta"
  },
  "meta.progress": {
    "text": "progressToken asks for progress.",
    "modern": "basic/patterns/progress#progress-flow",
    "legacy": "basic/utilities/progress#progress-flow"
  },
  "meta.log": {
    "text": "logLevel asks for log messages of this request.",
    "modern": "server/utilities/logging#per-request-log-level"
  },

  "send server/discover": {
    "text": "Asks what the server is, what it offers and which revisions it speaks. Optional: any request may come first.",
    "modern": "server/discover#request"
  },
  "send initialize": {
    "text": "The handshake: revision and capabilities are agreed on once, for the whole session.",
    "legacy": "basic/lifecycle#initialization"
  },
  "send notifications/initialized": {
    "text": "Ends the handshake. A notification has no id and gets no answer.",
    "legacy": "basic/lifecycle#initialization"
  },
  "send tools/list": {
    "text": "Asks for the tools and their schemas.",
    "modern": "server/tools#listing-tools",
    "legacy": "server/tools#listing-tools"
  },
  "send tools/call": {
    "text": "Calls a tool by its name, with arguments that fit its input schema.",
    "modern": "server/tools#calling-tools",
    "legacy": "server/tools#calling-tools"
  },
  "send resources/list": {
    "text": "Asks for the resources that have a URI of their own.",
    "modern": "server/resources#listing-resources",
    "legacy": "server/resources#listing-resources"
  },
  "send resources/templates/list": {
    "text": "Asks for the URI templates, each of which stands for many resources.",
    "modern": "server/resources#resource-templates",
    "legacy": "server/resources#resource-templates"
  },
  "send resources/read": {
    "text": "Reads what is behind a URI.",
    "modern": "server/resources#reading-resources",
    "legacy": "server/resources#reading-resources"
  },
  "send prompts/list": {
    "text": "Asks for the prompts and their arguments.",
    "modern": "server/prompts#listing-prompts",
    "legacy": "server/prompts#listing-prompts"
  },
  "send prompts/get": {
    "text": "Has a prompt filled in. Its arguments are strings.",
    "modern": "server/prompts#getting-a-prompt",
    "legacy": "server/prompts#getting-a-prompt"
  },
  "send completion/complete": {
    "text": "Asks what could follow what was typed.",
    "modern": "server/utilities/completion#requesting-completions",
    "legacy": "server/utilities/completion#requesting-completions"
  },
  "send logging/setLevel": {
    "text": "Says from which level on log messages are wanted, for the rest of the session.",
    "legacy": "server/utilities/logging#setting-log-level"
  },
  "send subscriptions/listen": {
    "text": "Opens a stream and names the changes to be told of. Nothing else is sent on it.",
    "modern": "basic/patterns/subscriptions#opening-a-stream"
  },
  "send notifications/cancelled": {
    "text": "Cancels the request by its id. Closing the connection would not: it could have broken by accident.",
    "legacy": "basic/utilities/cancellation#cancellation-flow"
  },
  "send cursor": {
    "text": "cursor asks for the next page of the list.",
    "modern": "server/utilities/pagination#request-format",
    "legacy": "server/utilities/pagination#request-format"
  },
  "send retry": {
    "text": "The same request again, under a new id: with the answers in inputResponses, and requestState exactly as it came. The server remembers nothing in between.",
    "modern": "basic/patterns/mrtr#client-requirements-basic-workflow"
  },
  "reply elicitation/create": {
    "text": "The answer to the server's question: a JSON-RPC response, in a POST of its own. accept, decline and cancel are all answers.",
    "legacy": "client/elicitation#response-actions",
    "2025-03-26": null
  },
  "reply sampling/createMessage": {
    "text": "What the model said (here: you), as a JSON-RPC response in a POST of its own.",
    "legacy": "client/sampling#creating-messages"
  },
  "reply roots/list": {
    "text": "The directories that the server may care about, as a JSON-RPC response in a POST of its own.",
    "legacy": "client/roots#listing-roots"
  },
  "reply ping": {
    "text": "A ping is answered with an empty result.",
    "legacy": "basic/utilities/ping#behavior-requirements"
  },
  "reply unknown": {
    "text": "A request that this client does not know is answered with an error.",
    "legacy": "basic/index#responses"
  },
  "GET": {
    "text": "Opens a stream for what the server says of its own accord, such as changed lists.",
    "legacy": "basic/transports#listening-for-messages-from-the-server"
  },
  "GET resume": {
    "text": "The stream ended before the answer. Last-Event-ID asks for what came after it.",
    "legacy": "basic/transports#resumability-and-redelivery"
  },
  "DELETE": {
    "text": "Ends the session.",
    "legacy": "basic/transports#session-management"
  },

  "status json": {
    "text": "One JSON body: nothing had to be said before the answer.",
    "modern": "basic/transports/streamable-http#receiving-messages",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "status stream": {
    "modern.text": "A stream of events, because there is something to say before the answer. Closing it cancels the request.",
    "modern": "basic/transports/streamable-http#receiving-messages",
    "legacy.text": "A stream of events, because there is something to say before the answer.",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "status 202": {
    "text": "Accepted: notifications and responses get no answer but this.",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "status session": {
    "text": "Mcp-Session-Id opens a session: every later message carries it.",
    "legacy": "basic/transports#session-management"
  },
  "status 401": {
    "text": "The server wants to know who asks.",
    "modern": "basic/authorization/index#error-handling",
    "legacy": "basic/authorization#error-handling"
  },
  "status 403": {
    "text": "Refused: the page's origin, its host, or who is asking.",
    "modern": "basic/transports/streamable-http#security-endpoint",
    "legacy": "basic/transports#security-warning"
  },
  "status 404 session": {
    "text": "The session has ended. A client answers that with a new handshake.",
    "legacy": "basic/transports#session-management"
  },
  "status error": {
    "text": "Refused before it was handled. The body says why.",
    "modern": "basic/transports/streamable-http#server-validation",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "status DELETE": {
    "text": "The session is over.",
    "legacy": "basic/transports#session-management"
  },

  "event comment": {
    "text": "A comment, which readers skip. It keeps the connection open and shows whether anybody is there.",
    "modern": "basic/transports/streamable-http#receiving-messages",
    "legacy": "basic/transports#sending-messages-to-the-server"
  },
  "event priming": {
    "text": "No message yet, only an id: from here the stream can be resumed if it breaks.",
    "legacy": "basic/transports#resumability-and-redelivery"
  },
  "event notifications/progress": {
    "text": "How far it is. The token is the one that the request named; the number only grows.",
    "modern": "basic/patterns/progress#progress-flow",
    "legacy": "basic/utilities/progress#progress-flow"
  },
  "event notifications/message": {
    "text": "A log message.",
    "modern": "server/utilities/logging#log-message-notifications",
    "legacy": "server/utilities/logging#log-message-notifications"
  },
  "event notifications/cancelled": {
    "text": "The server takes back a request, or ends a stream.",
    "modern": "basic/patterns/cancellation#cancellation-flow",
    "legacy": "basic/utilities/cancellation#cancellation-flow"
  },
  "event notifications/tools/list_changed": {
    "text": "The list of tools is another now; the page fetches it again.",
    "modern": "server/tools#list-changed-notification",
    "legacy": "server/tools#list-changed-notification"
  },
  "event notifications/resources/list_changed": {
    "text": "The list of resources is another now; the page fetches it again.",
    "modern": "server/resources#list-changed-notification",
    "legacy": "server/resources#list-changed-notification"
  },
  "event notifications/prompts/list_changed": {
    "text": "The list of prompts is another now; the page fetches it again.",
    "modern": "server/prompts#list-changed-notification",
    "legacy": "server/prompts#list-changed-notification"
  },
  "event notifications/resources/updated": {
    "text": "What is behind this URI has changed. The new content is not in it: read the resource.",
    "modern": "server/resources#subscriptions",
    "legacy": "server/resources#subscriptions"
  },
  "event notifications/subscriptions/acknowledged": {
    "text": "The stream is open; these are the changes that the server will tell of.",
    "modern": "basic/patterns/subscriptions#acknowledgment"
  },
  "event notifications/elicitation/complete": {
    "text": "What was to be done at the URL is done.",
    "2025-11-25": "client/elicitation#completion-notifications-for-url-mode-elicitation"
  },
  "event notification": {
    "text": "A notification: it has no id and gets no answer.",
    "modern": "basic/index#notifications",
    "legacy": "basic/index#notifications"
  },
  "event elicitation/create": {
    "text": "The server asks a question in the middle of the call, and waits. It has an id, so it must be answered.",
    "legacy": "client/elicitation#form-mode-elicitation-requests",
    "2025-06-18": "client/elicitation#creating-elicitation-requests",
    "2025-03-26": null
  },
  "event sampling/createMessage": {
    "text": "The server asks the client's model, and waits for what it says.",
    "legacy": "client/sampling#creating-messages"
  },
  "event roots/list": {
    "text": "The server asks for the client's directories, and waits.",
    "legacy": "client/roots#listing-roots"
  },
  "event ping": {
    "text": "The server asks whether anybody is there.",
    "legacy": "basic/utilities/ping#message-format"
  },
  "event request": {
    "text": "A request of the server. It has an id, so it must be answered.",
    "modern": "basic/patterns/mrtr#multi-round-trip-requests",
    "legacy": "basic/index#requests"
  },

  "result server/discover": {
    "text": "What the server is, and the capabilities that it declares.",
    "modern": "server/discover#discoverresult"
  },
  "result initialize": {
    "text": "The revision that holds from here on, and what the server can do.",
    "legacy": "basic/lifecycle#version-negotiation"
  },
  "result tools/list": {
    "text": "Each tool has a name and the schema of its arguments.",
    "modern": "server/tools#tool",
    "legacy": "server/tools#tool"
  },
  "result tools/call": {
    "text": "The result: content for a model to read, and structuredContent for a program if the tool has an output schema.",
    "modern": "server/tools#tool-result",
    "legacy": "server/tools#tool-result"
  },
  "result tools/call isError": {
    "text": "isError: the tool failed, not the protocol. A model sees this and can try something else.",
    "modern": "server/tools#error-handling",
    "legacy": "server/tools#error-handling"
  },
  "result input_required": {
    "text": "Not the answer yet: the server needs input first. It keeps nothing; requestState holds what it must know when the request comes again.",
    "modern": "basic/patterns/mrtr#inputrequiredresult"
  },
  "result resources/list": {
    "text": "Each resource has a URI and a name.",
    "modern": "server/resources#resource",
    "legacy": "server/resources#resource"
  },
  "result resources/templates/list": {
    "text": "What stands in braces is for the client to fill in.",
    "modern": "server/resources#resource-templates",
    "legacy": "server/resources#resource-templates"
  },
  "result resources/read": {
    "text": "The contents: text, or Base64 for what is not text.",
    "modern": "server/resources#resource-contents",
    "legacy": "server/resources#resource-contents"
  },
  "result prompts/list": {
    "text": "Each prompt has a name and its arguments.",
    "modern": "server/prompts#prompt",
    "legacy": "server/prompts#prompt"
  },
  "result prompts/get": {
    "text": "Messages, ready to be given to a model.",
    "modern": "server/prompts#promptmessage",
    "legacy": "server/prompts#promptmessage"
  },
  "result completion/complete": {
    "text": "Suggestions, at most 100.",
    "modern": "server/utilities/completion#completion-results",
    "legacy": "server/utilities/completion#completion-results"
  },
  "result subscriptions/listen": {
    "text": "The stream's closing result: the server ends it in good order.",
    "modern": "basic/patterns/subscriptions#graceful-closure"
  },
  "result": {
    "text": "The result, under the id of the request.",
    "modern": "basic/index#result-responses",
    "legacy": "basic/index#responses"
  },
  "result error": {
    "text": "A JSON-RPC error: the request itself could not be served.",
    "modern": "basic/index#error-codes",
    "legacy": "basic/index#responses"
  },
  "result cache": {
    "text": "ttlMs and cacheScope say how long, and for whom, this may be kept.",
    "modern": "server/utilities/caching#cacheable-model"
  },

  "end aborted": {
    "modern.text": "The page closed the stream. That is the cancellation: no message is needed.",
    "modern": "basic/transports/streamable-http#cancellation",
    "legacy.text": "The page stopped reading. The cancellation itself was sent before.",
    "legacy": "basic/utilities/cancellation#cancellation-flow"
  },
  "end cancelled": {
    "text": "A request that was cancelled gets no answer, so the stream just ends.",
    "legacy": "basic/utilities/cancellation#behavior-requirements"
  },
  "end listen": {
    "text": "The page closed the stream, which ends the subscription.",
    "modern": "basic/patterns/subscriptions#cancellation",
    "legacy": "basic/transports#listening-for-messages-from-the-server"
  },
  "end broken": {
    "modern.text": "The connection ended before the answer. Streams of this revision cannot be resumed; the request can be sent again.",
    "modern": "basic/transports/streamable-http#receiving-messages",
    "legacy.text": "The connection ended before the answer, and no event had an id to come back to.",
    "legacy": "basic/transports#resumability-and-redelivery"
  },
  "end resumable": {
    "text": "The stream ended before the answer. Its last event had an id, so the page asks for what comes after it.",
    "legacy": "basic/transports#resumability-and-redelivery"
  }
};

export const REVISIONS = [
  {
    id: "2026-07-28",
    label: "2026-07-28 (modern)",
    says: "Every request stands alone: no handshake, no session. A question to you ends the request, which is then "
      + "sent again with your answer. Closing the stream cancels.",
  },
  {
    id: "2025-11-25",
    label: "2025-11-25 (legacy)",
    says: "A handshake opens a session that every message names. A question to you arrives in the middle of a call, "
      + "which waits for your answer. A notification cancels.",
  },
  {
    id: "2025-06-18",
    label: "2025-06-18 (legacy)",
    says: "As 2025-11-25, with forms only when the server asks you, and without ids that open a stream.",
  },
  {
    id: "2025-03-26",
    label: "2025-03-26 (legacy)",
    says: "As 2025-06-18, but a server cannot ask you anything by a form, results have no structured content, and "
      + "the version is not repeated in a header.",
  },
];

export const MODERN = REVISIONS[0].id;

/** The section for a note in a revision: "<page>#<anchor>", or null where there is none. */
export function section(key, revision) {
  const note = NOTES[key];
  if (!note) return null;
  const era = revision === MODERN ? "modern" : "legacy";
  return (revision in note ? note[revision] : note[era]) ?? null;
}

/** A note as it is shown: its words, and a link with its label where the revision has such a section. */
export function noteFor(key, revision) {
  const note = NOTES[key];
  if (!note) return null;
  const era = revision === MODERN ? "modern" : "legacy";
  const text = note[`${era}.text`] ?? note.text;
  const place = section(key, revision);
  if (place === null) return { key, text, url: null, label: "" };
  return { key, text, url: `${SITE}${revision}/${place}`, label: label(place) };
}

const PAGE_TITLES = {
  "basic/index": "Base protocol",
  "basic/authorization/index": "Authorization",
  "basic/transports/streamable-http": "Streamable HTTP",
  "basic/patterns/mrtr": "Multi round-trip requests",
};

/** Anchors that are names: a slug has lost how they are written. */
const NAMES = {
  meta: "_meta",
  discoverresult: "DiscoverResult",
  inputrequiredresult: "InputRequiredResult",
  promptmessage: "PromptMessage",
};

function label(place) {
  const [page, anchor] = place.split("#");
  return `${PAGE_TITLES[page] ?? words(page.split("/").pop())} › ${NAMES[anchor] ?? words(anchor)}`;
}

function words(slug) {
  const text = slug.replaceAll("-", " ");
  return text[0].toUpperCase() + text.slice(1);
}

const own = (object, key) => Object.hasOwn(object, key);
const known = (key, otherwise) => (own(NOTES, key) ? key : otherwise);

/** Which notes belong to the headers of a request. */
export function notesOnHeaders(verb, headers, revision) {
  const names = Object.keys(headers);
  const keys = [];
  if (verb === "GET") keys.push(names.includes("Last-Event-ID") ? "GET resume" : "GET");
  else if (verb === "DELETE") keys.push("DELETE");
  else keys.push("headers");
  if (names.some((name) => name.startsWith("Mcp-Param-"))) keys.push("headers.param");
  if (Object.values(headers).some((value) => value.startsWith("=?base64?"))) keys.push("headers.encoded");
  if (names.includes("Mcp-Session-Id") && verb !== "DELETE") keys.push("headers.session");
  if (names.includes("MCP-Protocol-Version") && revision !== MODERN) keys.push("headers.version");
  return keys;
}

/** Which notes belong to a message that the page sends. ``repliesTo`` is the method that it answers, if any. */
export function notesOnSent(message, revision, repliesTo) {
  if (repliesTo) return [known(`reply ${repliesTo}`, "reply unknown")];
  const params = message.params ?? {};
  const meta = params._meta ?? {};
  const keys = [known(`send ${message.method}`, "event request")];
  if (own(params, "inputResponses") || own(params, "requestState")) keys[0] = "send retry";
  if (own(params, "cursor")) keys.push("send cursor");
  if (revision === MODERN) keys.push("meta");
  if (own(meta, "progressToken")) keys.push("meta.progress");
  if (own(meta, "io.modelcontextprotocol/logLevel")) keys.push("meta.log");
  return keys;
}

/** Which notes belong to the status and the headers of a response. */
export function notesOnStatus({ status, type, verb, hadSession, opensSession }) {
  if (status === 401) return ["status 401"];
  if (status === 403) return ["status 403"];
  if (status === 404 && hadSession) return ["status 404 session"];
  if (status >= 400) return ["status error"];
  if (verb === "DELETE") return ["status DELETE"];
  if (status === 202) return ["status 202"];
  const keys = [type === "text/event-stream" ? "status stream" : "status json"];
  if (opensSession) keys.push("status session");
  return keys;
}

/** Which notes belong to a message that arrives; ``method`` is that of the request it is about. */
export function notesOnReceived(message, method) {
  if (message === null || typeof message !== "object") return [];
  if (typeof message.method === "string") {
    const other = own(message, "id") ? "event request" : "event notification";
    return [known(`event ${message.method}`, other)];
  }
  if (own(message, "error")) return ["result error"];
  const result = message.result ?? {};
  if (result.resultType === "input_required") return ["result input_required"];
  if (method === "tools/call" && result.isError === true) return ["result tools/call isError"];
  const keys = [known(`result ${method}`, "result")];
  if (own(result, "ttlMs")) keys.push("result cache");
  return keys;
}

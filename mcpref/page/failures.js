// What went wrong, in words for a person.

/** What happened, and what to do about it. */
export class Failure extends Error {
  constructor(kind, message, advice = "", details = {}) {
    super(message);
    /** unreachable, http, rpc, cancelled, refused or broken. */
    this.kind = kind;
    this.advice = advice;
    this.status = details.status ?? 0;
    this.error = details.error ?? null;
  }
}

export function asFailure(error) {
  if (error instanceof Failure) return error;
  if (error?.name === "AbortError") return new Failure("cancelled", "Cancelled.");
  if (error instanceof TypeError) {
    return new Failure(
      "unreachable",
      "The server cannot be reached, or went away.",
      "See whether it is still running; start it again if not, then try again.",
    );
  }
  return new Failure("broken", String(error?.message ?? error));
}

export function rpcFailure(error, status = 0) {
  const message = typeof error.message === "string" ? error.message : "The server answered with an error.";
  return new Failure("rpc", message, "", { error, status });
}

const ADVICE = {
  401: "The server wants to know who you are, and this page has no credentials of its own. Sign in the way the "
    + "server expects it, then reload the page.",
  403: "Open the page under a name that the server allows (Settings.allowed_hosts and allowed_origins), or ask "
    + "whoever runs it for access.",
  404: "The endpoint may have moved, or the session may have ended. Reload the page.",
  405: "The endpoint does not serve this HTTP method.",
  406: "Something between the page and the server may have changed the Accept header.",
  413: "The message is longer than the server allows. Send less.",
  415: "Something between the page and the server may have changed the Content-Type.",
  429: "Wait a little, then try again.",
  500: "The server's own log says more.",
  502: "A proxy stands in front of the server, and does not reach it.",
  503: "The server is busy or shutting down. Wait a little, then try again.",
  504: "A proxy stands in front of the server, and got no answer in time.",
};

export function httpFailure(response, body) {
  const error = body?.error ?? null;
  const why = typeof error?.message === "string" ? `: ${error.message}` : "";
  // An error of the protocol says itself what is wrong; its status adds nothing.
  const known = typeof error?.code === "number" && [400, 404].includes(response.status);
  let advice = known ? "" : (ADVICE[response.status] ?? "");
  const after = response.headers.get("retry-after");
  if (after !== null && /^[0-9]+$/.test(after)) advice += ` It asks to wait ${after} s.`;
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) advice += ` It names: ${challenge}`;
  const status = `${response.status} ${response.statusText}`.trim();
  return new Failure("http", `The server answered ${status}${why}`, advice, { status: response.status, error });
}

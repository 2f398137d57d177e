// The side of bridge.py that lives in the client's process; the messages are described there.
import { createInterface } from "node:readline";

const questions = new Map();
const calls = new Set();
let asked = 0;

export const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** Ask the checks, and wait for their answer. */
export function ask(kind, params) {
  const number = ++asked;
  return new Promise((resolve) => {
    questions.set(number, resolve);
    send({ ask: number, kind, params });
  });
}

export const told = (notification) => send({ told: notification.method, params: notification.params ?? {} });

/** What the checks need of a client whose methods take (params, options), as both lines of the SDK have them. */
export function operations(client, extra) {
  const plain = (method) => (params, options) => client[method](params, options);
  return {
    ping: (params, options) => client.ping(options),
    listTools: plain("listTools"),
    listResources: plain("listResources"),
    listResourceTemplates: plain("listResourceTemplates"),
    readResource: plain("readResource"),
    listPrompts: plain("listPrompts"),
    getPrompt: plain("getPrompt"),
    complete: plain("complete"),
    abandon: () => calls.forEach((call) => call.abort("abandoned")),
    ...extra,
  };
}

/** Answer operations until the input ends; `open` makes a client, and returns what can be done with it. */
export function serve(open) {
  let client;
  const run = async ({ id, do: name, with: { progress, ...params } }) => {
    const call = new AbortController();
    calls.add(call);
    const options = { signal: call.signal, timeout: 10_000 };
    if (progress) options.onprogress = (report) => send({ progress: id, params: report });
    try {
      if (name === "open") {
        client = await open(params);
        send({ id, result: client.opened });
      } else {
        send({ id, result: await client[name](params, options) });
      }
    } catch (error) {
      const { code, message, data } = error;
      send(typeof code === "number" ? { id, error: { code, message, data } } : { id, failed: String(error) });
    } finally {
      calls.delete(call);
    }
  };
  const input = createInterface({ input: process.stdin, crlfDelay: Infinity });
  input.on("line", (line) => {
    const message = JSON.parse(line);
    if ("answer" in message) questions.get(message.answer)(message.result);
    else run(message);
  });
  input.on("close", async () => {
    await client?.close();
    process.exit(0);
  });
}

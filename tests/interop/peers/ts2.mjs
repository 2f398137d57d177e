// The official TypeScript SDK's client, 2.x line: both eras, and the revision to offer is an option of its own.
import {
  Client,
  LOG_LEVEL_META_KEY,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ask, operations, serve, told } from "./bridge.mjs";

const MODERN = "2026-07-28";

function transportTo({ kind, command, url }) {
  switch (kind) {
    case "stdio":
      return new StdioClientTransport({ command: command[0], args: command.slice(1) });
    case "http":
      return new StreamableHTTPClientTransport(new URL(url));
    case "sse":
      return new SSEClientTransport(new URL(url));
  }
}

/** What an application knows of a server it has talked to before: enough to do without any probe. */
const PRIOR = {
  kind: "modern",
  discover: { resultType: "complete", supportedVersions: [MODERN], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" },
};

async function open({ revision, answers, logLevel, probe, ...target }) {
  const capabilities = {};
  if (answers.includes("elicit")) capabilities.elicitation = { form: {}, url: {} };
  if (answers.includes("sample")) capabilities.sampling = {};
  if (answers.includes("roots")) capabilities.roots = {};
  const isModern = revision === MODERN;
  const client = new Client(
    { name: "ts2", version: "1.0" },
    {
      capabilities,
      supportedProtocolVersions: [revision],
      versionNegotiation: { mode: isModern ? "auto" : "legacy" },
    },
  );
  const handle = (kind, method) =>
    answers.includes(kind) && client.setRequestHandler(method, ({ params }) => ask(kind, params ?? {}));
  handle("elicit", "elicitation/create");
  handle("sample", "sampling/createMessage");
  handle("roots", "roots/list");
  client.fallbackNotificationHandler = async (notification) => told(notification);

  const transport = transportTo(target);
  await client.connect(transport, isModern && !probe ? { prior: PRIOR } : undefined);
  if (logLevel && !isModern) await client.setLoggingLevel(logLevel);
  const meta = logLevel && isModern ? { _meta: { [LOG_LEVEL_META_KEY]: logLevel } } : {};
  let subscription;
  return operations(client, {
    opened: {
      revision: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    },
    callTool: (params, options) => client.callTool({ ...params, ...meta }, options),
    listen: async ({ tools, resources }) => {
      if (isModern) {
        subscription = await client.listen({ toolsListChanged: tools, resourceSubscriptions: resources });
      } else {
        for (const uri of resources) await client.subscribeResource({ uri });
      }
    },
    unlisten: async ({ resources }) => {
      if (isModern) await subscription.close();
      else for (const uri of resources) await client.unsubscribeResource({ uri });
    },
    close: async () => {
      // Ending the session is left to the application.
      if (!isModern) await transport.terminateSession?.();
      await client.close();
    },
  });
}

serve(open);

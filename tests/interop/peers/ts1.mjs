// The official TypeScript SDK's client, 1.x line: revisions up to 2025-11-25.
//
// It offers its newest revision only; the older ones are reached by changing what initialize says, the rest of the
// client being what its users get.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ask, operations, serve, told } from "./bridge.mjs";

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

async function open({ revision, answers, logLevel, ...target }) {
  const capabilities = {};
  if (answers.includes("elicit")) capabilities.elicitation = { form: {}, url: {} };
  if (answers.includes("sample")) capabilities.sampling = {};
  if (answers.includes("roots")) capabilities.roots = {};

  let negotiated;
  class OfferingClient extends Client {
    async request(request, ...rest) {
      if (request.method !== "initialize") return super.request(request, ...rest);
      request.params.protocolVersion = revision;
      const result = await super.request(request, ...rest);
      negotiated = result.protocolVersion;
      return result;
    }
  }

  const client = new OfferingClient({ name: "ts1", version: "1.0" }, { capabilities });
  const handle = (kind, schema) =>
    answers.includes(kind) && client.setRequestHandler(schema, ({ params }) => ask(kind, params ?? {}));
  handle("elicit", ElicitRequestSchema);
  handle("sample", CreateMessageRequestSchema);
  handle("roots", ListRootsRequestSchema);
  client.fallbackNotificationHandler = async (notification) => told(notification);

  const transport = transportTo(target);
  await client.connect(transport);
  if (logLevel) await client.setLoggingLevel(logLevel);
  return operations(client, {
    opened: {
      revision: negotiated,
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    },
    callTool: (params, options) => client.callTool(params, CallToolResultSchema, options),
    listen: async ({ resources }) => {
      for (const uri of resources) await client.subscribeResource({ uri });
    },
    unlisten: async ({ resources }) => {
      for (const uri of resources) await client.unsubscribeResource({ uri });
    },
    close: async () => {
      // Ending the session is left to the application.
      await transport.terminateSession?.();
      await client.close();
    },
  });
}

serve(open);

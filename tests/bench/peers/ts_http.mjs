// The bench server on the official TypeScript SDK, over node's own HTTP server: both eras on one path.
//
// Modern requests go through the SDK's handler, which asks for a fresh server per request; schemas are made once.
// Legacy ones go to the transport of their session. Which is which is told by headers alone: the SDK's own
// predicate would read every body twice. Packages come from the directory that BENCH_ROOT names.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const root = pathToFileURL(`${process.env.BENCH_ROOT}/`).href;
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, context.parentURL === import.meta.url ? { ...context, parentURL: root } : context),
});
const { McpServer, createMcpHandler } = await import("@modelcontextprotocol/server");
const { NodeStreamableHTTPServerTransport, localhostHostValidation, localhostOriginValidation, toNodeHandler } =
  await import("@modelcontextprotocol/node");
const z = await import("zod");

const MODERN = "2026-07-28";
const sum = z.object({ result: z.int() });
const line = z.object({ text: z.string() });
const slept = z.object({ seconds: z.number() });
const pair = z.object({ a: z.int(), b: z.int() });
const steps = z.object({ steps: z.int() });
const some = z.object({
  name: z.string(),
  count: z.int().default(1),
  ratio: z.number().default(0.5),
  flag: z.boolean().default(false),
});

const structured = (output) => ({
  content: [{ type: "text", text: JSON.stringify(output) }],
  structuredContent: output,
});

function makeServer() {
  const server = new McpServer({ name: "bench", version: "1" });
  server.registerTool(
    "add",
    { description: "Add two integers.", inputSchema: pair, outputSchema: sum },
    ({ a, b }) => structured({ result: a + b }),
  );
  server.registerTool("sleep", { description: "Sleep, then say so.", inputSchema: slept }, async ({ seconds }) => {
    await new Promise((wake) => setTimeout(wake, seconds * 1000));
    return { content: [{ type: "text", text: "slept" }] };
  });
  server.registerTool(
    "progress",
    {
      description: "Report every step as it is made, without waiting in between.",
      inputSchema: steps,
      outputSchema: sum,
    },
    async ({ steps: total }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= total; progress++) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
      }
      return structured({ result: total });
    },
  );
  for (let number = 0; number < 47; number++) {
    server.registerTool(
      `tool_${String(number).padStart(2, "0")}`,
      {
        description: "Format the arguments of a call into one line of text.",
        inputSchema: some,
        outputSchema: line,
      },
      ({ name, count, ratio, flag }) => structured({ text: `${number} ${name} ${count} ${ratio} ${flag}` }),
    );
  }
  return server;
}

const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: "reject" }));
const sessions = new Map();

async function openSession() {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await makeServer().connect(transport);
  return transport;
}

// As the adapter's documentation has it for servers without a framework.
const validateHost = localhostHostValidation();
const validateOrigin = localhostOriginValidation();
const port = Number(process.argv[process.argv.indexOf("--port") + 1]);

createServer(async (request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return;
  if (request.headers["mcp-protocol-version"] === MODERN) {
    await modern(request, response);
    return;
  }
  const session = sessions.get(request.headers["mcp-session-id"]) ?? (await openSession());
  await session.handleRequest(request, response);
}).listen(port, "127.0.0.1");

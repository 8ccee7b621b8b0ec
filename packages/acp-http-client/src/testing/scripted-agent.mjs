/**
 * An agent that does what the mock agent cannot: it sends an elicitation that refers to a client request, and reports
 * the request ids that it receives.
 */

import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const cancelled = [];

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "elicit") {
    send({ id: "question", method: "elicitation/create", params: { requestId: id, mode: "form", message: "?" } });
    send({ id, result: { asked: true } });
  } else if (method === "ids") {
    send({ id, result: { id, cancelled } });
  } else if (method === "never") {
    // Answered when it is cancelled.
  } else if (method === "$/cancel_request") {
    cancelled.push(params.requestId);
    send({ id: params.requestId, error: { code: -32800, message: "cancelled" } });
  } else if (method === undefined) {
    send({ method: "answered", params: result });
  } else if (id !== undefined) {
    send({ id, result: {} });
  }
}

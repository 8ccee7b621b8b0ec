/** The envelope of events from older versions, `_meta["sandboxagent.dev"].legacyEvent`, from an agent that sends it. */

import { expect, it } from "vitest";
import type { SandboxEvent } from "./events.ts";
import { collect, ofType } from "./testing/events.ts";
import { script, scriptClient } from "./testing/script.ts";

const legacy = (eventId: string, sequence: number, more: object = {}) => ({
  "sandboxagent.dev": { legacyEvent: { eventId, sequence, source: "agent", synthetic: false }, ...more },
});
const envelopes = (events: readonly SandboxEvent[]) => events.map(({ id, sequence }) => ({ id, sequence }));

it("one chunk with an envelope gives two events with two ids, and both are stored", async () => {
  const client = await scriptClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a" } };
  await client.prompt(id, script({ update: chunk, meta: legacy("evt-1", 41) }));
  const [[started], [delta]] = [ofType(events, "item.started"), ofType(events, "item.delta")];
  expect(delta).toMatchObject({ id: "evt-1", sequence: 41, synthetic: false });
  expect(started).toMatchObject({ source: "agent", synthetic: true });
  expect(started).not.toHaveProperty("sequence");
  expect(started?.id).not.toBe("evt-1");
  const stored = (await client.getEvents(id)).events.map(({ event }) => event);
  expect(stored.filter(({ type }) => type.startsWith("item."))).toEqual(
    events.filter(({ type }) => type.startsWith("item.")),
  );
});

it("an envelope and item ids are read beside the update and in the update", async () => {
  const client = await scriptClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "Read" };
  const done = { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" };
  await client.prompt(
    id,
    script(
      { update: call, meta: legacy("evt-1", 1, { item_id: "i", native_item_id: "n" }) },
      { update: { ...done, _meta: legacy("evt-2", 2) } },
    ),
  );
  const items = events.filter(({ type }) => type.startsWith("item."));
  expect(envelopes(items)).toEqual([
    { id: "evt-1", sequence: 1 },
    { id: "evt-2", sequence: 2 },
  ]);
  expect(ofType(events, "item.completed")).toMatchObject([{ item: { id: "i", nativeId: "n" } }]);
});

it("the start of a session has the envelope of the answer that opened it", async () => {
  const client = await scriptClient();
  const events = collect(client);
  const { id } = await client.newSession({
    directory: "/tmp",
    metadata: { answer: { _meta: legacy("evt-0", 7) } },
  });
  expect(ofType(events, "session.started")).toMatchObject([
    { id: "evt-0", sequence: 7, source: "agent", synthetic: false, sessionId: id, how: "new" },
  ]);
});

it("the end of a turn has the envelope of the answer to its prompt", async () => {
  const client = await scriptClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  await client.prompt(id, script({ result: { _meta: legacy("evt-9", 9) } }));
  expect(ofType(events, "turn.ended")).toMatchObject([{ id: "evt-9", sequence: 9 }]);
});

it("permission requests and questions have the envelopes of their requests", async () => {
  const client = await scriptClient();
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  client.onPermission(() => "reject");
  client.onQuestion(() => null);
  await client.prompt(
    id,
    script(
      { request: "session/request_permission", params: { toolCall: {}, options: [], _meta: legacy("evt-3", 3) } },
      {
        request: "_sandboxagent/session/request_question",
        params: { questionId: "q", prompt: "?", options: [], _meta: legacy("evt-4", 4) },
      },
    ),
  );
  expect(envelopes(ofType(events, "permission.requested"))).toEqual([{ id: "evt-3", sequence: 3 }]);
  expect(envelopes(ofType(events, "question.requested"))).toEqual([{ id: "evt-4", sequence: 4 }]);
});

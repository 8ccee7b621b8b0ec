import { describe, expect, it } from "vitest";
import {
  choosePermission,
  grantedBy,
  type PermissionKind,
  type PermissionOption,
  type PermissionReply,
  permissionAnswer,
  permissionCancelled,
  readPermission,
  replyOf,
} from "./permissions.ts";

const option = (id: string, kind?: PermissionKind): PermissionOption => ({ id, label: id, ...(kind && { kind }) });
const ALL = [
  option("1", "allow_once"),
  option("2", "allow_always"),
  option("3", "reject_once"),
  option("4", "reject_always"),
];

describe("replies to permission requests", () => {
  it.each<[PermissionReply, string]>([
    ["once", "1"],
    ["always", "2"],
    ["reject", "3"],
  ])("%s selects by kind", (reply, id) => {
    const choice = choosePermission(ALL, reply);
    expect(choice).toEqual({ option: ALL[Number(id) - 1], isFallback: false });
    expect(permissionAnswer(choice, reply)).toEqual({
      outcome: { outcome: "selected", optionId: id },
      _meta: { "sandboxagent.dev": { permission: { reply } } },
    });
  });

  it("prefers kinds to ids", () => {
    const misleading = [option("reject", "allow_once"), option("allow", "reject_once")];
    expect(choosePermission(misleading, "once").option?.id).toBe("reject");
    expect(choosePermission(misleading, "reject").option?.id).toBe("allow");
  });

  it.each<[PermissionReply, string]>([
    ["once", "approved"],
    ["always", "approved-for-session"],
    ["reject", "abort"],
  ])("%s selects by id where there are no kinds", (reply, id) => {
    const plain = [option("approved"), option("approved-for-session"), option("abort")];
    expect(choosePermission(plain, reply)).toEqual({ option: option(id), isFallback: false });
  });

  it.each<[PermissionReply, readonly string[]]>([
    [
      "once",
      ["once", "allow", "allow-once", "allow_once", "allowOnce", "YES", "approve", "approved", "accept"].concat([
        "proceed_once",
        "proceed-once",
        "proceedOnce",
      ]),
    ],
    [
      "always",
      [
        "always",
        "allow-always",
        "allow_always",
        "allowAlways",
        "allow_session",
        "allow-session",
        "allowSession",
      ].concat([
        "approve_for_session",
        "approved-for-session",
        "approvedForSession",
        "proceed-always",
        "proceed_always",
        "proceedAlways",
      ]),
    ],
    [
      "reject",
      ["reject", "reject-once", "reject_once", "rejectOnce", "deny", "denied", "no", "decline", "cancel", "abort"],
    ],
  ])("%s knows the ids that agents use", (reply, known) => {
    expect(known.map((id) => replyOf(option(id)))).toEqual(known.map(() => reply));
    expect(known.map((id) => choosePermission([option(id)], reply).option?.id)).toEqual(known);
    const longer = known.flatMap((id) => [`not-${id}`, `${id}-not`, `un${id}`, `${id}s`]);
    expect(longer.filter((id) => replyOf(option(id)) !== undefined)).toEqual([]);
  });

  it("selects by id only among options without a kind", () => {
    expect(choosePermission([option("reject", "allow_once")], "reject").option).toBeUndefined();
    expect(choosePermission([option("once", "reject_once")], "always").option).toBeUndefined();
  });

  it("falls back by id, too", () => {
    expect(choosePermission([option("yes"), option("no")], "always")).toEqual({
      option: option("yes"),
      isFallback: true,
    });
    expect(permissionAnswer({ option: option("yes"), isFallback: true }, "always")).toEqual({
      outcome: { outcome: "selected", optionId: "yes" },
      _meta: { "sandboxagent.dev": { permission: { reply: "always", fallback: "yes" } } },
    });
    expect(choosePermission([option("yes")], "reject").option).toBeUndefined();
    expect(choosePermission([option("yes", "reject_once"), option("no")], "once").option).toBeUndefined();
  });

  it("records nothing about an option that the caller has named", () => {
    expect(permissionAnswer({ option: option("1", "allow_once"), isFallback: false }, undefined)).toEqual({
      outcome: { outcome: "selected", optionId: "1" },
    });
  });

  it.each(["allow_once", "allow_always", "reject_once", "reject_always"])("the kind %s is read", (kind) => {
    const { options } = readPermission({ options: [{ optionId: "x", kind }] }, { permissionId: "p", sessionId: "s" });
    expect(options).toEqual([{ id: "x", label: "x", kind }]);
  });

  it("falls back to the closest permission for `always` and records it", () => {
    const choice = choosePermission([option("only", "allow_once"), option("no", "reject_once")], "always");
    expect(choice).toMatchObject({ option: { id: "only" }, isFallback: true });
    expect(permissionAnswer(choice, "always")).toEqual({
      outcome: { outcome: "selected", optionId: "only" },
      _meta: { "sandboxagent.dev": { permission: { reply: "always", fallback: "allow_once" } } },
    });
  });

  it.each([
    ["kind", option("lasting", "allow_always")],
    ["id", option("allow-always")],
  ])(
    "never grants a permanent permission (recognised by its %s) for `once`, and records the fallback",
    (_, lasting) => {
      const choice = choosePermission([lasting, option("no", "reject_once")], "once");
      expect(choice).toEqual({ isFallback: true });
      expect(permissionAnswer(choice, "once")).toEqual({
        outcome: { outcome: "cancelled" },
        _meta: { "sandboxagent.dev": { permission: { reply: "once", fallback: "cancelled" } } },
      });
    },
  );

  it.each([
    ["allow_once", "once"],
    ["allow_always", "always"],
    ["reject_once", "nothing"],
    ["reject_always", "nothing"],
  ] as const)("the option %s grants %s", (kind, granted) => {
    expect(grantedBy({ option: option("it", kind), isFallback: false })).toBe(granted);
  });

  it("no option grants nothing; what an option of an unknown kind grants is not known", () => {
    expect(grantedBy({ isFallback: true })).toBe("nothing");
    expect(grantedBy({ option: option("whatever"), isFallback: false })).toBeUndefined();
  });

  it("rejects once rather than always, and always if there is nothing else", () => {
    expect(choosePermission([option("4", "reject_always"), option("3", "reject_once")], "reject").option?.id).toBe("3");
    expect(choosePermission([option("4", "reject_always")], "reject")).toMatchObject({
      option: { id: "4" },
      isFallback: false,
    });
  });

  it("never selects an option that allows for a rejection, or vice versa", () => {
    const rejected = choosePermission([option("1", "allow_once")], "reject");
    expect(rejected.option).toBeUndefined();
    expect(permissionAnswer(rejected, "reject")).toMatchObject({ outcome: { outcome: "cancelled" } });
    expect(choosePermission([option("3", "reject_once")], "once").option).toBeUndefined();
    expect(choosePermission([], "always").option).toBeUndefined();
  });

  it("maps an option to its reply", () => {
    expect(ALL.map(replyOf)).toEqual(["once", "always", "reject", "reject"]);
    expect(replyOf(option("deny"))).toBe("reject");
    expect(replyOf(option("whatever"))).toBeUndefined();
  });

  it("answers a cancelled turn with the protocol's outcome", () => {
    expect(permissionCancelled()).toEqual({ outcome: { outcome: "cancelled" } });
  });
});

describe("a permission request", () => {
  const ids = { permissionId: "7", sessionId: "s" };

  it("is read with its options", () => {
    const toolCall = { toolCallId: "t", title: "Edit", kind: "edit", rawInput: { path: "/a" } };
    const options = [
      { optionId: "y", name: "Yes", kind: "allow_once" },
      { optionId: "z", name: "?", kind: "maybe" },
      { optionId: "n" },
      {},
    ];
    expect(readPermission({ toolCall, options }, ids)).toEqual({
      ...ids,
      title: "Edit",
      toolCallId: "t",
      toolKind: "edit",
      input: { path: "/a" },
      diffs: [],
      options: [
        { id: "y", label: "Yes", kind: "allow_once" },
        { id: "z", label: "?" },
        { id: "n", label: "n" },
        { id: "", label: "" },
      ],
      raw: toolCall,
    });
    expect(readPermission(undefined, ids)).toEqual({ ...ids, title: "", diffs: [], options: [] });
  });

  it("has the file changes for which permission is requested", () => {
    const content = [
      { type: "diff", path: "/a", oldText: "x", newText: "y" },
      { type: "content", content: { type: "text", text: "not a change" } },
      { type: "diff", path: "/new", oldText: null, newText: "z" },
    ];
    expect(readPermission({ toolCall: { toolCallId: "t", content } }, ids).diffs).toEqual([
      { path: "/a", oldText: "x", newText: "y" },
      { path: "/new", newText: "z" },
    ]);
  });

  it("takes the details that it lacks from the tool call that the agent has sent before", () => {
    const tool = { title: "Edit", kind: "edit", input: { path: "/a" }, diffs: [{ path: "/a", newText: "y" }] };
    const expected = { title: "Edit", toolKind: "edit", input: { path: "/a" }, diffs: tool.diffs };
    expect(readPermission({ toolCall: { toolCallId: "t" } }, ids, tool)).toMatchObject(expected);
    const toolCall = { toolCallId: "t", title: "T", kind: "read", rawInput: 1, content: [] };
    expect(readPermission({ toolCall }, ids, tool)).toMatchObject({
      title: "T",
      toolKind: "read",
      input: 1,
      diffs: [],
    });
  });
});

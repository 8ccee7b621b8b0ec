import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HttpError } from "../errors.ts";
import { temporaryFolder } from "../testing/folder.ts";
import { startTestServer, testClient } from "../testing/server.ts";
import type { FileChange } from "./files.ts";
import { tarOf } from "./tar.ts";

async function offline() {
  const server = await startTestServer();
  return { server, client: testClient(server, { autoConnect: false }) };
}

describe("the server", () => {
  it("reports its health", async () => {
    const { client } = await offline();
    const health = await client.health();
    expect(health.status).toBe("ok");
    expect(health.uptimeMs).toBeGreaterThanOrEqual(0);
  });

  it("rejects a wrong token, and a new one is requested once", async () => {
    const server = await startTestServer();
    const wrong = testClient(server, { autoConnect: false, token: "wrong" });
    await expect(wrong.health()).rejects.toMatchObject({ status: 401 });
    const refusedTokens: (string | undefined)[] = [];
    const patient = testClient(server, {
      autoConnect: false,
      token: (refused) => {
        refusedTokens.push(refused);
        return refused === undefined ? "stale" : server.token;
      },
    });
    expect((await patient.health()).status).toBe("ok");
    expect(refusedTokens).toEqual([undefined, "stale"]);
  });

  it("receives the caller's headers through the caller's fetch", async () => {
    const server = await startTestServer();
    const seen: string[] = [];
    const client = testClient(server, {
      headers: { "X-Trace": "t" },
      fetch: (input, init) => {
        seen.push(new Headers(init?.headers).get("x-trace") ?? "");
        return fetch(input, init);
      },
    });
    await client.newSession({ directory: "/tmp" });
    expect(seen.length).toBeGreaterThan(2);
    expect(new Set(seen)).toEqual(new Set(["t"]));
  });
});

describe("agents", () => {
  it("are listed, looked up with their models and modes, and installed", async () => {
    const { client } = await offline();
    const list = await client.agents.list();
    expect(list.map(({ id }) => id)).toContain("mock");
    const mock = await client.agents.get("mock", { config: true });
    expect(mock).toMatchObject({ installed: true, credentialsAvailable: true, capabilities: { questions: true } });
    expect(mock.models.map(({ id }) => id)).toEqual(["mock-small", "mock-medium", "mock-large"]);
    expect(mock.modes.map(({ id }) => id)).toEqual(["ask", "code", "plan"]);
    expect(await client.agents.install("mock")).toMatchObject({ alreadyInstalled: true });
    await expect(client.agents.get("no-such-agent")).rejects.toBeInstanceOf(HttpError);
  });
});

describe("files", () => {
  it("are written, read, listed, described, moved and deleted", async () => {
    const { client, server } = await offline();
    const { files } = client;
    expect(await files.write("a/b.txt", "hello")).toMatchObject({ bytesWritten: 5 });
    expect(await files.readText("a/b.txt")).toBe("hello");
    expect(await files.read("a/b.txt")).toEqual(new TextEncoder().encode("hello"));
    expect(await files.list("a")).toMatchObject([{ name: "b.txt", entryType: "file", size: 5 }]);
    expect(await files.stat("a/b.txt")).toMatchObject({
      entryType: "file",
      size: 5,
      path: join(server.folder, "a/b.txt"),
    });
    await files.mkdir("made/deep");
    await files.move("a/b.txt", "made/c.txt");
    await expect(files.readText("a/b.txt")).rejects.toMatchObject({ status: 404 });
    await files.write("x.txt", "x");
    await expect(files.move("x.txt", "made/c.txt")).rejects.toMatchObject({ status: 409 });
    await files.move("x.txt", "made/c.txt", { overwrite: true });
    expect(await files.readText("made/c.txt")).toBe("x");
    await files.delete("made", { recursive: true });
    await expect(files.stat("made")).rejects.toMatchObject({ status: 404 });
  });

  it("are listed page by page, and recursively", async () => {
    const { client } = await offline();
    const names = ["a", "b", "c", "d", "e"];
    await client.files.upload(
      "many",
      names.map((name) => ({ path: `sub/${name}`, content: name })),
    );
    const listed = await client.files.list("many/sub", { pageSize: 2 });
    expect(listed.map(({ name }) => name)).toEqual(names);
    const all = await client.files.list("many", { recursive: true, pageSize: 4 });
    expect(all.map(({ path }) => path.split("/many/")[1])).toEqual(["sub", ...names.map((name) => `sub/${name}`)]);
  });

  it("are overwritten only if unchanged, on request", async () => {
    const { client } = await offline();
    await client.files.write("f", "one", { ifAbsent: true });
    await expect(client.files.write("f", "two", { ifAbsent: true })).rejects.toMatchObject({ status: 412 });
    const { etag, size, body } = await client.files.open("f");
    await body.cancel();
    expect(size).toBe(3);
    await client.files.write("f", "two", { ifMatch: etag ?? "" });
    await expect(client.files.write("f", "three", { ifMatch: etag ?? "" })).rejects.toMatchObject({ status: 412 });
  });

  it("are written from streams, blobs and bytes", async () => {
    const { client } = await offline();
    await client.files.write("stream", new Blob(["a", "b", "c"]).stream());
    await client.files.write("blob", new Blob(["blob"]));
    await client.files.write("bytes", new Uint8Array([0, 255]));
    expect(await client.files.readText("stream")).toBe("abc");
    expect(await client.files.readText("blob")).toBe("blob");
    expect(await client.files.read("bytes")).toEqual(new Uint8Array([0, 255]));
  });

  it("are uploaded many at once, with long and unusual names, and downloaded as an archive", async () => {
    const { client, server } = await offline();
    const long = `${"directory-with-a-long-name/".repeat(6)}ünïcode ✓.txt`;
    const sent = [
      { path: "run.sh", content: "#!/bin/sh\n", mode: 0o755 },
      { path: "./src/main.ts", content: "export {};\n" },
      { path: "empty", content: "" },
      { path: long, content: new Uint8Array(1000).fill(7) },
    ];
    const result = await client.files.upload("project", sent);
    expect(result).toMatchObject({ truncated: false });
    expect(await client.files.readText("project/src/main.ts")).toBe("export {};\n");
    expect((await client.files.read(`project/${long}`)).length).toBe(1000);
    expect(statSync(join(server.folder, "project/run.sh")).mode & 0o111).not.toBe(0);
    const folder = await temporaryFolder();
    const archive = join(folder, "back.tar.gz");
    writeFileSync(archive, Buffer.from(await new Response(await client.files.download("project")).arrayBuffer()));
    mkdirSync(join(folder, "back"));
    execFileSync("tar", ["xzf", archive, "-C", join(folder, "back")]);
    const found = execFileSync("find", [join(folder, "back"), "-name", "main.ts"], { encoding: "utf8" }).trim();
    expect(readFileSync(found, "utf8")).toBe("export {};\n");
  });

  it("are packed so that tar can read the archive", async () => {
    const folder = await temporaryFolder();
    const long = `${"x".repeat(90)}/${"y".repeat(90)}`;
    writeFileSync(
      join(folder, "a.tar"),
      Buffer.concat([
        ...tarOf([
          { path: "a", content: "1" },
          { path: long, content: "2" },
        ]),
      ]),
    );
    expect(
      execFileSync("tar", ["tf", join(folder, "a.tar")], { encoding: "utf8" })
        .trim()
        .split("\n"),
    ).toEqual(["a", long]);
  });

  it("are watched until the signal is aborted", async () => {
    const { client } = await offline();
    const stop = new AbortController();
    const changes: FileChange[] = [];
    const watching = (async () => {
      for await (const change of client.files.watch(undefined, { signal: stop.signal })) {
        changes.push(change);
        if (change.type === "removed") stop.abort();
      }
    })();
    // The watch starts some time after the request, and earlier changes are not reported. So this changes a file often.
    const writing = setInterval(() => {
      client.files.write("watched.txt", "x").then(
        () => client.files.delete("watched.txt"),
        () => {},
      );
    }, 100);
    await watching.finally(() => clearInterval(writing));
    expect(changes.some((change) => "path" in change && change.path.endsWith("watched.txt"))).toBe(true);
  });
});

describe("configuration", () => {
  it("stores MCP servers of a directory, and a session can use them", async () => {
    const server = await startTestServer();
    const client = testClient(server);
    await client.mcpConfig.set(server.folder, "stored", { type: "local", command: "run", args: ["--it"] });
    await client.mcpConfig.set(server.folder, "both", { type: "local", command: "stored" });
    expect(await client.mcpConfig.get(server.folder, "stored")).toMatchObject({ command: "run" });
    expect(Object.keys(await client.mcpConfig.list(server.folder)).sort()).toEqual(["both", "stored"]);
    const session = await client.newSession({ useStoredMcp: true, mcp: { both: { command: "given" } } });
    const { text } = await client.prompt(session.id, "mcp");
    expect(text).toContain("stored");
    expect(text).toContain("given");
    const plain = await client.newSession();
    expect((await client.prompt(plain.id, "mcp")).text).not.toContain("stored");
    await client.mcpConfig.delete(server.folder, "stored");
    expect(await client.mcpConfig.get(server.folder, "stored")).toBeUndefined();
  });

  it("stores skills of a directory", async () => {
    const { client, server } = await offline();
    const entry = { sources: [{ type: "git" as const, source: "https://example.test/skills.git", ref: "main" }] };
    await client.skillsConfig.set(server.folder, "mine", entry);
    expect(await client.skillsConfig.get(server.folder, "mine")).toEqual(entry);
    expect(await client.skillsConfig.list(server.folder)).toEqual({ mine: entry });
    await client.skillsConfig.delete(server.folder, "mine");
    expect(await client.skillsConfig.get(server.folder, "mine")).toBeUndefined();
    await expect(client.skillsConfig.set(server.folder, "bad", { sources: "no" } as never)).rejects.toMatchObject({
      status: 400,
    });
  });
});

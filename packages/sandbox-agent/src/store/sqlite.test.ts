import { join } from "node:path";
import { makeFolder } from "../testing/folder.ts";
import { describeStore } from "../testing/store-conformance.ts";
import { sqliteStore } from "./sqlite.ts";

describeStore("SQLite store", async () => {
  const folder = await makeFolder();
  return {
    open: async () => sqliteStore({ path: join(folder.path, "sessions.db") }),
    isDurable: true,
    remove: folder.remove,
  };
});

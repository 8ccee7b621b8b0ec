import "fake-indexeddb/auto";
import { IDBFactory } from "fake-indexeddb";
import { describeStore } from "../testing/store-conformance.ts";
import { indexedDbStore } from "./indexeddb.ts";

describeStore("IndexedDB store", async () => {
  const factory = new IDBFactory();
  return { open: () => indexedDbStore({ factory }), isDurable: true, remove: async () => {} };
});

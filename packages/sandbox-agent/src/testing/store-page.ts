/** Runs in the browser test's page: the conformance suite for stores, on the browser's IndexedDB. */

import { indexedDbStore } from "../store/indexeddb.ts";
import { runTests } from "./page-vitest.ts";
import { describeStore } from "./store-conformance.ts";

let locations = 0;

describeStore("IndexedDB store", async () => {
  locations += 1;
  const name = `place-${locations}`;
  return {
    open: () => indexedDbStore({ name }),
    isDurable: true,
    remove: () =>
      new Promise<void>((resolve, reject) => {
        const removal = indexedDB.deleteDatabase(name);
        removal.onsuccess = () => resolve();
        removal.onerror = () => reject(removal.error);
        // A closed store must not keep the database open.
        removal.onblocked = () => reject(new Error(`${name} is still open`));
      }),
  };
});

runTests().then((results) => fetch("/done", { method: "POST", body: JSON.stringify(results) }));

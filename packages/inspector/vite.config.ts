/** How the inspector is built: relative addresses, so that it works behind any path prefix. */

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [react()],
  // The package names a module that is not in it.
  resolve: { alias: { "@xterm/headless": "@xterm/headless/lib-headless/xterm-headless.mjs" } },
  build: {
    // Every file apart: a data: URL for a script or a style would be against the page's own policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: "es2023",
  },
  // `npm run dev` shows the page beside a server that was started on its usual port.
  server: { proxy: { "/v1": "http://127.0.0.1:2468" } },
});

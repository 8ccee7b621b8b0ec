/** The build of the inspector. Uses relative URLs, so that the page works behind any path prefix. */

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [react()],
  // The `main` field of this package names a file that the package does not contain.
  resolve: { alias: { "@xterm/headless": "@xterm/headless/lib-headless/xterm-headless.mjs" } },
  build: {
    // No inlined assets: the content security policy forbids `data:` URLs for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: "es2023",
  },
  // `npm run dev` proxies the API to a server on the default port.
  server: { proxy: { "/v1": "http://127.0.0.1:2468" } },
});

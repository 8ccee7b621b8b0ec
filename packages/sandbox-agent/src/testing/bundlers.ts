/** Bundles a page for a browser with each bundler, with as little configuration as it allows. */

import { nodeResolve } from "@rollup/plugin-node-resolve";
import { build as buildWithEsbuild } from "esbuild";
import { rollup } from "rollup";
import { build as buildWithVite } from "vite";
import webpack from "webpack";
import type { Scripts } from "./browser.ts";
import { makeFolder } from "./folder.ts";

/** Bundles the script at a path as `page.js`. */
export type Bundler = (entry: string) => Promise<Scripts>;

/** All bundlers, keyed by name. Each fails on a module that it cannot resolve. */
export const BUNDLERS: Readonly<Record<string, Bundler>> = {
  async esbuild(entry) {
    const { outputFiles } = await buildWithEsbuild({
      entryPoints: { page: entry },
      bundle: true,
      format: "esm",
      outdir: "/",
      write: false,
      logLevel: "silent",
    });
    return new Map(outputFiles.map(({ path, text }) => [path, text]));
  },

  async webpack(entry) {
    const { path, remove } = await makeFolder();
    const compiler = webpack({ mode: "production", entry: { page: entry }, output: { path }, performance: false });
    if (!compiler) throw new Error("webpack made no compiler");
    const scripts = new Map<string, string>();
    // Collects the files in memory.
    compiler.hooks.compilation.tap("collect", (compilation) => {
      compilation.hooks.afterProcessAssets.tap("collect", (assets) => {
        for (const [name, source] of Object.entries(assets)) scripts.set(`/${name}`, source.source().toString());
      });
    });
    try {
      await new Promise<void>((resolve, reject) => {
        compiler.run((error, stats) => {
          if (error) reject(error);
          else if (stats?.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })));
          else resolve();
        });
      });
      await new Promise((resolve) => compiler.close(resolve));
      return scripts;
    } finally {
      await remove();
    }
  },

  async vite(entry) {
    const built = await buildWithVite({
      configFile: false,
      logLevel: "silent",
      build: { write: false, rolldownOptions: { input: { page: entry }, output: { entryFileNames: "[name].js" } } },
    });
    const [bundle] = Array.isArray(built) ? built : [built];
    const chunks = bundle && "output" in bundle ? bundle.output : [];
    return new Map(chunks.map((chunk) => [`/${chunk.fileName}`, chunk.type === "chunk" ? chunk.code : ""]));
  },

  async rollup(entry) {
    const built = await rollup({
      input: { page: entry },
      plugins: [nodeResolve({ browser: true })],
      onwarn(warning, warn) {
        // Rollup only warns about a module that it cannot resolve, and leaves it to the browser.
        if (warning.code === "UNRESOLVED_IMPORT") throw new Error(warning.message);
        warn(warning);
      },
    });
    const { output } = await built.generate({ format: "esm" });
    await built.close();
    return new Map(output.map((chunk) => [`/${chunk.fileName}`, chunk.type === "chunk" ? chunk.code : ""]));
  },
};

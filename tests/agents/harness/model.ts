/** Runs the scripted model, and reads its records of the agents' requests. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SCRATCH } from "./environment.ts";
import { type Program, startProgram } from "./programs.ts";

/** The settings that point an agent at the model. */
export interface Recipe {
  readonly agent: string;
  readonly environment: readonly { readonly name: string; readonly value: string }[];
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

/** A request from an agent to the model. */
export interface ModelRequest {
  readonly number: number;
  readonly model: string;
  readonly prompt?: string;
  readonly script: string;
  /** How many user messages the request contained. */
  readonly messages: number;
  readonly outcome: "under_way" | "finished" | "failed" | "abandoned" | "cut";
}

/** A running model. */
export interface Model {
  readonly url: string;
  recipe(agent: string): Promise<Recipe | undefined>;
  requests(): Promise<readonly ModelRequest[]>;
  /** The newest request with this script. */
  newest(script: string): Promise<ModelRequest | undefined>;
  stop(): Promise<void>;
}

/** Starts a model on a free port. */
export async function startModel(): Promise<Model> {
  await mkdir(SCRATCH, { recursive: true });
  const args = ["model", "--port", "0", "--quiet"];
  const env = { PATH: process.env.PATH ?? "" };
  const program: Program = await startProgram({ args, env, directory: SCRATCH, log: join(SCRATCH, "model.log") });
  const read = async <T>(path: string): Promise<T> => (await (await fetch(`${program.url}${path}`)).json()) as T;
  const requests = async () => (await read<{ requests: readonly ModelRequest[] }>("/requests")).requests;
  return {
    url: program.url,
    async recipe(agent) {
      const { recipes } = await read<{ recipes: readonly Recipe[] }>("/recipes");
      return recipes.find((recipe) => recipe.agent === agent);
    },
    requests,
    newest: async (wanted) => (await requests()).findLast(({ script }) => script === wanted),
    stop: program.stop,
  };
}

/** All steps, in order. */

import { allow } from "./allow.ts";
import { ask } from "./ask.ts";
import { cancel } from "./cancel.ts";
import { remove } from "./delete.ts";
import { fail } from "./fail.ts";
import { host } from "./host.ts";
import { initialize } from "./initialize.ts";
import { install } from "./install.ts";
import { mode } from "./mode.ts";
import { model } from "./model.ts";
import { prompt } from "./prompt.ts";
import { reconnect } from "./reconnect.ts";
import { reject } from "./reject.ts";
import { resume } from "./resume.ts";
import { session } from "./session.ts";
import { sessions } from "./sessions.ts";
import { STEP_NAMES, type Step } from "./step.ts";

const BY_NAME = new Map(
  [
    install,
    initialize,
    session,
    prompt,
    allow,
    reject,
    host,
    ask,
    cancel,
    sessions,
    reconnect,
    fail,
    mode,
    model,
    resume,
    remove,
  ].map((step) => [step.name, step]),
);

/** The steps, in order. */
export const STEPS: readonly Step[] = STEP_NAMES.map((name) => {
  const step = BY_NAME.get(name);
  if (!step) throw new Error(`there is no step ${name}`);
  return step;
});

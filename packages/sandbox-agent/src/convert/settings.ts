/** Reads a session's mode, model and config options from what the agent sends, and makes requests to change them. */

import { compact, type JsonObject, listOf, objectOf, textOf } from "../json.ts";

/** A value of a config option. */
export interface Choice {
  /** Identifies the value. */
  readonly id: string;
  /** The label to show. */
  readonly name: string;
  /** The explanation to show. */
  readonly description?: string;
}

/** A config option of a session. */
export interface ConfigOption {
  /** Identifies the option. */
  readonly id: string;
  /** The label to show. */
  readonly name: string;
  /** The explanation to show. */
  readonly description?: string;
  /** The option's category, such as `mode`, `model` or `thought_level`. */
  readonly category?: string;
  /** The current value. */
  readonly value: string | boolean;
  /** The possible values; empty for a boolean. */
  readonly choices: readonly Choice[];
}

/** The settings of a session, as reported by the agent. */
export interface SessionSettings {
  /** All config options. */
  readonly options: readonly ConfigOption[];
  /** The modes, if the agent has any. */
  readonly modes: readonly Choice[];
  /** The current mode. */
  readonly mode?: string;
  /** The models, if the agent reports any. */
  readonly models: readonly Choice[];
  /** The current model. */
  readonly model?: string;
}

/** A session without settings. */
export const NO_SETTINGS: SessionSettings = { options: [], modes: [], models: [] };

/** Reads the settings from the response that opened a session. */
export function readSettings(response: unknown): SessionSettings {
  const { configOptions, modes, models } = objectOf(response);
  const options = readOptions(configOptions);
  const older = {
    modes: choices(objectOf(modes).availableModes, "id"),
    mode: textOf(objectOf(modes).currentModeId),
    models: choices(objectOf(models).availableModels, "modelId"),
    model: textOf(objectOf(models).currentModelId),
  };
  return withOptions({ ...compact(older), options }, options);
}

/** The settings after an update that lists all config options. */
export function withOptions(settings: SessionSettings, options: readonly ConfigOption[]): SessionSettings {
  const mode = byCategory(options, "mode");
  const model = byCategory(options, "model");
  return compact({
    options,
    modes: mode?.choices ?? settings.modes,
    mode: typeof mode?.value === "string" ? mode.value : settings.mode,
    models: model?.choices ?? settings.models,
    model: typeof model?.value === "string" ? model.value : settings.model,
  });
}

/** The settings after the mode has changed. */
export function withMode(settings: SessionSettings, mode: string): SessionSettings {
  return { ...settings, mode, options: replaced(settings.options, "mode", mode) };
}

/** The settings after the model has changed. */
export function withModel(settings: SessionSettings, model: string): SessionSettings {
  return { ...settings, model, options: replaced(settings.options, "model", model) };
}

function replaced(options: readonly ConfigOption[], category: string, value: string): readonly ConfigOption[] {
  const changed = byCategory(options, category);
  return options.map((option) => (option === changed ? { ...option, value } : option));
}

/** Converts a list of config options. */
export function readOptions(configOptions: unknown): ConfigOption[] {
  return listOf(configOptions).flatMap((entry) => {
    const { id, name, description, category, currentValue, options } = objectOf(entry);
    const value = typeof currentValue === "boolean" ? currentValue : textOf(currentValue);
    if (typeof id !== "string" || value === undefined) return [];
    return [
      compact({
        id,
        name: textOf(name) ?? id,
        description: textOf(description),
        category: textOf(category),
        value,
        choices: choices(options, "value"),
      }),
    ];
  });
}

/** Converts a list of values, flat or grouped. */
function choices(list: unknown, key: string): Choice[] {
  return listOf(list).flatMap((entry): Choice[] => {
    const choice = objectOf(entry);
    if (Array.isArray(choice.options)) return choices(choice.options, key);
    const id = textOf(choice[key]) ?? textOf(choice.id);
    if (id === undefined) return [];
    return [compact({ id, name: textOf(choice.name) ?? id, description: textOf(choice.description) })];
  });
}

/** Finds the option of a category. Agents that send no categories usually use the category's name as the option's id. */
function byCategory(options: readonly ConfigOption[], category: string): ConfigOption | undefined {
  const isNamed = (option: ConfigOption): boolean => option.category === undefined && option.id === category;
  return options.find((option) => option.category === category) ?? options.find(isNamed);
}

/** A request that changes a setting. */
export interface SettingRequest {
  /** The method. */
  readonly method: string;
  /** The parameters. */
  readonly params: JsonObject;
}

/** The request that sets one option. */
export function setOptionRequest(sessionId: string, configId: string, value: string | boolean): SettingRequest {
  const typed = typeof value === "boolean" ? { type: "boolean", value } : { value };
  return { method: "session/set_config_option", params: { sessionId, configId, ...typed } };
}

/** The requests that may set the mode, in order of preference: the config option, then `session/set_mode`. */
export function setModeRequests(sessionId: string, settings: SessionSettings, mode: string): SettingRequest[] {
  const older = { method: "session/set_mode", params: { sessionId, modeId: mode } };
  const option = byCategory(settings.options, "mode");
  return option ? [setOptionRequest(sessionId, option.id, mode), older] : [older];
}

/** The requests that may set the model, in order of preference: the config option, then `session/set_model`. */
export function setModelRequests(sessionId: string, settings: SessionSettings, model: string): SettingRequest[] {
  const older = { method: "session/set_model", params: { sessionId, modelId: model } };
  const option = byCategory(settings.options, "model");
  return option ? [setOptionRequest(sessionId, option.id, model), older] : [older];
}

/** The request that sets how permissions are handled; `undefined` if the agent has no such option. */
export function setPermissionModeRequest(
  sessionId: string,
  settings: SessionSettings,
  permissionMode: string,
): SettingRequest | undefined {
  const names = ["permission_mode", "permissionMode", "permissions", "approval_policy"];
  const option = settings.options.find(
    ({ id, category }) => names.includes(id) || (category !== undefined && names.includes(category)),
  );
  return option && setOptionRequest(sessionId, option.id, permissionMode);
}

// The user's settings for all launches. Independent of the editor.

/** What the editor knows of a setting: where the user has given it, the last one wins. */
export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

/**
 * Returns the settings that the user has given. A setting that was left alone is not sent: the debugger has its
 * default, and the configuration of a project may come from elsewhere.
 *
 * @param names those that the request knows
 * @param inspect returns what the editor knows of one
 */
export function given(names: string[], inspect: (name: string) => Inspected | undefined): object {
  const settings: Record<string, unknown> = {};
  for (const name of names) {
    const { globalValue, workspaceValue, workspaceFolderValue } = inspect(name) ?? {};
    const value = workspaceFolderValue ?? workspaceValue ?? globalValue;
    if (value !== undefined) {
      settings[name] = value;
    }
  }
  return settings;
}

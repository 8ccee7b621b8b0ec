/** The colour theme: light, dark, or the system's. */

import { useEffect, useState } from "react";

const KEY = "sandbox-agent.theme";
const NEXT = { system: "light", light: "dark", dark: "system" } as const;
type Theme = keyof typeof NEXT;
const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

function keptTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function ThemeSwitch(): React.ReactNode {
  const [theme, setTheme] = useState<Theme>(keptTheme);
  useEffect(() => {
    localStorage.setItem(KEY, theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  return (
    <button
      type="button"
      className="icon"
      aria-label={`Colours: ${theme}`}
      title={`Colours: ${theme}`}
      onClick={() => setTheme(NEXT[theme])}
    >
      {SIGNS[theme]}
    </button>
  );
}

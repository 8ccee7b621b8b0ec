/** The connect screen, on which the user enters a server and its token. */

import { type FormEvent, useState } from "react";
import { ownServer, parseServer, type Target } from "../server/target.ts";
import { Alert } from "./alert.tsx";

interface Props {
  readonly target: Target;
  readonly problem: string | undefined;
  onConnect(target: Target): void;
}

export function Connect({ target, problem, onConnect }: Props): React.ReactNode {
  const own = ownServer(location.href);
  const [server, setServer] = useState(target.base === own ? "" : target.base);
  const [token, setToken] = useState(target.token ?? "");
  const [mistake, setMistake] = useState<string>();

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const base = parseServer(server, location.href);
    setMistake(base === undefined ? "Not a server address. Example: http://host:port" : undefined);
    if (base !== undefined) onConnect({ base, token: token.trim() || undefined });
  };
  const shown = mistake ?? problem;

  return (
    <main className="connect">
      <form onSubmit={submit} aria-labelledby="connect-title">
        <h1 id="connect-title">Sandbox Agent</h1>
        <p className="muted">Inspect and control the agents of a server.</p>
        <Alert text={shown} />
        <label>
          Server
          <input
            value={server}
            onChange={(event) => setServer(event.target.value)}
            placeholder={own}
            inputMode="url"
            autoComplete="url"
            name="server"
          />
          <small>
            Leave empty for the server of this page. Another server must allow this page (--cors-allow-origin).
          </small>
        </label>
        <label>
          Token
          <input
            value={token}
            onChange={(event) => setToken(event.target.value)}
            type="password"
            autoComplete="off"
            name="token"
          />
          <small>Stored for this tab only. A link that ends with #token=… fills it in.</small>
        </label>
        <button type="submit" className="primary">
          Connect
        </button>
      </form>
    </main>
  );
}

/** The entry point of the page. */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./style/base.css";
import "./style/parts.css";
import "./style/text.css";
import "./style/layout.css";
import "./style/chat.css";
import "./style/raw.css";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

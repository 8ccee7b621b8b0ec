// Runs in the page before its own scripts, and writes down what the page's policy refuses.
globalThis.refusals = [];
document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  globalThis.refusals.push(`${violatedDirective} ${blockedURI}`);
});

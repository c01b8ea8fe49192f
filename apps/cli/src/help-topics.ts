import { exitCodeMeanings, exitCodes } from './exit-codes.ts'
import { defaultUrl } from './service-url.ts'

/** Texts that belong to no command alone. */
export const topics: Readonly<Record<string, () => string>> = {
  'exit-codes': () =>
    [
      'The meaning of the exit codes of stq. It does not change from version to version.',
      '',
      ...Object.entries(exitCodes).map(
        ([name, code]) => `  ${String(code).padStart(3)}  ${exitCodeMeanings[name as keyof typeof exitCodes]}`,
      ),
    ].join('\n'),

  environment: () => `Environment variables that stq reads.

  STACKQUAY_URL    The service to talk to. --url beats it; it beats the one logged in at. Default: ${defaultUrl}
  STACKQUAY_TOKEN  The API token. It beats the one kept by "stq login".
  XDG_CONFIG_HOME  Where stackquay/config.json is kept. Default: ~/.config
  NO_COLOR         When set: no colours.
  FORCE_COLOR      When set: colours even where there is no terminal.
  STACKQUAY_NODE   A Node of version 24 or newer, for machines whose own is older.`,

  'project-file': () => `stackquay.yml says what a project needs to run. It lies in the folder of the source code.

  name: shop
  node:
    version: "24"
  databases:
    main:
      type: postgresql
  env:
    LOG_LEVEL: debug

"stq up" reads it: it creates the project or changes it to what the file says, starts it, waits, and prints its URL.
What the file does not name stays as it is, unless you pass --prune; data and databases stay in any case. "stq plan" shows
what would be done, "stq apply" does it to a project that exists; a stopped project stays stopped.

Settings of a runtime: stq runtime help <runtime>        The file of a project that exists: stq manifest show <project>
Settings of a service: stq service help <service>        Its schema, for editors:           stq manifest schema`,

  scripts: () => `Using stq in scripts.

  Results go to standard output; notes, plans, progress and errors to standard error.
  --json prints the result as one JSON document and nothing else ("stq logs", "stq events" and "stq runs follow": one
  object per line). Lists are
  {"items": […]}. An error is {"error": {code, title, detail, hint, errors, exitCode}} on standard error.
  --quiet prints only what is essential: slugs, ids, URLs.
  The exit code tells the result: stq help exit-codes.
  "stq run", "stq test" and "stq exec" pass the output and the exit code of the program through; 125 says that it did not run.
  Commands that change something wait for its end; --no-wait does not, --timeout 5m waits so long at most (exit code 7).

  url=$(stq up --quiet) && curl -fsS "$url"
  stq list --json | jq -r '.items[] | select(.status.state == "failed") | .slug'
  stq share shop --minutes 30
  stq exec shop -- pg_dump --format=custom > shop.dump
  STACKQUAY_URL=https://quay.example STACKQUAY_TOKEN=$CI_TOKEN stq restart shop --timeout 5m`,
}

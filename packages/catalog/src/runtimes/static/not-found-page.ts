/** For a folder that has no page of its own. */
export const directoryHint =
  'This folder has no index.html. Add one, or set "documentRoot" of the static runtime to the folder that has it.'

export function notFoundPage(path: string, hint: string | null): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { margin: 18vh auto; max-width: 36rem; padding: 0 1.5rem }
  h1 { font-size: 1.4rem; margin: 0 0 .5rem }
  p { margin: .25rem 0; opacity: .75 }
  code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere }
</style>
<h1>There is no such page</h1>
<p>Nothing is at <code>${escaped(path)}</code>.</p>
${hint === null ? '' : `<p>${escaped(hint)}</p>\n`}</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

/** The page of the web port, for people who open it. What it shows comes from the inbox API alone. */
export const page = {
  type: 'text/html; charset=utf-8',
  policy:
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  content: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mail catcher</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
<header>
  <h1>Mail catcher</h1>
  <label>Search <input id="search" type="search" maxlength="200"></label>
  <span id="count" role="status"></span>
  <button id="clear" type="button">Delete all</button>
</header>
<main>
  <nav aria-label="Messages"><ul id="list"></ul><button id="more" type="button" hidden>Older</button></nav>
  <article id="message" aria-live="polite"><p>No message is open.</p></article>
</main>
</html>
`,
} as const

/** The script is checked like all other code, and loses its types on the way out. */
export function pageFiles(name: 'page.js' | 'page.css') {
  if (name === 'page.css') return { type: 'text/css; charset=utf-8', content: style }
  script ??= stripTypeScriptTypes(readFileSync(new URL('./page-script.ts', import.meta.url), 'utf8'))
  return { type: 'text/javascript; charset=utf-8', content: script }
}

let script: string | undefined

const style = `:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; display: flex; flex-direction: column; height: 100vh; }
header { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; padding: .6rem 1rem; border-bottom: 1px solid #8884; }
h1 { font-size: 1.1rem; margin: 0; }
#count { flex: 1; color: GrayText; }
main { display: grid; grid-template-columns: minmax(16rem, 26rem) 1fr; flex: 1; min-height: 0; }
nav { overflow: auto; border-right: 1px solid #8884; }
ul { list-style: none; margin: 0; padding: 0; }
nav button { display: block; width: 100%; padding: .6rem 1rem; border: 0; border-bottom: 1px solid #8883; background: none; color: inherit; font: inherit; text-align: start; cursor: pointer; }
nav button[aria-current=true] { background: #8882; }
nav .unread { font-weight: 600; }
nav small, dl { color: GrayText; }
nav span, nav small { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
article { overflow: auto; padding: 1rem; display: flex; flex-direction: column; gap: .8rem; }
article h2 { margin: 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: 0; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
iframe { flex: 1; min-height: 24rem; border: 1px solid #8884; background: #fff; color-scheme: light; }
.actions { display: flex; flex-wrap: wrap; gap: .8rem; align-items: center; }
@media (max-width: 700px) { main { grid-template-columns: 1fr; grid-template-rows: 40% 1fr; } nav { border-right: 0; border-bottom: 1px solid #8884; } }
`

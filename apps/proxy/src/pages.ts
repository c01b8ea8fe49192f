import type { ErrorResponse } from './error-responses.ts'
import { pageStyle } from './page-style.ts'

/** Nothing is loaded and nothing runs, whatever stands in a project's name or its output. */
export const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'"

/** One self-contained document of a few kilobytes. */
export function renderPage(error: ErrorResponse): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${error.refresh === undefined ? '' : `<meta http-equiv="refresh" content="${error.refresh}">\n`}<title>${escapeHtml(error.title)}</title>
<style>${pageStyle}</style>
</head>
<body class="${error.tone}">
<main>
${mark(error)}
<h1>${escapeHtml(error.title)}</h1>
<p class="detail">${escapeHtml(error.detail)}</p>
${logOf(error)}${formOf(error)}<p class="hint">${escapeHtml(error.hint)}</p>
${linkOf(error)}</main>
<footer>${quay}<span>Stackquay</span><code>${error.status} ${escapeHtml(error.code)}</code></footer>
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!).replace(invisible, '')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Terminal colours and control characters of a program's output; line ends and tabs stay. */
const invisible = /\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]/g

function mark({ tone, project }: ErrorResponse): string {
  const slug = project?.slug ? `<span class="slug">${escapeHtml(project.slug)}</span>` : ''
  return `<p class="state"><span class="lamp"></span><span>${words[tone]}</span>${slug}</p>`
}

const words: Readonly<Record<ErrorResponse['tone'], string>> = {
  calm: 'Not running',
  busy: 'One moment',
  fault: 'Needs attention',
  unknown: 'Unknown address',
}

function logOf({ logTail }: ErrorResponse): string {
  if (!logTail) return ''
  const lines = logTail.map((line) => escapeHtml(line)).join('\n')
  return `<section aria-label="Last output"><h2>Last output</h2><pre tabindex="0"><code>${lines}</code></pre></section>\n`
}

function formOf({ form }: ErrorResponse): string {
  if (form === undefined) return ''
  return `<form method="post" action="${escapeHtml(form.action)}">
<input type="hidden" name="next" value="${escapeHtml(form.next ?? '/')}">
<label>${escapeHtml(form.label)}<input type="password" name="password" required autofocus autocomplete="current-password"></label>
<button>${escapeHtml(form.button)}</button>
</form>\n`
}

function linkOf({ dashboardUrl }: ErrorResponse): string {
  if (dashboardUrl === undefined) return ''
  return `<p class="action"><a href="${escapeHtml(dashboardUrl)}">Open in Stackquay</a></p>\n`
}

/** The sign: a deck on three piles. */
const quay =
  '<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><path d="M2 5.5h16v3H2zM4 8.5h2.4V16H4zM8.8 8.5h2.4V16H8.8zM13.6 8.5H16V16h-2.4z" fill="currentColor"/></svg>'

import { readFile } from 'node:fs/promises'

/** What the service says itself, or the connection does. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'user-agent',
])

/** Read for each batch, so that a new token holds at once. Nothing of what stands in it is in an error. */
export async function exportHeaders(file: string): Promise<Record<string, string>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The file of STACKQUAY_LOG_EXPORT_HEADERS_FILE cannot be read (${error.code ?? 'unknown'}).`)
  })
  return parseHeaders(text)
}

/** `Name: value` in each line; empty ones, and those that begin with `#`, say nothing. */
export function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*?)[ \t]*$/.exec(line) ?? []
    const where = `Line ${at + 1} of the file of STACKQUAY_LOG_EXPORT_HEADERS_FILE`
    if (name === '') throw new Error(`${where} is no header such as "Authorization: Bearer …".`)
    if (ownHeaders.has(name.toLowerCase())) throw new Error(`${where} sets ${name}, which the service sets itself.`)
    headers[name.toLowerCase()] = value
  }
  return headers
}

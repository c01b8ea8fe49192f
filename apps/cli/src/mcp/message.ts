/** A message of JSON-RPC, as far as a pipe looks into it. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: unknown
}

export function messageIn(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Message) : null
  } catch {
    return null
  }
}

export const isRequest = ({ id, method }: Message) => id !== undefined && id !== null && method !== undefined

export function failed(id: Message['id'], message: string, code = -32000): Message {
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message } }
}

/**
 * Headers that repeat what is in the message. Since 2026-07-28 each message says which revision it is of, and HTTP repeats that, the
 * method and the name; before, the revision is that of the session.
 */
export function headersOf({ method, params }: Message, sessionRevision: string | null): Record<string, string> {
  const meta = (params?._meta ?? {}) as Readonly<Record<string, unknown>>
  const revision = meta['io.modelcontextprotocol/protocolVersion']
  if (typeof revision !== 'string' || method === undefined)
    return sessionRevision === null ? {} : { 'mcp-protocol-version': sessionRevision }
  const name = method === 'resources/read' ? params?.uri : named.has(method) ? params?.name : undefined
  return {
    'mcp-protocol-version': revision,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
  }
}

const named: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

/** What a header cannot hold as it is goes as base64. */
function headerText(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

/** The messages in an answer as they come: one, or a stream of events. */
export async function* messagesOf(answer: Response): AsyncGenerator<Message> {
  if (!(answer.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const message = messageIn(await answer.text())
    if (message !== null) yield message
    return
  }
  let rest = ''
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    rest += text.replaceAll('\r\n', '\n')
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const data = rest
        .slice(0, end)
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
      rest = rest.slice(end + 2)
      const message = data.length === 0 ? null : messageIn(data.join('\n'))
      if (message !== null) yield message
    }
  }
}

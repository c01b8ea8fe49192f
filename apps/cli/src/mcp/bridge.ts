import { failed, headersOf, isRequest, type Message, messageIn, messagesOf } from './message.ts'

export interface BridgeDeps {
  readonly url: string
  readonly token: string
  readonly userAgent: string
  /** What the client sends, a message a line. */
  readonly lines: AsyncIterable<string>
  readonly signal: AbortSignal
  /** A message to the client. */
  say(message: Message): void
  /** To the person, who may look. */
  note(text: string): void
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Messages of a client on standard input and output to the service and back. It knows nothing of tools. When the service has
 * forgotten the session, after a restart, it is begun again with the client’s own words, without the client noticing. Ends when
 * standard input does and everything is answered.
 */
export async function bridge(deps: BridgeDeps): Promise<void> {
  const { lines, say, note, signal } = deps
  const session = createSession(deps)
  const running = new Set<Promise<void>>()
  for await (const line of lines) {
    if (signal.aborted) break
    if (line.trim() === '') continue
    const message = messageIn(line)
    if (message === null) {
      say(failed(null, 'This is no JSON-RPC message.', -32700))
      continue
    }
    const work = passOn(message).finally(() => running.delete(work))
    running.add(work)
    // What follows needs the session that this begins.
    if (message.method === 'initialize') await work
  }
  await Promise.all(running)
  await session.end()

  async function passOn(message: Message): Promise<void> {
    let answered = false
    try {
      const answer = await session.send(message)
      if (answer.status >= 400) throw new Error(await reasonOf(answer))
      for await (const heard of messagesOf(answer)) {
        if (heard.id === message.id && heard.method === undefined) answered = true
        session.heard(message, heard)
        say(heard)
      }
      if (isRequest(message) && !answered) throw new Error('The connection broke before the answer came.')
    } catch (error) {
      if (signal.aborted || answered) return
      const text = textOf(error, deps.url)
      note(text)
      if (isRequest(message)) say(failed(message.id, text))
    }
  }
}

interface BridgedSession {
  send(message: Message): Promise<Response>
  /** What the answer to `message` says of the session. */
  heard(message: Message, answer: Message): void
  end(): Promise<void>
}

function createSession({ url, token, userAgent, signal, fetch = globalThis.fetch }: BridgeDeps): BridgedSession {
  let id: string | null = null
  let revision: string | null = null
  let initialize: Message | null = null
  let again: Promise<void> | null = null

  const post = (message: Message) =>
    fetch(url, {
      method: 'POST',
      headers: {
        ...identity(),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(id === null ? {} : { 'mcp-session-id': id }),
        ...headersOf(message, message.method === 'initialize' ? null : revision),
      },
      body: JSON.stringify(message),
      redirect: 'error',
      signal,
    })
  const identity = () => ({ authorization: `Bearer ${token}`, 'user-agent': userAgent })
  const begin = async (message: Message) => {
    id = null
    const answer = await post(message)
    id = answer.headers.get('mcp-session-id')
    return answer
  }
  const beginAgain = async () => {
    const answer = await begin(initialize!)
    if (!answer.ok) throw new Error(await reasonOf(answer))
    for await (const _heard of messagesOf(answer));
    await (await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).body?.cancel()
  }

  return {
    async send(message) {
      if (message.method === 'initialize') {
        initialize = message
        return begin(message)
      }
      const used = id
      const answer = await post(message)
      if (answer.status !== 404 || used === null || initialize === null) return answer
      await answer.body?.cancel()
      // Several that were sent at once begin it again together.
      if (id === used) {
        again ??= beginAgain().finally(() => {
          again = null
        })
      }
      await again
      return post(message)
    },
    heard(message, { result }) {
      if (message.method !== 'initialize') return
      revision = (result as { protocolVersion?: string } | undefined)?.protocolVersion ?? null
    },
    async end() {
      if (id === null || signal.aborted) return
      const headers = {
        ...identity(),
        'mcp-session-id': id,
        ...(revision === null ? {} : { 'mcp-protocol-version': revision }),
      }
      await fetch(url, { method: 'DELETE', headers, signal: AbortSignal.timeout(2000) }).then(
        (answer) => answer.body?.cancel(),
        () => undefined,
      )
    },
  }
}

/** The service says why with a problem, the protocol with an error. */
async function reasonOf(answer: Response): Promise<string> {
  const value = messageIn(await answer.text()) as {
    detail?: string
    hint?: string
    error?: { message?: string }
  } | null
  if (value?.detail !== undefined) return `${value.detail} ${value.hint ?? ''}`.trim()
  return value?.error?.message ?? `The service answered ${answer.status}. Is ${answer.url} a Stackquay?`
}

function textOf(error: unknown, url: string): string {
  if (error instanceof TypeError) return `The service at ${url} cannot be reached: ${causeOf(error)}. Is it running?`
  return error instanceof Error ? error.message : String(error)
}

function causeOf({ cause, message }: TypeError): string {
  const { code, message: inner } = (cause ?? {}) as { code?: string; message?: string }
  return code ?? inner ?? message
}

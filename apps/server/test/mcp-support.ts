import type { TestContext } from 'node:test'
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Scope } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { hashOf, newTokenValue, shownPrefix } from '../src/access/token-value.ts'
import type { TestApp } from './projects-support.ts'

export interface Answered {
  readonly text: string
  readonly isError: boolean
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every tool.
  readonly json: any
}

export interface Assistant {
  call(name: string, args?: object): Promise<Answered>
  readonly client: Client1 | Client2
  /** Everything that came from the service. */
  readonly heard: string[]
}

export type Major = 1 | 2

export async function tokenOf(
  { store }: Pick<TestApp, 'store'>,
  scope: Scope = 'admin',
  projects: readonly string[] = [],
): Promise<{ readonly id: string; readonly value: string; readonly name: string }> {
  const value = newTokenValue()
  const owner = (await store.users.byName('ada'))!.id
  const token = { id: newId('tok'), hash: hashOf(value), prefix: shownPrefix(value), name: newId('name') }
  await store.transaction((tx) => tx.tokens.insert({ ...token, owner, scope, projects, expiresAt: null }))
  return { id: token.id, value, name: token.name }
}

/** The official client of a major version, connected to a service that listens. */
export async function assistant(
  t: Pick<TestContext, 'after'>,
  url: string,
  token: string,
  { major = 2, person }: { readonly major?: Major; readonly person?: (message: string) => boolean } = {},
): Promise<Assistant> {
  const heard: string[] = []
  const listening: typeof fetch = async (...request) => {
    const answer = await fetch(...request)
    if (answer.body === null) return answer
    const [mine, theirs] = answer.body.tee()
    void (async () => {
      for await (const chunk of mine) heard.push(Buffer.from(chunk).toString('utf8'))
    })().catch(() => undefined)
    return new Response(theirs, answer)
  }
  const capabilities = person === undefined ? {} : { elicitation: { form: {} } }
  const info = { name: `test-client-${major}`, version: '1.0.0' }
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } }, fetch: listening }
  const client =
    major === 1
      ? new Client1(info, { capabilities })
      : new Client2(info, { capabilities, versionNegotiation: { mode: 'auto' } })
  if (person !== undefined) {
    const answer = async ({ params }: { params: { message: string } }) => ({
      action: 'accept' as const,
      content: { confirm: person(params.message) },
    })
    if (client instanceof Client1) {
      const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
      client.setRequestHandler(ElicitRequestSchema, answer as never)
    } else client.setRequestHandler('elicitation/create', answer as never)
  }
  const address = new URL(`${url}/mcp`)
  await (client instanceof Client1
    ? client.connect(new Http1(address, options) as never)
    : client.connect(new Http2(address, options)))
  t.after(() => client.close())
  return { client, heard, call: callsOf(client) }
}

interface Started {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
}

/** The same over the standard input and output of a program. */
export async function assistantOver(t: Pick<TestContext, 'after'>, major: Major, started: Started): Promise<Assistant> {
  const info = { name: `test-client-${major}`, version: '1.0.0' }
  const client = major === 1 ? new Client1(info) : new Client2(info, { versionNegotiation: { mode: 'auto' } })
  await (client instanceof Client1 ? client.connect(new Stdio1(started)) : client.connect(new Stdio2(started)))
  t.after(() => client.close())
  return { client, heard: [], call: callsOf(client) }
}

function callsOf(client: Client1 | Client2): Assistant['call'] {
  return async (name, args = {}) => {
    const { content, isError } = (await client.callTool({ name, arguments: { ...args } })) as {
      content: { text: string }[]
      isError?: boolean
    }
    const text = content.map((part) => part.text).join('\n')
    return { text, isError: isError === true, json: /^[[{]/.test(text) ? JSON.parse(text) : null }
  }
}

export function listen({ app }: Pick<TestApp, 'app'>): Promise<string> {
  return app.http.listen({ host: '127.0.0.1', port: 0 })
}

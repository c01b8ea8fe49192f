import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makePair } from './certificates-support.ts'

export interface Authority extends AsyncDisposable {
  readonly directory: string
  /** What it is trusted by. */
  readonly roots: string
  /** Paths that it was asked for. */
  readonly asked: readonly string[]
}

/** Answers a directory, and refuses every account: what the API does without a certificate. */
export async function serveAuthority(meta: object = {}): Promise<Authority> {
  const { certificate, key } = await makePair({ names: ['localhost'], subject: 'CN=localhost', isAuthority: true })
  const asked: string[] = []
  const server = createServer({ cert: certificate, key }, (request, response) => {
    asked.push(request.url ?? '')
    const at = (path: string) => `https://localhost:${port}${path}`
    const directory = { newNonce: at('/nonce'), newAccount: at('/account'), newOrder: at('/order'), meta }
    response.setHeader('replay-nonce', 'nonce')
    if (request.url === '/dir') response.end(JSON.stringify(directory))
    else if (request.url === '/nonce') response.end()
    else
      response
        .writeHead(403)
        .end(JSON.stringify({ type: 'urn:ietf:params:acme:error:unauthorized', detail: 'not you' }))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    directory: `https://localhost:${port}/dir`,
    roots: certificate,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Stands before a git server and stops in the middle of the objects: what is under way then can be cancelled or killed.
 * `stalled` counts the answers that hang.
 */
export async function serveStalling(target: string) {
  let stalled = 0
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const isFetch = body.includes('command=fetch')
    const { host: _host, ...headers } = incoming.headers
    request(new URL(incoming.url!, target), { method: incoming.method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      if (!isFetch) {
        answer.pipe(outgoing)
        return
      }
      answer.once('data', (first: Buffer) => {
        outgoing.write(first.subarray(0, 16 << 10))
        answer.destroy()
        stalled += 1
      })
    })
      .on('error', () => undefined)
      .end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`,
    stalled: () => stalled,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

/** The WebSocket server behind all proxies: sends every message back. Says its port, ends with its parent. */
const server = createServer((_request, response) => response.end('an echo server\n'))
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})
process.stdin.resume().on('end', () => process.exit(0))

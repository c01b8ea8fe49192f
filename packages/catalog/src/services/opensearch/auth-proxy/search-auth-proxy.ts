import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import { createCheck } from './credentials.ts'
import { forward, refuse } from './forward.ts'
import { launch } from './launch.ts'
import { patience } from './patience.ts'
import { untilReady } from './readiness.ts'

/**
 * `search-auth-proxy --host ADDRESS --port N --user NAME --server-port N --transport-port N --program FILE --data FOLDER`, with the
 * password in AUTH_PROXY_PASSWORD: starts OpenSearch, which listens on loopback, and lets in to it who has the password. Ends when
 * OpenSearch ends.
 */
const { values: options } = parseArgs({
  options: {
    host: { type: 'string' },
    port: { type: 'string' },
    user: { type: 'string' },
    'server-port': { type: 'string' },
    'transport-port': { type: 'string' },
    program: { type: 'string' },
    data: { type: 'string' },
  },
})
const { host, port, user, 'server-port': serverPort, 'transport-port': transportPort, program, data } = options
const password = process.env.AUTH_PROXY_PASSWORD ?? ''
if (
  !host ||
  !port ||
  !user ||
  !serverPort ||
  !transportPort ||
  !program ||
  !data ||
  // An empty password would be a proxy that lets anybody in.
  password === ''
) {
  console.error(
    'Usage: AUTH_PROXY_PASSWORD=… search-auth-proxy --host ADDRESS --port N --user NAME --server-port N --transport-port N --program FILE --data FOLDER',
  )
  process.exit(2)
}

const mayEnter = createCheck(user, password)
let isReady = false
let isStopping = false

const proxy = createServer(patience, (request, response) => {
  if (admit(request, response)) forward(request, response, Number(serverPort))
})
proxy.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
  if (!admit(request, response)) return
  response.writeContinue()
  forward(request, response, Number(serverPort))
})

// The port first: when it is taken, no server has been started for nothing.
proxy.on('error', (error) => {
  console.error(`OpenSearch cannot be reached on ${host}:${port}: ${error.message}`)
  process.exit(1)
})
proxy.listen(Number(port), host, startServer)

function startServer(): void {
  const server = launch({
    program: program ?? '',
    data: data ?? '',
    serverPort: Number(serverPort),
    transportPort: Number(transportPort),
  })
  server.once('error', (error) => {
    console.error(`${program} cannot be started: ${error.message}`)
    process.exit(1)
  })
  server.once('exit', (code, signal) => {
    if (isStopping) process.exit(0)
    console.error(`OpenSearch ended by itself (${signal ?? `exit code ${code}`}).`)
    process.exit(code === null || code === 0 ? 1 : code)
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      isStopping = true
      isReady = false
      server.kill('SIGTERM')
    })
  }
  void untilReady(Number(serverPort), server).then(() => {
    if (isStopping) return
    isReady = true
    console.log(`Ready on http://${host}:${port}`)
  })
}

/** Whether a request may pass; the others are answered here. */
function admit(request: IncomingMessage, response: ServerResponse): boolean {
  if (!isReady) {
    refuse(response, 503, `OpenSearch is ${isStopping ? 'stopping' : 'starting'}.`, { 'Retry-After': '1' })
    return false
  }
  if (mayEnter(request.headers.authorization)) return true
  refuse(response, 401, 'The user name and the password of the service are needed.', {
    'WWW-Authenticate': 'Basic realm="OpenSearch", charset="UTF-8"',
  })
  return false
}

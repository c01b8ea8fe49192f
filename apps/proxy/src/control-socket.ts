import { chmod, unlink } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, type Server as NetServer } from 'node:net'
import {
  type AccessPage,
  type AccessQuery,
  QueryError,
  readAccessQuery,
  readProject,
  readShare,
  readTrafficQuery,
  type TrafficAnswer,
  type TrafficQuery,
  type ViewersAnswer,
} from './access/queries.ts'
import type { ProxyCertificates } from './certificates.ts'
import { type Code, CodeError, parseCode } from './codes.ts'
import type { ControlProblem, FlightsAnswer, ProxyStatus, TotalsAnswer, UsesAnswer } from './control-protocol.ts'
import { StartError } from './listen-address.ts'
import { createServer } from './node-http.ts'
import { parseRouteChanges, type RouteChanges, StaleRoutesError } from './route-changes.ts'
import { parseRouteTable, type RouteTable, RouteTableError } from './route-table.ts'
import type { WantedAnswer } from './wanted.ts'

/** What the control plane can ask of a running proxy. */
export interface Commands {
  status(): Promise<ProxyStatus>
  /** Resolves when the table is in use and on disk. */
  replaceRoutes(table: RouteTable): Promise<void>
  /** The same for a table that differs in these projects from the one in use. Rejects with StaleRoutesError when that is another one. */
  changeRoutes(changes: RouteChanges): Promise<void>
  /** Resolves when every handshake is made with these. */
  replaceCertificates(certificates: ProxyCertificates): Promise<void>
  /** Resolves when nothing new is accepted any more, here and on the public side; the rest ends in the background. */
  shutdown(): Promise<void>
  /** What is under way to an address, in all processes. */
  flights(host: string, port: number): Promise<FlightsAnswer>
  /** How projects were used, in all processes. */
  uses(): Promise<UsesAnswer>
  /** What was counted of projects. */
  totals(): Promise<TotalsAnswer>
  /** For which projects requests wait that they wake; of those that were not told before `after`, in so many milliseconds. */
  wanted(after: number, within: number): Promise<WantedAnswer>
  /** Resolves when it can be redeemed, in whichever process. */
  addCode(code: Code): Promise<void>
  access(project: string, query: AccessQuery): Promise<AccessPage>
  traffic(project: string, query: TrafficQuery): Promise<TrafficAnswer>
  viewers(project: string, share: string): Promise<ViewersAnswer>
  forgetAccess(project: string): Promise<void>
}

/**
 * Any process that can open the socket file can command the proxy, so it is for its owner alone. A number is a socket that was
 * opened by the process that started this: its file is in a folder of its own.
 */
export async function serveControl(place: string | number, commands: Commands): Promise<Server> {
  const server = createServer((request, response) => {
    // A request for a shutdown must not keep the server alive with its own connection.
    if (request.url === '/shutdown') response.shouldKeepAlive = false
    run(commands, request, response).catch((error: unknown) => {
      const problem = problemOf(error)
      send(response, serverFaults.has(problem.code) ? 500 : 422, problem)
    })
  })
  if (typeof place === 'number') {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen({ fd: place }, resolve))
    return server
  }
  await listenAtFile(server, place)
  return server
}

/** The socket file can be opened by its owner alone, from its first moment on. */
export async function listenAtFile(server: NetServer, path: string): Promise<void> {
  await unlink(path).catch(() => {})
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  } finally {
    process.umask(mask)
  }
  await chmod(path, 0o600)
}

/** A socket file without an answer is left over from a proxy that was killed. */
export async function refuseSecondProxy(path: string, home: string): Promise<void> {
  if (Buffer.byteLength(path) > 103) {
    throw new StartError(`The path ${path} is too long for a socket. Choose a home with a shorter path.`)
  }
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
  if (answers) throw new StartError(`A proxy is already running on ${home}. Stop it, or use another home.`)
}

async function run(commands: Commands, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://proxy')
  const command = `${request.method} ${pathname}`
  const reading = readings[command]
  if (reading !== undefined) return send(response, 200, await reading(commands, searchParams))

  switch (command) {
    case 'PUT /routes':
      await commands.replaceRoutes(parseRouteTable(await readBody(request)))
      return send(response, 200, await commands.status())
    case 'PATCH /routes':
      await commands.changeRoutes(parseRouteChanges(await readBody(request)))
      return send(response, 200, await commands.status())
    case 'PUT /certificates':
      await commands.replaceCertificates(await readCertificates(await readBody(request)))
      return send(response, 200, await commands.status())
    case 'POST /codes':
      await commands.addCode(parseCode(await readBody(request)))
      return send(response, 200, {})
    case 'POST /shutdown': {
      // Asked before: afterwards the workers that would answer may be gone.
      const status = await commands.status()
      await commands.shutdown()
      return send(response, 202, status)
    }
    default:
      return send(response, 404, problem('unknown_command', `There is no ${command} here.`))
  }
}

type Reading = (commands: Commands, parameters: URLSearchParams) => Promise<object>

const readings: Readonly<Record<string, Reading>> = {
  'GET /status': (commands) => commands.status(),
  'GET /flights': (commands, parameters) => {
    const port = Number(parameters.get('port'))
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new ControlError('address_invalid', '"port" must be a port, from 1 to 65535.')
    }
    return commands.flights(parameters.get('host') ?? '127.0.0.1', port)
  },
  'GET /uses': (commands) => commands.uses(),
  'GET /totals': (commands) => commands.totals(),
  'GET /wanted': (commands, parameters) => {
    const [after, seconds] = [Number(parameters.get('after') ?? 0), Number(parameters.get('seconds') ?? 0)]
    if (!Number.isSafeInteger(after) || !(seconds >= 0 && seconds <= 60)) {
      throw new ControlError('query_invalid', '"after" must be a position, and "seconds" from 0 to 60.')
    }
    return commands.wanted(after, seconds * 1_000)
  },
  'GET /access': (commands, parameters) =>
    readable(commands.access(readProject(parameters), readAccessQuery(parameters))),
  'GET /traffic': (commands, parameters) =>
    readable(commands.traffic(readProject(parameters), readTrafficQuery(parameters))),
  'GET /viewers': (commands, parameters) => readable(commands.viewers(readProject(parameters), readShare(parameters))),
  'DELETE /access': async (commands, parameters) => {
    await readable(commands.forgetAccess(readProject(parameters)))
    return {}
  },
}

async function readable<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    throw new ControlError('access_unreadable', `The access log could not be used: ${(error as Error).message}`)
  }
}

const serverFaults: ReadonlySet<ControlProblem['code']> = new Set(['routes_not_saved', 'access_unreadable'])

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > 32 * 1024 * 1024) throw new ControlError('body_too_large', 'A body has at most 32 MiB.')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    throw new ControlError('not_json', `The body is no JSON: ${(error as Error).message}`)
  }
}

/** What reads certificates is loaded with the first of them. */
async function readCertificates(body: unknown): Promise<ProxyCertificates> {
  const { CertificatesError, parseCertificates } = await import('./certificates.ts')
  try {
    return parseCertificates(body)
  } catch (error) {
    throw error instanceof CertificatesError ? new ControlError('certificates_invalid', error.message) : error
  }
}

class ControlError extends Error {
  readonly code: ControlProblem['code']

  constructor(code: ControlProblem['code'], message: string) {
    super(message)
    this.code = code
  }
}

function problemOf(error: unknown): ControlProblem {
  if (error instanceof ControlError) return problem(error.code, error.message)
  if (error instanceof CodeError) return problem('code_invalid', error.message)
  if (error instanceof QueryError) return problem('query_invalid', error.message)
  if (error instanceof StaleRoutesError) return problem('routes_stale', error.message)
  if (error instanceof RouteTableError) return problem('routes_invalid', error.message)
  return problem('routes_not_saved', `The routes are in use but could not be written: ${(error as Error).message}`)
}

function problem(code: ControlProblem['code'], detail: string): ControlProblem {
  return { code, detail }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export interface GitServer extends AsyncDisposable {
  /** Of a repository: `http://127.0.0.1:…/name.git`; with `user:password@` when given. */
  url(repository: string, credentials?: string): string
  close(): Promise<void>
}

/** Git's own HTTP server (`git http-backend`) over the repositories of a folder; those named `private…` ask for a password. */
export async function serveGit(folder: string, account: { username: string; password: string }): Promise<GitServer> {
  const expected = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith('/private') === true && incoming.headers.authorization !== expected) {
      outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="repositories"' }).end()
      return
    }
    // A server far away takes its time: long enough to look at what runs meanwhile.
    setTimeout(() => answer(folder, incoming, outgoing), 50)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    url: (repository, credentials) =>
      `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}/${repository}`,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** One request by the rules of CGI (RFC 3875): headers first, `Status` for a status other than 200. */
function answer(folder: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  // Gone before its turn: nobody would tell the program.
  if (outgoing.destroyed) return
  const { pathname, search } = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  const program = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      REQUEST_METHOD: incoming.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: incoming.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(incoming.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(incoming.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  // Who reads no longer would be waited for without end.
  outgoing.on('close', () => {
    program.stdin.destroy()
    program.kill()
  })
  incoming.pipe(program.stdin)
  program.stdin.on('error', () => undefined)
  let head = Buffer.alloc(0)
  const readHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    program.stdout.off('data', readHead)
    const headers = head
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
    const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1]
    outgoing.writeHead(
      status === undefined ? 200 : Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name.toLowerCase() !== 'status')),
    )
    outgoing.write(head.subarray(end + 4))
    program.stdout.pipe(outgoing)
  }
  program.stdout.on('data', readHead)
  program.on('close', () => outgoing.end())
}

/** Commits everything in a folder and puts it as a bare repository beside others. */
export async function publishRepository(source: string, bare: string): Promise<void> {
  const git = (...args: string[]) =>
    execute('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: source,
      env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    })
  await git('init', '--quiet', '--initial-branch=main')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'First')
  await git('clone', '--quiet', '--bare', source, bare)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createProxyControl, ensureProxy } from '@stackquay/proxy/control'

/** The two servers behind: one with answers of 1 KB and 1 MB, one that echoes WebSocket messages. */
export interface Behind {
  readonly page: number
  readonly echo: number
}

/** How many processes or threads serve. Caddy has no such setting: it takes all cores. */
export interface Cores {
  readonly count: number
}

export const oneCore: Cores = { count: 1 }
export const allCores: Cores = { count: availableParallelism() }

export interface Contestant {
  readonly name: string
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/** nginx also serves the 1 KB page and the 1 MB file: of all servers here it takes the least from those that are measured. */
export async function startPage(home: string): Promise<Contestant> {
  const port = await freePort()
  const folder = join(home, 'files')
  await mkdir(folder)
  await writeFile(join(folder, 'large'), Buffer.alloc(1024 * 1024, 'x'))
  return startNginx(
    'page',
    home,
    port,
    `server { listen 127.0.0.1:${port}; root ${folder}; location = / { return 200 "${'x'.repeat(1024)}"; } }`,
  )
}

export async function startEcho(): Promise<Contestant> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'upstream.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (line) => resolve(Number(line))))
  return contestant('echo', port, child)
}

export async function nginx(home: string, behind: Behind, cores = oneCore): Promise<Contestant> {
  const port = await freePort()
  const server = (name: string, to: number) => `
    upstream ${name} { server 127.0.0.1:${to}; keepalive 64; }
    server {
      listen 127.0.0.1:${port}; server_name ${name}.localhost;
      location / {
        proxy_pass http://${name}; proxy_http_version 1.1; proxy_buffering on;
        proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $upgrading;
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port;
      }
    }`
  const upgrading = `map $http_upgrade $upgrading { default upgrade; '' ''; }`
  const servers = `${upgrading} ${server('page', behind.page)} ${server('echo', behind.echo)}`
  return startNginx('nginx', home, port, servers, cores)
}

export async function caddy(home: string, behind: Behind): Promise<Contestant> {
  const port = await freePort()
  const file = join(home, 'Caddyfile')
  await writeFile(
    file,
    `{
  admin off
  auto_https off
}
http://page.localhost:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${behind.page}
}
http://echo.localhost:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${behind.echo}
}
`,
  )
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    stdio: 'ignore',
    env: { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
  })
  return whenListening(contestant('Caddy', port, child))
}

export async function haproxy(home: string, behind: Behind, cores = oneCore): Promise<Contestant> {
  const port = await freePort()
  const file = join(home, 'haproxy.cfg')
  await writeFile(
    file,
    `global
  maxconn 4096
  nbthread ${cores.count}
defaults
  mode http
  option forwardfor
  timeout connect 5s
  timeout client 65s
  timeout server 300s
  timeout tunnel 1h
frontend all
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Port %[dst_port]
  use_backend page if { hdr(host) -i page.localhost }
  default_backend echo
backend page
  http-reuse always
  server one 127.0.0.1:${behind.page}
backend echo
  server one 127.0.0.1:${behind.echo}
`,
  )
  const child = spawn('haproxy', ['-f', file, '-db', '-q'], { stdio: 'ignore' })
  return whenListening(contestant('HAProxy', port, child))
}

/** Started as the control plane starts it: the same flags, the same warm code cache. */
export async function stackquay(home: string, behind: Behind, cores = oneCore): Promise<Contestant> {
  const folder = join(home, 'stackquay')
  await mkdir(folder)
  await ensureProxy({ home: folder, listen: '127.0.0.1:0', workers: cores.count })
  const control = createProxyControl(folder)
  const others = Array.from({ length: 48 }, (_, index) => `project-${index}`)
  const status = await control.putRoutes({
    version: 1,
    generation: 1,
    routes: [
      ...others.map((slug) => route(slug, { kind: 'page', page: 'stopped' } as const)),
      route('page', { kind: 'upstream', host: '127.0.0.1', port: behind.page } as const),
      route('echo', { kind: 'upstream', host: '127.0.0.1', port: behind.echo } as const),
    ],
  })
  return { name: 'Stackquay', port: status.address.port, pid: status.pid, stop: () => control.shutdown() }
}

function route<T>(slug: string, target: T) {
  return { hosts: [`${slug}.localhost`], project: { id: slug, slug, name: slug }, target }
}

export async function startNginx(
  name: string,
  home: string,
  port: number,
  servers: string,
  cores = oneCore,
): Promise<Contestant> {
  const folder = join(home, name)
  await mkdir(folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  const file = join(folder, 'nginx.conf')
  await writeFile(
    file,
    `daemon off; worker_processes ${cores.count}; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 4096; }
http { access_log off; sendfile on; keepalive_requests 1000000000; keepalive_timeout 65; ${temporary.join(' ')} ${servers} }
`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', file, '-e', `${folder}/error.log`], { stdio: 'ignore' })
  return whenListening(contestant(name, port, child))
}

export function contestant(name: string, port: number, child: ChildProcess): Contestant {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    name,
    port,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  return address.port
}

export async function whenListening(started: Contestant): Promise<Contestant> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(started.port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (open) return started
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  await started.stop()
  throw new Error(`${started.name} does not listen on port ${started.port} after 5 s.`)
}

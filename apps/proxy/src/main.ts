import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { StartError } from './listen-address.ts'
import { log } from './log.ts'
import { steadyTicks } from './steady-ticks.ts'

/**
 * `main.ts --home <folder> [--listen 127.0.0.1:8780] [--workers 2]`; the environment says the same with STACKQUAY_…
 * Without a number of workers there is one process, and more when the load asks for them: up to four, one for each core.
 * `--listen-https 127.0.0.1:8743` is the address of https, or `off`; certificates come by the socket for commands.
 * With `--prepare` it only loads what it consists of, for the code cache. `--worker` is how it starts its workers.
 * `--listen-fd`, `--listen-https-fd` and `--control-fd` name sockets that it was given and that listen already.
 */
const { values } = parseArgs({
  options: {
    home: { type: 'string', default: process.env.STACKQUAY_PROXY_HOME ?? '' },
    listen: { type: 'string', default: process.env.STACKQUAY_PROXY_HTTP ?? '127.0.0.1:8780' },
    'listen-https': { type: 'string', default: process.env.STACKQUAY_PROXY_HTTPS ?? 'off' },
    workers: { type: 'string', default: process.env.STACKQUAY_PROXY_WORKERS ?? '' },
    'listen-fd': { type: 'string' },
    'listen-https-fd': { type: 'string' },
    'control-fd': { type: 'string' },
    worker: { type: 'boolean', default: false },
    prepare: { type: 'boolean', default: false },
  },
})

// Its program file is no name that a person knows when it was started by a descriptor.
if (process.argv0.startsWith('/proc/self/')) process.title = 'stackquay-proxy'

if (values.prepare) {
  await forgetOlderCaches()
  await import('./pages.ts')
  await import('./proxy.ts')
  await import('./workers/worker.ts')
  await import('./certificates.ts')
  await import('./tls/terminator.ts')
  await import('./tls/policy.ts')
  process.exit(0)
}

await steadyTicks()
if (values.worker) {
  const { runWorker } = await import('./workers/worker.ts')
  runWorker()
} else await run()

async function run(): Promise<void> {
  // Connections know nothing of each other, so a fault in one must not cost all the others theirs.
  process.on('uncaughtException', (error) => log('fault', { reason: error.stack ?? String(error) }))
  try {
    if (values.home === '') throw new StartError('The proxy needs a folder for its state: --home <folder>.')
    const { startProxy } = await import('./proxy.ts')
    const proxy = await startProxy({
      home: values.home,
      listen: values.listen,
      listenHttps: values['listen-https'],
      workers: workersOf(values.workers),
      listenFd: descriptorOf(values['listen-fd']),
      listenHttpsFd: descriptorOf(values['listen-https-fd']),
      controlFd: descriptorOf(values['control-fd']),
    })
    process.on('SIGTERM', () => void proxy.shutdown())
    process.on('SIGINT', () => void proxy.shutdown())
    await proxy.done
    process.exit(0)
  } catch (error) {
    const known = error instanceof StartError
    process.stderr.write(`stackquay proxy: ${known ? error.message : ((error as Error).stack ?? error)}\n`)
    process.exit(known ? 2 : 1)
  }
}

function descriptorOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}

/** Of the versions before. The caches belong to the user that runs this, so no other user deletes there. */
async function forgetOlderCaches(): Promise<void> {
  const current = process.env.NODE_COMPILE_CACHE
  if (current === undefined || basename(dirname(current)) !== 'code-cache') return
  const folder = dirname(current)
  for (const name of await readdir(folder).catch(() => [])) {
    if (name !== basename(current)) await rm(join(folder, name), { recursive: true, force: true })
  }
}

function workersOf(text: string): { readonly atOnce: number; readonly most: number } {
  if (text === '') return { atOnce: 1, most: Math.min(4, availableParallelism()) }
  const count = Number(text)
  if (!/^\d{1,2}$/.test(text) || count < 1 || count > 64) {
    throw new StartError(`"${text}" is no number of workers. Choose one from 1 to 64; 1 is one process for everything.`)
  }
  return { atOnce: count, most: count }
}

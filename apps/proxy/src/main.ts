import { parseArgs } from 'node:util'
import { StartError } from './listen-address.ts'
import { log } from './log.ts'
import { startProxy } from './proxy.ts'

/**
 * `main.ts --home <folder> [--listen 127.0.0.1:8780]`; the environment says the same with STACKQUAY_…
 * With `--prepare` it only loads what it consists of, for the code cache.
 */
const { values } = parseArgs({
  options: {
    home: { type: 'string', default: process.env.STACKQUAY_PROXY_HOME ?? '' },
    listen: { type: 'string', default: process.env.STACKQUAY_PROXY_HTTP ?? '127.0.0.1:8780' },
    prepare: { type: 'boolean', default: false },
  },
})

// Connections know nothing of each other, so a fault in one must not cost all the others theirs.
process.on('uncaughtException', (error) => log('fault', { reason: error.stack ?? String(error) }))

if (values.prepare) {
  await import('./pages.ts')
  process.exit(0)
}

try {
  if (values.home === '') throw new StartError('The proxy needs a folder for its state: --home <folder>.')
  const proxy = await startProxy({ home: values.home, listen: values.listen })
  process.on('SIGTERM', () => void proxy.shutdown())
  process.on('SIGINT', () => void proxy.shutdown())
  await proxy.done
  process.exit(0)
} catch (error) {
  const known = error instanceof StartError
  process.stderr.write(`stackquay proxy: ${known ? error.message : ((error as Error).stack ?? error)}\n`)
  process.exit(known ? 2 : 1)
}

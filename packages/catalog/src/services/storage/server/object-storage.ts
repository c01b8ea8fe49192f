import { parseArgs } from 'node:util'
import { isBucketName } from './address.ts'
import { makeBucket } from './bucket-operations.ts'
import { createStorageServer } from './http-server.ts'
import { findBucket } from './objects.ts'
import { openStore } from './store.ts'

/**
 * `object-storage --data DIR --port N [--host 127.0.0.1] --bucket NAME [--public-read]`: an S3 endpoint over a folder. The
 * credentials are in STORAGE_ACCESS_KEY and STORAGE_SECRET_KEY; arguments are readable for everybody on the machine. The
 * bucket is made when it is not there, and only then becomes public.
 */
process.umask(0o077)
const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    port: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    bucket: { type: 'string' },
    'public-read': { type: 'boolean', default: false },
  },
})
const { STORAGE_ACCESS_KEY: accessKey, STORAGE_SECRET_KEY: secretKey } = process.env
const { data, port, host, bucket } = options
if (data === undefined || port === undefined || bucket === undefined || !accessKey || !secretKey) {
  fail(
    'Usage: object-storage --data DIR --port N --bucket NAME [--host ADDRESS] [--public-read], ' +
      'with STORAGE_ACCESS_KEY and STORAGE_SECRET_KEY in the environment.',
  )
}
if (!isBucketName(bucket)) fail(`"${bucket}" cannot be the name of a bucket.`)

const store = opened(data)
if (findBucket(store, bucket) === undefined) await makeBucket(store, bucket, options['public-read'])

const server = createStorageServer(store, { accessKey, secretKey })
server.on('error', (error) => fail(`The object storage cannot listen: ${error.message}`))
server.listen(Number(port), host, () => {
  const address = server.address()
  const listens = typeof address === 'object' && address !== null ? address.port : port
  console.log(`Object storage listens on http://${host}:${listens}`)
  store.tidy().catch((error: Error) => console.error(`What was left over could not be removed: ${error.message}`))
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)

let stopping = false

/** What is under way is finished, within the time that is there; what was acknowledged is on disk already. */
function stop(): void {
  if (stopping) return
  stopping = true
  server.close(() => {
    store.close()
    process.exit(0)
  })
  // Connections become idle one by one, as their requests end.
  setInterval(() => server.closeIdleConnections(), 100).unref()
  setTimeout(() => server.closeAllConnections(), 20_000).unref()
}

function opened(folder: string) {
  try {
    return openStore(folder)
  } catch (error) {
    const busy = ((error as { errcode?: number }).errcode ?? 0) & 255
    fail(
      busy === 5
        ? `Another object storage is using ${folder}.`
        : `The data in ${folder} cannot be opened: ${(error as Error).message}`,
    )
  }
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}

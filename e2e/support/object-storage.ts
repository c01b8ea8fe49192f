import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnTracked } from '@stackquay/testkit'

export const storageKeys = {
  accessKeyId: 'ACCESSKEY0123456789A',
  secretAccessKey: 'secret0123456789secret0123456789secret01',
}

/** The object storage of the catalogue as a program of its own, beside the service. */
export async function startStorage() {
  const data = await mkdtemp(join(tmpdir(), 'stackquay-storage-'))
  const program = fileURLToPath(import.meta.resolve('@stackquay/catalog/services/storage/server/object-storage'))
  const server = spawnTracked([process.execPath, program, '--data', data, '--port', '0', '--bucket', 'offsite'], {
    env: { STORAGE_ACCESS_KEY: storageKeys.accessKeyId, STORAGE_SECRET_KEY: storageKeys.secretAccessKey },
  })
  const [, endpoint = ''] = await server.line(/listens on (http:\/\/\S+)/)
  return { endpoint, server, data }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnTracked } from '@stackquay/testkit'

/** A bucket somewhere else, for copies of backups. */
export interface TargetStorage {
  readonly s3: {
    readonly endpoint: string
    readonly bucket: string
    readonly accessKeyId: string
    readonly secretAccessKey: string
  }
  /** It does not answer until `comeBack`. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
  end(): Promise<void>
}

const keys = { accessKeyId: 'ACCESSKEY0123456789A', secretAccessKey: 'secret0123456789secret0123456789secret01' }

/** The object storage of the catalogue as a program of its own, beside the service. */
export async function startTargetStorage(): Promise<TargetStorage> {
  const data = await mkdtemp(join(tmpdir(), 'stackquay-storage-'))
  const program = fileURLToPath(import.meta.resolve('@stackquay/catalog/services/storage/server/object-storage'))
  const start = async (port: string) => {
    const server = spawnTracked([process.execPath, program, '--data', data, '--port', port, '--bucket', 'offsite'], {
      env: { STORAGE_ACCESS_KEY: keys.accessKeyId, STORAGE_SECRET_KEY: keys.secretAccessKey },
    })
    const [, endpoint = ''] = await server.line(/listens on (http:\/\/\S+)/)
    return { server, endpoint }
  }
  let { server, endpoint } = await start('0')
  return {
    s3: { endpoint, bucket: 'offsite', ...keys },
    goAway: async () => {
      await server.end()
    },
    comeBack: async () => {
      ;({ server, endpoint } = await start(new URL(endpoint).port))
    },
    end: async () => {
      await server.end()
      await rm(data, { recursive: true, force: true })
    },
  }
}

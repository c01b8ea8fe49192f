import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { serviceKindOf, type WorkloadDraft } from '@stackquay/catalog'
import { programFile } from '../../src/folders.ts'
import { serviceInput } from './inputs.ts'
import { freePort, listening, type Running, start } from './run-draft.ts'

export const kind = serviceKindOf('storage')!

/** The storage as the service runs it: copied alone into a folder that every user reads, and by a user that may do nothing. */
export interface StorageMachine {
  readonly folder: string
  /** The data directory. */
  readonly data: string
  readonly endpoint: string
  readonly draft: WorkloadDraft
  secrets: Record<string, string>
  started(): Promise<Running>
  /** A client with the credentials of now; path style comes by itself with an IP address. */
  client(more?: S3ClientConfig): S3Client
  remove(): void
}

export async function storageMachine(said: Readonly<Record<string, unknown>> = {}): Promise<StorageMachine> {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-storage-'))
  chmodSync(folder, 0o755)
  const uid = process.getuid?.() === 0 ? nobody() : undefined
  const source = programFile('object-storage')
  const program = join(folder, 'program', basename(source))
  cpSync(dirname(source), dirname(program), { recursive: true })
  for (const name of readdirSync(dirname(program))) chmodSync(join(folder, 'program', name), 0o644)
  chmodSync(dirname(program), 0o755)
  const node = join(folder, 'node')
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE)
  chmodSync(node, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (uid !== undefined) chownSync(data, uid, uid)

  const port = await freePort()
  const draft = kind.toWorkload(
    serviceInput(kind, said, { hostPort: () => port, ourProgram: () => ({ node, file: program }) }),
  )
  const endpoint = `http://127.0.0.1:${port}`
  const machine: StorageMachine = {
    folder,
    data,
    endpoint,
    draft,
    secrets: { accessKey: 'ACCESSKEY0123456789A', secretKey: 'secret0123456789secret0123456789secret01' },
    started: async () => {
      const running = await start(draft, { data: { storage: data }, secrets: machine.secrets, ...(uid ? { uid } : {}) })
      await listening(running, port)
      return running
    },
    client: (more = {}) =>
      new S3Client({
        endpoint,
        region: 'us-east-1',
        credentials: { accessKeyId: machine.secrets.accessKey ?? '', secretAccessKey: machine.secrets.secretKey ?? '' },
        maxAttempts: 1,
        ...more,
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
  return machine
}

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}

import { chmodSync, constants, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { type ServiceInput, serviceTypeOf, type WorkloadSpec } from '@stackquay/catalog'
import { createOurPrograms } from '@stackquay/server/catalogue/our-programs'
import { nativeStage, type Stage, type Started } from './stage.ts'

export const kind = serviceTypeOf('storage')!

/** A storage with its data and its clients. */
export interface StorageMachine {
  readonly stage: Stage
  readonly input: ServiceInput
  /** The data directory as it is seen from here. */
  readonly data: string
  readonly endpoint: string
  readonly spec: WorkloadSpec
  secrets: Record<string, string>
  /** Answers when it serves. */
  started(spec?: WorkloadSpec): Promise<Started>
  /** A client with the credentials of now; path style comes by itself with an IP address. */
  client(more?: S3ClientConfig): S3Client
  remove(): Promise<void>
}

/** With data of its own, on a stage of its own. */
export async function storageMachine(
  said: Readonly<Record<string, unknown>> = {},
  stage: Stage = nativeStorage(),
): Promise<StorageMachine> {
  const project = stage.project('storage', {})
  const input = await stage.service(said)
  const spec = kind.toWorkload(input)
  const endpoint = `http://127.0.0.1:${input.hostPort('http')}`
  const machine: StorageMachine = {
    stage,
    input,
    data: project.data.storage!,
    endpoint,
    spec,
    secrets: { accessKey: 'ACCESSKEY0123456789A', secretKey: 'secret0123456789secret0123456789secret01' },
    async started(of = spec) {
      const running = await stage.start(of, { ...project, secrets: machine.secrets })
      try {
        await running.ready()
        return running
      } catch (error) {
        await running.stop('SIGKILL')
        throw error
      }
    },
    client: (more = {}) =>
      new S3Client({
        endpoint,
        region: 'us-east-1',
        credentials: { accessKeyId: machine.secrets.accessKey ?? '', secretAccessKey: machine.secrets.secretKey ?? '' },
        maxAttempts: 1,
        ...more,
      }),
    remove: () => stage.close(),
  }
  return machine
}

/** As the service runs it on a machine: copied alone into a folder that every user reads, and by a user that may do nothing. */
export function nativeStorage(): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-storage-'))
  chmodSync(folder, 0o755)
  const programs = createOurPrograms(folder)
  const node = join(folder, 'node')
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE)
  chmodSync(node, 0o755)
  const stage = nativeStage(kind, null)
  return {
    ...stage,
    service: (said, over = {}) =>
      stage.service(said, { ourProgram: (name) => ({ node, file: programs.file(name) }), ...over }),
    async close() {
      await stage.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

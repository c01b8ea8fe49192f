import { dataPath } from '@stackquay/engine-api/workload'
import type { BackupMethod, BackupProgram } from '../backup-method.ts'
import type { ServiceInput } from '../entry-types.ts'

/** Where built-in services answer with their data as a tar, and with what is in it. Who asks has the key. */
export const copyPath = '/-/copy'
export const contentsPath = '/-/contents'

/** For a service that is a built-in program: only it may open its data while it runs, so it is asked at its port. */
export function builtInBackup(service: string, port: string, key: string): BackupMethod<ServiceInput> {
  const ask = (input: ServiceInput, path: string): BackupProgram => {
    const { node, file } = input.ourProgram('service-backup')
    return {
      argv: [node, file, `http://127.0.0.1:${input.listen(port).port}${path}`],
      env: { SERVICE_KEY: input.secret(key) },
      cwd: dataPath(service),
      beside: service,
    }
  }
  return { online: (input) => ask(input, copyPath), contents: (input) => ask(input, contentsPath) }
}

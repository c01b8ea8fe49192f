import type { DiagnosticCheck } from '@stackquay/contract'
import type { Config } from '../config.ts'
import { registryAuthFault } from '../registry-auth.ts'

/** Whether the file of registry credentials can be used; nothing where none is named. */
export async function registriesCheck({
  config: { registryAuthFile: file },
}: {
  readonly config: Pick<Config, 'registryAuthFile'>
}): Promise<readonly DiagnosticCheck[]> {
  if (file === null) return []
  const about = { id: 'registries', category: 'engine', title: 'Registries', fix: null } as const
  const fault = await registryAuthFault(file)
  return fault === null
    ? [{ ...about, status: 'ok', detail: `Credentials are read from ${file}.`, hint: null }]
    : [{ ...about, status: 'error', detail: fault.message, hint: fault.hint }]
}

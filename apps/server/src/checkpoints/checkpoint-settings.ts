import { ProblemError } from '@stackquay/contract'
import { checkpointSecret } from '@stackquay/domain'
import { type ProjectRow, SecretError, type Store } from '@stackquay/store'
import { type BackedUpSettings, settingsFrom, settingsOf } from '../backups/settings-part.ts'

/** All that the service knows of a project at a checkpoint, with the texts of its secrets. It exists sealed alone. */
export interface CheckpointSettings extends BackedUpSettings {
  readonly ports: readonly { readonly workload: string; readonly port: string; readonly hostPort: number }[]
}

export async function checkpointSettingsOf(
  row: ProjectRow,
  without: readonly string[],
  store: Store,
): Promise<{ readonly settings: CheckpointSettings; readonly warnings: readonly string[] }> {
  const [{ settings, warnings }, leases] = await Promise.all([settingsOf(row, without, store), store.ports.of(row.id)])
  const ports = leases.map(({ workload, port, hostPort }) => ({ workload, port, hostPort }))
  return { settings: { ...settings, ports }, warnings }
}

/** Throws `engine_cannot` for settings that do not open here any more, `unavailable_here` for types that this version has not. */
export async function openCheckpoint(
  project: string,
  { id, name }: { readonly id: string; readonly name: string },
  { secrets }: Pick<Store, 'secrets'>,
): Promise<CheckpointSettings> {
  const cannot = (why: string) =>
    new ProblemError('engine_cannot', `The settings of the checkpoint "${name}" ${why}.`, {
      hint: 'Delete the checkpoint.',
    })
  const handle = await secrets.find(project, checkpointSecret(id))
  if (handle === null) throw cannot('are gone')
  try {
    const held: unknown = JSON.parse((await secrets.reveal(handle.secret)).expose())
    const { ports = [], ...settings } = settingsFrom(held) as Partial<CheckpointSettings> & BackedUpSettings
    return { ...settings, ports }
  } catch (error) {
    if (error instanceof SecretError) throw cannot('do not open with the key of this instance')
    throw error
  }
}

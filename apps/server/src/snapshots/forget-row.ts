import { secretsOfPart, snapshotSecret } from '@stackquay/domain'
import type { SnapshotRow, Transaction } from '@stackquay/store'

/** With the texts that its data knows. */
export async function forgetRow(tx: Transaction, { project, id, part, type }: SnapshotRow): Promise<void> {
  await tx.snapshots.delete(project, id)
  for (const name of secretsOfPart({ id: part, type })) await tx.secrets.delete(project, snapshotSecret(id, name))
}

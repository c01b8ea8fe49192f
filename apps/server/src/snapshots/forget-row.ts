import { secretsOfPart, snapshotSecret } from '@stackquay/domain'
import type { SnapshotRow, Transaction } from '@stackquay/store'

/** With the texts that its data knows. */
export async function forgetRow(tx: Transaction, snapshot: SnapshotRow): Promise<void> {
  await tx.snapshots.delete(snapshot.project, snapshot.id)
  for (const name of secretsOfSnapshot(snapshot)) await tx.secrets.delete(snapshot.project, name)
}

/** Names of the texts that its data knows. */
export function secretsOfSnapshot({ id, part, type }: Pick<SnapshotRow, 'id' | 'part' | 'type'>): readonly string[] {
  return secretsOfPart({ id: part, type }).map((name) => snapshotSecret(id, name))
}

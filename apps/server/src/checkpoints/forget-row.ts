import { checkpointSecret } from '@stackquay/domain'
import type { Transaction } from '@stackquay/store'

/** First of all: data without a row is swept by the next start, and nobody can begin to restore it. */
export async function forgetCheckpointRow(tx: Transaction, project: string, id: string): Promise<void> {
  await tx.checkpoints.delete(project, id)
  await tx.secrets.delete(project, checkpointSecret(id))
}

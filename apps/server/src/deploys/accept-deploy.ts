import { deployManners } from '@stackquay/contract'
import type { DeployRow, ProjectRow, Store, Transaction } from '@stackquay/store'
import { z } from 'zod'
import type { RequestContext } from '../http/handler.ts'
import { acceptAlone } from '../projects/accept.ts'

const Input = z.object({
  deploy: z.string(),
  /** The commit that is gone back to; null: the branch as it is at the remote. */
  to: z.string().nullable(),
  /** The deploy whose release that was, where it is known. */
  of: z.string().nullable().optional(),
  branch: z.string().nullable(),
  manner: z.enum(deployManners),
  /** Whether it goes back by itself. */
  rollback: z.boolean(),
  /** Where the head was when it began, once that was seen. Written down, for after a crash it is elsewhere. */
  before: z.string().nullable().optional(),
  /** Programs that it restarts, once that has begun. */
  restarted: z.array(z.string()).optional(),
})
/** What a deploy was asked for, as its operation keeps it. */
export type DeployInput = z.infer<typeof Input>

export const deployInput = (input: Readonly<Record<string, unknown>>): DeployInput => Input.parse(input)

/** Inside the transaction that writes the deploy. Throws `busy`. */
export function acceptDeploy(
  tx: Transaction,
  store: Store,
  row: ProjectRow,
  asker: Pick<RequestContext, 'actor' | 'requestId'>,
  input: Omit<DeployInput, 'before' | 'restarted'>,
) {
  return acceptAlone(tx, store, row, asker, input, 'deploy')
}

/** For the audit log. */
export function recordedDeploy({
  id,
  trigger,
  branch,
  commit,
}: Pick<DeployRow, 'id' | 'trigger' | 'branch' | 'commit'>) {
  return { deploy: id, trigger, branch, commit }
}

import { checkout } from './act-checkout.ts'
import { commit } from './act-commit.ts'
import { discard } from './act-discard.ts'
import { pull } from './act-pull.ts'
import { push } from './act-push.ts'
import type { Acting, GitAct } from './acting.ts'
import { clearLocks } from './locks.ts'
import { fetchInto } from './remote.ts'

/** Carries an act out. Done a second time, as after a crash, it finds what the first has done. */
export async function perform(act: GitAct, acting: Acting): Promise<void> {
  const { repository, half } = acting
  await clearLocks(repository, acting.files, acting.signal, acting.say)
  switch (act.act) {
    case 'fetch':
      await fetchInto(repository, await acting.remote(), half, acting)
      return
    case 'pull':
      return pull(act.manner, acting)
    case 'checkout':
      return checkout(act, acting)
    case 'commit':
      return commit(act, acting)
    case 'push':
      return push(act, acting)
    case 'discard':
      return discard(act.paths, acting)
    default:
      return act satisfies never
  }
}

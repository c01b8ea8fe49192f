import type { Observed } from '@stackquay/engine-api'

/** Of a deploy, as the choice of a commit to go back to sees it. */
export interface PastDeploy {
  readonly id: string
  readonly trigger: string
  readonly state: string
  readonly from: string | null
  readonly commit: string | null
}

/**
 * Pure. The commit from before the one that is there: of the newest deploy before it that succeeded, else where the deploy began that brought
 * it. `deploys`: newest first. Null: there is none.
 */
export function commitBefore(deploys: readonly PastDeploy[], head: string | null): string | null {
  const forward = deploys.filter(({ trigger }) => trigger !== 'rollback')
  const at = forward.findIndex(({ commit }) => commit !== null && commit === head)
  const older = forward.slice(at + 1).find(({ state, commit }) => state === 'succeeded' && commit !== head)
  return older?.commit ?? (at === -1 ? null : forward[at]!.from)
}

/** Pure. Whether a commit that a look at the remote shows is deployed: a commit is tried once. `deploys`: newest first. */
export function isNewAtRemote(deploys: readonly PastDeploy[], seen: string | null, head: string | null): boolean {
  if (seen === null || seen === head) return false
  return deploys.find(({ trigger }) => trigger !== 'rollback')?.commit !== seen
}

/**
 * Pure. Why a project is not well, of what was seen of it; null when it is. What a person has stopped counts as little as what has ended in
 * good order.
 */
export function notWell(observed: readonly Observed[]): string | null {
  for (const { ref, state, health, reason, lastExit } of observed) {
    if (state === 'stopped' || (state === 'exited' && lastExit?.code === 0)) continue
    if (state === 'exited') return `${ref.workload} ended with ${endOf(lastExit)}.`
    if (state === 'waiting') return `${ref.workload} waits: ${reason ?? 'something is missing'}`
    if (health === 'unhealthy') return `${ref.workload} is not healthy${reason === null ? '.' : `: ${reason}`}`
    if (health === 'starting') return `${ref.workload} is still starting.`
  }
  return null
}

/** Pure. Whether it is no use to wait for it: what fell over is started again only when the operation that looks has ended. */
export function hasFallenOver(observed: readonly Observed[]): boolean {
  return observed.some(({ state, lastExit }) => state === 'exited' && lastExit?.code !== 0)
}

function endOf(exit: Observed['lastExit']): string {
  if (exit?.signal != null) return exit.signal
  return exit?.code == null ? 'an unknown code' : `exit code ${exit.code}`
}

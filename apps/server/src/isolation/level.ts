import { isolationLevels } from '@stackquay/contract'
import { type IsolationFeature, isolationFeatures } from '@stackquay/engines'

export { isolationLevels }
/** How projects are kept apart. `shared`: all run as one user. */
export type IsolationLevel = (typeof isolationLevels)[number]

/** What the machine offers, each tried by using it; a reason where it does not. */
export interface Offers {
  readonly root: boolean
  readonly sandbox: string | null
  readonly groups: string | null
  readonly ports: string | null
}

/** As it was chosen, at the first start or by an administrator's word; it stays so. */
export interface ChosenIsolation {
  /** The setting at that moment: another one is an administrator's word. */
  readonly setting: 'auto' | IsolationLevel
  readonly level: IsolationLevel
  readonly features: readonly IsolationFeature[]
}

/** Pure. Takes what is there: the first start on a machine decides. */
export function chooseIsolation(setting: 'auto' | IsolationLevel, offers: Offers): ChosenIsolation {
  const level = setting === 'auto' ? strongest(offers) : setting
  const has: Record<IsolationFeature, boolean> = {
    user: level !== 'shared' && offers.root,
    cgroup: offers.root && offers.groups === null,
    ports: level !== 'shared' && offers.root && offers.ports === null,
    sandbox: level === 'sandbox',
  }
  return { setting, level, features: isolationFeatures.filter((feature) => has[feature]) }
}

/** Only where the service is an ordinary user without a sandbox is there nothing better than one user for all. */
function strongest({ root, sandbox }: Offers): IsolationLevel {
  if (sandbox === null) return 'sandbox'
  return root ? 'user' : 'shared'
}

/** Why the chosen level cannot be held any more; it never falls by itself. Null: it holds. */
export function brokenPromise({ level, features }: ChosenIsolation, offers: Offers): string | null {
  if (level !== 'shared' && features.includes('user') && !offers.root)
    return 'The service is no longer started by root, and only root starts programs as the users of projects.'
  if (level === 'user' && !offers.root) return 'Level "user" takes a service that is started by root.'
  const missing = {
    sandbox: features.includes('sandbox') ? offers.sandbox : null,
    cgroup: features.includes('cgroup') ? offers.groups : null,
    ports: features.includes('ports') ? offers.ports : null,
  }
  const lost = Object.entries(missing).flatMap(([feature, why]) => (why === null ? [] : [`"${feature}": ${why}`]))
  return lost.length === 0 ? null : `Projects were kept apart by more than this machine offers now. ${lost.join(' ')}`
}

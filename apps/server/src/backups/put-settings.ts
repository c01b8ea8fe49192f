import { Secret } from '@stackquay/contract'
import { goalOf, type ProjectSpec } from '@stackquay/domain'
import { type ProjectRow, type Store, type StoredRules, TakenError, type Transaction } from '@stackquay/store'
import { sealSpec, withPendingSecrets } from '../projects/extract-secrets.ts'
import type { BackedUpSettings } from './settings-part.ts'

/**
 * Settings of a backup in place of those that a project has: variables with the texts of their secrets, services, limits, rules and
 * names. Answers what could not be put back, a sentence each.
 */
export async function putSettings(
  row: ProjectRow,
  wanted: ProjectSpec,
  settings: BackedUpSettings,
  store: Store,
  more: (tx: Transaction) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  const pending = withPendingSecrets(wanted)
  const texts = new Map<string, Secret>()
  for (const name of pending.names) texts.set(name, await textOf(row, name, settings, store))
  const dropped = withPendingSecrets(row.spec).names.filter((name) => !pending.names.includes(name))
  return store.transaction(async (tx) => {
    const spec = await sealSpec(tx, row.id, pending.spec, { texts, dropped })
    // Where it is stopped, nothing runs that would have to be brought to it.
    const isCarriedOut = goalOf(row.desired) === 'stopped'
    const { generation, slug } = await tx.projects.update(row.id, row.generation, { spec, isCarriedOut })
    const before = await store.network.domains(row.id)
    for (const { host } of before)
      if (!settings.domains.some((one) => one.host === host)) await tx.network.removeDomain(host)
    const others = settings.domains.filter(({ host }) => !before.some((one) => one.host === host))
    const left = await addDomains(tx, row.id, others)
    const rules = settings.rules ?? ((await store.network.rules(row.id)) === null ? null : noRules)
    if (rules !== null) await tx.network.putRules(row.id, rules)
    await more(tx)
    await tx.events.append({ type: 'project.changed', project: row.id, data: { id: row.id, slug, generation } })
    return left
  })
}

/** Those that another project has meanwhile are left out, and said. */
export async function addDomains(
  tx: Transaction,
  project: string,
  domains: BackedUpSettings['domains'],
): Promise<readonly string[]> {
  const left: string[] = []
  for (const { host, workload } of domains) {
    try {
      await tx.network.addDomain({ host, project, workload })
    } catch (error) {
      if (!(error instanceof TakenError)) throw error
      left.push(heldElsewhere(host))
    }
  }
  return left
}

export function heldElsewhere(host: string): string {
  return `The name "${host}" belongs to another project now and is left out.`
}

/** A service that came after the backup keeps what it has. */
async function textOf({ id }: ProjectRow, name: string, { secrets }: BackedUpSettings, store: Store): Promise<Secret> {
  const text = secrets[name]
  if (text !== undefined) return new Secret(text)
  const handle = await store.secrets.find(id, name)
  return handle === null ? new Secret('') : store.secrets.reveal(handle.secret)
}

const noRules: StoredRules = {
  signIn: false,
  allowIps: [],
  basicAuth: null,
  redirects: [],
  requestHeaders: [],
  responseHeaders: [],
  cors: null,
}

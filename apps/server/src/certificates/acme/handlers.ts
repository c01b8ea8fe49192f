import { type Attempts, askedByPerson } from '@stackquay/acme'
import { type AcmeInput, ProblemError } from '@stackquay/contract'
import type { Transaction } from '@stackquay/store'
import type { Config } from '../../config.ts'
import type { Handlers } from '../../http/handler.ts'
import { certificateEvent } from '../local-certificates.ts'
import type { AcmeKeeper } from './keeper.ts'
import { providerSettings } from './provider-settings.ts'
import { askAuthority, checkInput } from './read-input.ts'
import { refused } from './refused.ts'
import {
  type AcmeSecrets,
  accountKeyFor,
  readAcme,
  readAcmeSecrets,
  type StoredAcme,
  writeAcme,
  writeAcmeSecrets,
} from './stored.ts'
import { type AcmeViewDeps, acmeView, settingsView } from './view.ts'

export interface AcmeHandlersDeps extends AcmeViewDeps {
  readonly acme: AcmeKeeper
  readonly config: Config
}

/** Secrets come in and never go out. */
export function acmeHandlers(
  deps: AcmeHandlersDeps,
): Pick<Handlers, 'getAcme' | 'putAcme' | 'deleteAcme' | 'renewAcme'> {
  const { store, acme, config, now } = deps
  return {
    getAcme: async () => ({ status: 200, body: await acmeView(deps) }),

    putAcme: async ({ body }, context) => {
      checkInput(body, config)
      // Before the authority is asked: what is wrong with it is told at once.
      merged(body, await readAcme(store), await readAcmeSecrets(store))
      await askAuthority(body, now, context.signal)
      await store.transaction(async (tx) => {
        const before = await readAcme(store)
        const { stored, secrets } = merged(body, before, await readAcmeSecrets(store))
        await writeAcme(tx, stored)
        await writeAcmeSecrets(tx, secrets)
        // Another setting may be what was missing.
        for (const row of await store.acme.all())
          await tx.acme.put({ ...row, attempts: { ...askedByPerson(row.attempts as unknown as Attempts) } })
        const changes = { before: before === null ? null : settingsView(before), after: settingsView(stored) }
        await tx.audit.append(context.audit({ action: 'acme.put', target: stored.directory, changes }))
        await tx.events.append(certificateEvent())
      })
      acme.wake()
      return { status: 200, body: await acmeView(deps) }
    },

    deleteAcme: async (_input, context) => {
      await store.transaction(async (tx) => {
        const before = await readAcme(store)
        await forget(tx, await store.acme.all())
        const changes = { before: before === null ? null : settingsView(before) }
        await tx.audit.append(context.audit({ action: 'acme.delete', target: before?.directory ?? null, changes }))
        await tx.events.append(certificateEvent())
      })
      acme.wake()
      return { status: 204 }
    },

    renewAcme: async ({ query }, context) => {
      const stored = await readAcme(store)
      if (stored === null)
        throw new ProblemError('conflict', 'No authority is set that certificates come from.', {
          hint: 'Set one: stq tls acme set, or Settings → Certificates.',
        })
      const { name } = query
      const one =
        name === undefined ? null : ((await acme.wanted(stored)).find(({ subject }) => subject === name) ?? null)
      if (name !== undefined && one === null)
        throw new ProblemError('not_found', `No certificate for "${name}" is wanted of the authority.`)
      await store.transaction(async (tx) => {
        const held = one?.id == null ? null : await store.certificates.find(one.id)
        if (held !== null) await tx.certificates.fail(held.id, held.lastFailure, now().toISOString())
        await tx.audit.append(context.audit({ action: 'acme.renew', target: name ?? null }))
      })
      await acme.tryNow(name)
      return { status: 200, body: await acmeView(deps) }
    },
  }
}

/** Attempts stay: whoever switches it off and on again has the same limits. */
async function forget(tx: Transaction, rows: readonly { readonly subject: string }[]): Promise<void> {
  await writeAcme(tx, null)
  await writeAcmeSecrets(tx, null)
  for (const { subject } of rows) await tx.acme.putOrder(subject, null)
}

function merged(
  { termsAgreed: _, dns: givenDns, externalAccount, ...shown }: AcmeInput,
  before: StoredAcme | null,
  kept: AcmeSecrets | null,
): { readonly stored: StoredAcme; readonly secrets: AcmeSecrets } {
  const { dns, sealed } = providerSettings(givenDns, before?.dns ?? null, kept)
  const isSameBinding = externalAccount !== null && before?.externalAccount?.keyId === externalAccount.keyId
  const hmacKey =
    externalAccount === null ? null : (externalAccount.hmacKey ?? (isSameBinding ? (kept?.hmacKey ?? null) : null))
  if (externalAccount !== null && hmacKey === null)
    throw refused([
      { pointer: '/externalAccount/hmacKey', code: 'needed', detail: 'Give the HMAC key of this key ID.' },
    ])
  const next: StoredAcme = {
    ...shown,
    dns,
    externalAccount: externalAccount === null ? null : { keyId: externalAccount.keyId },
    accountUrl: null,
  }
  const accountKey = accountKeyFor(next, before, kept)
  const accountUrl = accountKey === kept?.accountKey ? (before?.accountUrl ?? null) : null
  return { stored: { ...next, accountUrl }, secrets: { accountKey, hmacKey, dns: sealed } }
}

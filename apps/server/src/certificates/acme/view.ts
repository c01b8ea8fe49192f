import { type DnsProviderKind, dnsProviders, dueAt } from '@stackquay/acme'
import { type Acme, type AcmeOrder, type AcmeSettings, visibleText } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { z } from 'zod'
import type { WantedCertificate } from './attempt.ts'
import type { AcmeKeeper } from './keeper.ts'
import { secretsOf } from './provider-settings.ts'
import { readAcme, type StoredAcme } from './stored.ts'

export interface AcmeViewDeps {
  readonly store: Store
  readonly acme: Pick<AcmeKeeper, 'wanted' | 'running'>
  readonly now: () => Date
}

export async function acmeView({ store, acme, now }: AcmeViewDeps): Promise<Acme> {
  const stored = await readAcme(store)
  const wanted = stored === null ? [] : await acme.wanted(stored)
  return {
    settings: stored === null ? null : settingsView(stored),
    orders: wanted.map((one) => orderView(one, acme.running(), now())),
    providers: dnsProviders.map(providerView),
  }
}

/** What an administrator gave, without what is secret: of a `token` only `hasToken`. */
export function settingsView({ accountUrl: _, dns, ...shown }: StoredAcme): AcmeSettings {
  const kind = dnsProviders.find(({ name }) => name === dns?.provider)
  const presences = kind === undefined ? [] : secretsOf(kind).map((name) => [presenceOf(name), true])
  return {
    ...shown,
    dns:
      dns === null ? null : { provider: dns.provider, settings: { ...dns.settings, ...Object.fromEntries(presences) } },
  }
}

function presenceOf(name: string): string {
  return `has${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

function orderView(one: WantedCertificate, running: string | null, now: Date): AcmeOrder {
  const { subject, attempts, id } = one
  const { failure } = attempts
  const isRunning = subject === running
  const next = dueAt(one, now)
  return {
    name: subject,
    state: isRunning ? 'running' : failure !== null ? 'failing' : id !== null ? 'valid' : 'waiting',
    certificate: id,
    nextAttempt: isRunning ? null : next.toISOString(),
    failure:
      failure === null || isRunning
        ? null
        : { code: failure.code, detail: visibleText(failure.detail), at: failure.at },
  }
}

function providerView({ name, label, settings }: DnsProviderKind): Acme['providers'][number] {
  const { $schema: _dialect, ...settingsSchema } = z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' })
  return { name, label, settingsSchema: settingsSchema as Record<string, unknown> }
}

import { type DnsProviderKind, dnsProviderOf, dnsProviders } from '@stackquay/acme'
import type { AcmeInput, FieldError } from '@stackquay/contract'
import type { z } from 'zod'
import { addressBlocker } from '../../webhooks/receivers.ts'
import { refused } from './refused.ts'
import type { AcmeSecrets, StoredAcme } from './stored.ts'

type Settings = Readonly<Record<string, unknown>>

/** Names of the settings that are sealed and never answered. */
export function secretsOf({ settings }: DnsProviderKind): readonly string[] {
  return Object.entries(settings.shape as Record<string, z.ZodType>)
    .filter(([, schema]) => schema.meta()?.writeOnly === true)
    .map(([name]) => name)
}

export interface ProviderSettings {
  readonly dns: StoredAcme['dns']
  readonly sealed: Settings
}

/** What is shown and what is sealed of a provider's settings. Secrets that are left out are those of before. Throws `validation_failed`. */
export function providerSettings(
  given: AcmeInput['dns'],
  before: StoredAcme['dns'],
  kept: AcmeSecrets | null,
): ProviderSettings {
  if (given === null) return { dns: null, sealed: {} }
  const kind = dnsProviderOf(given.provider)
  if (kind === null) {
    const known = dnsProviders.map(({ name }) => name).join(', ')
    throw refused([
      { pointer: '/dns/provider', code: 'unknown_provider', detail: `"${given.provider}" is none of ${known}.` },
    ])
  }
  const secret = secretsOf(kind)
  const old = before?.provider === kind.name ? (kept?.dns ?? {}) : {}
  const filled = {
    ...Object.fromEntries(secret.flatMap((name) => (name in old ? [[name, old[name]]] : []))),
    ...given.settings,
  }
  const read = kind.settings.safeParse(filled)
  if (!read.success) throw refused(read.error.issues.map(fieldError))
  refuseAddresses(read.data)
  const open = Object.fromEntries(Object.entries(read.data).filter(([name]) => !secret.includes(name)))
  requireSecretsAgain(secret, given.settings, before?.provider === kind.name ? before.settings : null, open)
  const sealed = Object.fromEntries(Object.entries(read.data).filter(([name]) => secret.includes(name)))
  return { dns: { provider: kind.name, settings: open }, sealed }
}

/** Whoever changes where a secret goes gives it again: what is kept was not given to that address. */
function requireSecretsAgain(
  secret: readonly string[],
  given: Settings,
  before: Settings | null,
  open: Settings,
): void {
  const left = secret.filter((name) => given[name] === undefined)
  if (left.length === 0 || before === null) return
  const isMoved = Object.entries(open).some(([name, value]) => before[name] !== value)
  if (!isMoved) return
  throw refused(
    left.map((name) => ({
      pointer: `/dns/settings/${name}`,
      code: 'needed_again',
      detail: `Give "${name}" again: another setting of the provider changed.`,
    })),
  )
}

function fieldError({ path, code, message }: z.core.$ZodIssue): FieldError {
  return { pointer: `/dns/settings${path.map((part) => `/${String(part)}`).join('')}`, code, detail: message }
}

function refuseAddresses(settings: Settings): void {
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== 'string') continue
    const host = /^https?:/.test(value) ? URL.parse(value)?.hostname : name === 'server' ? value : undefined
    const blocker = host === undefined ? null : addressBlocker(host.replace(/^\[|\]$/g, ''))
    if (blocker !== null) throw refused([{ pointer: `/dns/settings/${name}`, code: 'not_allowed', detail: blocker }])
  }
}

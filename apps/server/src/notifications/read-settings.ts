import { type FieldError, ProblemError, type QuietHours } from '@stackquay/contract'
import { quietHoursBlocker } from '@stackquay/domain'
import { addressBlocker } from '../webhooks/receivers.ts'
import type { ChannelKind } from './channel-kind.ts'
import { channelKinds, kindOf } from './channels/index.ts'
import { secretsOf } from './sealed-settings.ts'

type Settings = Readonly<Record<string, unknown>>

/** Throws `validation_failed` for a kind that there is not. */
export function knownKind(name: string): ChannelKind {
  const kind = kindOf(name)
  if (kind !== null) return kind
  const known = channelKinds.map((one) => one.name).join(', ')
  throw refused([{ pointer: '/kind', code: 'unknown_kind', detail: `"${name}" is none of ${known}.` }])
}

/** Settings as they are stored: what is shown, and what is sealed. Throws `validation_failed`. */
export function readSettings(
  kind: ChannelKind,
  given: Settings,
): { readonly open: Settings; readonly sealed: Settings } {
  const read = kind.settings.safeParse(given)
  if (!read.success) {
    throw refused(
      read.error.issues.map(({ path, code, message }) => ({
        pointer: `/settings${path.map((part) => `/${String(part)}`).join('')}`,
        code,
        detail: message,
      })),
    )
  }
  refuseAddresses(read.data)
  const secret = new Set(secretsOf(kind))
  const entries = Object.entries(read.data)
  return {
    open: Object.fromEntries(entries.filter(([name]) => !secret.has(name))),
    sealed: Object.fromEntries(entries.filter(([name]) => secret.has(name))),
  }
}

/**
 * Settings after a change: null takes one away, what is absent stays. Whoever changes where messages go gives the secrets too: those that
 * are kept were given to another.
 */
export function mergeSettings(
  kind: ChannelKind,
  before: { readonly open: Settings; readonly sealed: Settings },
  change: Settings,
): { readonly open: Settings; readonly sealed: Settings } {
  const entries = Object.entries({ ...before.open, ...before.sealed, ...change })
  const merged = Object.fromEntries(entries.filter(([, value]) => value !== null))
  const moved = kind.destinations.some((name) => name in change && change[name] !== before.open[name])
  const kept = secretsOf(kind).filter((name) => before.sealed[name] != null && change[name] === undefined)
  if (moved && kept.length > 0) {
    throw refused(
      kept.map((name) => ({
        pointer: `/settings/${name}`,
        code: 'needed_again',
        detail: `Give "${name}" again: messages are to go elsewhere, and what is kept was not given to that address.`,
      })),
    )
  }
  return readSettings(kind, merged)
}

export function checkQuietHours(quiet: QuietHours | null | undefined): void {
  const blocker = quiet == null ? null : quietHoursBlocker(quiet)
  if (blocker !== null) {
    throw refused([{ pointer: `/quietHours/${blocker.field}`, code: 'not_allowed', detail: blocker.detail }])
  }
}

/** Looked at here for whoever types it, and again where the connection is made. */
function refuseAddresses(settings: Settings): void {
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== 'string') continue
    const host = /^https?:/.test(value) ? URL.parse(value)?.hostname : name === 'host' ? value : undefined
    const blocker = host === undefined ? null : addressBlocker(host.replace(/^\[|\]$/g, ''))
    if (blocker !== null) throw refused([{ pointer: `/settings/${name}`, code: 'not_allowed', detail: blocker }])
  }
}

function refused(errors: readonly FieldError[]): ProblemError {
  return new ProblemError('validation_failed', errors[0]?.detail ?? 'The settings cannot be used.', {
    errors: [...errors],
  })
}

import { randomBytes } from 'node:crypto'
import { type DeviceRow, newId, type Store, type Transaction, type UserRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Urgency } from './password-queue.ts'
import { createThrottle, networkOf, type ThrottleOptions } from './throttle.ts'
import { hashOf } from './token-value.ts'

/**
 * Who may try a password now. A browser that once logged in has a key and a counter of its own; all others share one
 * counter for each user and network. So wrong passwords of one stranger close the way for nobody else, and a right
 * password with a known key is never refused for what others did. An address alone proves nothing: every project reaches
 * 127.0.0.1.
 */
export interface LoginGuard {
  /** Counts the attempt and waits as its counter says; throws `throttled`. */
  begin(attempt: LoginAttempt, context: RequestContext): Promise<AllowedAttempt>
}

export interface LoginAttempt {
  readonly username: string
  readonly deviceKey?: string | undefined
  readonly user: UserRow | null
}

export interface AllowedAttempt {
  readonly urgency: Urgency
  /** Id of the browser, when it is known. */
  readonly device: string | null
  /** The password was right: forgets the failures. */
  succeed(): void
  /** Remembers the browser; answers the key it has to keep when it has none that is known. */
  remember(tx: Transaction, user: UserRow, context: RequestContext): Promise<NewDevice | null>
}

export interface NewDevice {
  readonly id: string
  readonly key: string
}

export function createLoginGuard(store: Pick<Store, 'devices'>, options: ThrottleOptions = {}): LoginGuard {
  const strangers = createThrottle(options)
  // Strangers must not push out the failures of known browsers, nor take their places while they wait.
  const devices = createThrottle({ ...options, maxWaiting: Number.POSITIVE_INFINITY })

  return {
    async begin({ username, deviceKey, user }, context) {
      // Asked without a key and for unknown users too: the same work, the same time.
      const device = await knownDevice(store, deviceKey, user)
      const throttle = device === null ? strangers : devices
      const key = device?.id ?? `${username.toLowerCase()} ${networkOf(context.ip)}`
      await throttle.attempt(key, context.signal)
      return {
        urgency: device === null ? 'ordinary' : 'known',
        device: device?.id ?? null,
        succeed: () => throttle.succeed(key),
        remember: (tx, loggedIn) => rememberDevice(tx, loggedIn, device, context),
      }
    },
  }
}

export async function knownDevice(
  store: Pick<Store, 'devices'>,
  deviceKey: string | undefined,
  user: UserRow | null,
): Promise<DeviceRow | null> {
  const known = await store.devices.byHash(hashOf(deviceKey ?? ''))
  return known !== null && known.user === user?.id ? known : null
}

/** For a log-in, and for the first administrator, whose browser is new by nature. */
export async function rememberDevice(
  tx: Transaction,
  user: UserRow,
  device: DeviceRow | null,
  { ip, userAgent }: RequestContext,
): Promise<NewDevice | null> {
  if (device !== null) {
    await tx.devices.touch(device.id)
    return null
  }
  const key = randomBytes(32).toString('base64url')
  const { id } = await tx.devices.insert({ id: newId('dev'), hash: hashOf(key), user: user.id, ip, userAgent })
  return { id, key }
}

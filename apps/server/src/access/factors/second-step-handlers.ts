import { ProblemError, type SecondFactorAsked } from '@stackquay/contract'
import type { SecondFactors, Store, UserRow } from '@stackquay/store'
import type { DeniedLog } from '../../http/denied-log.ts'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { type CompleteLoginDeps, completeLogin } from '../complete-login.ts'
import { type AllowedAttempt, knownDevice, rememberDevice } from '../login-guard.ts'
import { checkFactor } from './check-factor.ts'
import type { FactorParts } from './parts.ts'
import { type RelyingParty, relyingPartyOf } from './relying-party.ts'

export interface SecondStepDeps extends CompleteLoginDeps {
  readonly store: Pick<Store, 'users' | 'devices' | 'secondFactors' | 'transaction'>
  readonly denied: Pick<DeniedLog, 'record'>
  readonly factors: FactorParts
}

/** After a right password: asks for the factor, and keeps the attempt open for it. */
export async function askSecondFactor(
  user: UserRow,
  attempt: AllowedAttempt,
  { store, factors }: Pick<SecondStepDeps, 'store' | 'factors'>,
  context: RequestContext,
): Promise<{ status: 202; body: SecondFactorAsked }> {
  const has = await store.secondFactors.of(user.id)
  const { challenge, expiresAt } = factors.logins.begin(user, attempt)
  const party = partyOrNull(context, factors)
  const of = party === null ? [] : has.passkeys.filter(({ rpId }) => rpId === party.id)
  const passkey =
    party === null || of.length === 0
      ? null
      : await factors.passkeys.askToSign({ party, of, about: ['second', challenge] })
  await store.transaction((tx) =>
    tx.audit.append({
      ...context.audit({ action: 'auth.login', target: user.username, changes: { after: { secondFactor: 'asked' } } }),
      actor: user.username,
    }),
  )
  const body = {
    challenge,
    kinds: kindsOf(has, passkey !== null),
    passkey,
    expiresAt: new Date(expiresAt).toISOString(),
  }
  return { status: 202, body }
}

function kindsOf({ totp, recoveryCodes }: SecondFactors, passkey: boolean): SecondFactorAsked['kinds'] {
  return [
    ...(passkey ? (['passkey'] as const) : []),
    ...(totp === null ? [] : (['totp'] as const)),
    ...(recoveryCodes === 0 ? [] : (['recovery_code'] as const)),
  ]
}

function partyOrNull(context: RequestContext, { config }: FactorParts): RelyingParty | null {
  try {
    return relyingPartyOf(context, config)
  } catch {
    return null
  }
}

/** The second step of a log-in, and the log-in by a passkey, which needs no first. */
export function secondStepHandlers(deps: SecondStepDeps) {
  const { store, factors, now } = deps
  const refuse = async (context: RequestContext, user: UserRow | null, reason: string): Promise<never> => {
    const target = user?.username ?? 'passkey'
    await deps.denied.record(context.audit({ action: 'auth.login', target, outcome: 'denied', changes: { reason } }))
    throw new ProblemError('second_factor_failed', 'The second factor does not hold, or was used before.')
  }

  return {
    async loginSecond({ body: { challenge, ...given } }, context) {
      const open = factors.logins.attempt(challenge)
      const user = open === null ? null : await store.users.find(open.user)
      if (open === null || user === null || user.disabled || user.passwordHash !== open.passwordHash) {
        factors.logins.finish(challenge)
        const detail = 'This log-in is over: it took too long, was tried too often, or the account was changed.'
        await deps.denied.record(
          context.audit({
            action: 'auth.login',
            target: null,
            outcome: 'denied',
            changes: { reason: 'challenge_invalid' },
          }),
        )
        throw new ProblemError('challenge_invalid', detail, { hint: 'Log in with the password again.' })
      }
      const { attempt } = open
      const question = { user: user.id, device: attempt.device, about: ['second', challenge] }
      const held = await checkFactor(given, question, { ...factors, store, now }, context)
      if (held === null) return refuse(context, user, 'second_factor_failed')
      const reply = await completeLogin(
        {
          ...{ user, by: held.by, remember: attempt.remember },
          take: async (tx) =>
            (await isAsBefore(user, store)) && (await held.take(tx)) && factors.logins.finish(challenge),
        },
        deps,
        context,
      )
      return reply ?? refuse(context, user, held.by === 'passkey' ? 'passkey_counter' : 'used_before')
    },

    async beginPasskeyLogin(_input, context) {
      const party = relyingPartyOf(context, factors.config)
      return { status: 200, body: await factors.passkeys.askToSign({ party, about: ['alone'] }) }
    },

    async loginWithPasskey({ body: { passkey: given, deviceKey } }, context) {
      const party = relyingPartyOf(context, factors.config)
      const signed = await factors.passkeys.readSigned({ party, given, about: ['alone'] })
      const user = signed === null ? null : await store.users.find(signed.passkey.user)
      if (signed === null || user === null || user.disabled) return refuse(context, user, 'second_factor_failed')
      const device = await knownDevice(store, deviceKey, user)
      const reply = await completeLogin(
        {
          ...{ user, by: 'passkey alone' },
          take: async (tx) =>
            (await isAsBefore(user, store)) &&
            (await tx.secondFactors.usePasskey(signed.passkey.id, signed.counter)) &&
            factors.signed.use(signed.challenge),
          remember: (tx) => rememberDevice(tx, user, device, context),
        },
        deps,
        context,
      )
      return reply ?? refuse(context, user, 'passkey_counter')
    },
  } satisfies Partial<Handlers>
}

/** Asked inside the transaction, so that a disabling or a new password that came between is not overtaken. */
export async function isAsBefore(user: UserRow, store: Pick<Store, 'users'>): Promise<boolean> {
  const now = await store.users.find(user.id)
  return now !== null && !now.disabled && now.passwordHash === user.passwordHash
}

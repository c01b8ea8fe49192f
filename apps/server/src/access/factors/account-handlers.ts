import { type PasskeyView, ProblemError } from '@stackquay/contract'
import { isSecondFactorRequired } from '@stackquay/domain'
import { newId, type PasskeyRow, type Store, TakenError, type Transaction } from '@stackquay/store'
import type { Handlers, Principal, RequestContext } from '../../http/handler.ts'
import type { PasswordAgain } from '../password-again.ts'
import { sessionOf } from '../session-of.ts'
import { checkFactor } from './check-factor.ts'
import type { FactorParts } from './parts.ts'
import { createPendingTotp } from './pending-totp.ts'
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { relyingPartyOf } from './relying-party.ts'
import { matchingStep, newTotpSecret, totpUri } from './totp.ts'

export interface FactorAccountDeps {
  readonly store: Pick<Store, 'users' | 'secondFactors' | 'transaction'>
  readonly factors: FactorParts
  readonly passwordAgain: PasswordAgain
  readonly now: () => number
}

/** One's own second factors. Whatever adds or takes one asks for the password: an open page, or a stolen session, is not enough. */
export function factorAccountHandlers(deps: FactorAccountDeps) {
  const { store, factors } = deps
  return {
    async getSecondFactor(_input, context) {
      const { user, scope } = sessionOf(context)
      const { totp, passkeys, recoveryCodes } = await store.secondFactors.of(user.id)
      const body = {
        required: isSecondFactorRequired(factors.config.requireSecondFactor, scope),
        totp: totp === null ? null : { createdAt: totp.createdAt },
        passkeys: passkeys.map(viewOf),
        recoveryCodesLeft: recoveryCodes,
      }
      return { status: 200, body }
    },

    async replaceRecoveryCodes({ body }, context) {
      const { user } = sessionOf(context)
      await deps.passwordAgain.check(context, body.password, 'recovery_codes.replace', 'password')
      const recoveryCodes = await store.transaction(async (tx) => {
        if (!(await store.secondFactors.has(user.id)))
          throw new ProblemError('conflict', 'You have no second factor, so there is nothing to recover.')
        await tx.audit.append(context.audit({ action: 'recovery_codes.replace', target: user.name }))
        return putCodes(tx, user.id)
      })
      return { status: 200, body: { recoveryCodes } }
    },

    ...totpHandlers(deps),
    ...passkeyHandlers(deps),
  } satisfies Partial<Handlers>
}

function totpHandlers({ store, factors, passwordAgain, now }: FactorAccountDeps) {
  const pending = createPendingTotp(now)
  return {
    async beginTotp({ body }, context) {
      const { user, sessionId } = sessionOf(context)
      await passwordAgain.check(context, body.password, 'totp.enable', 'password')
      if ((await store.secondFactors.of(user.id)).totp !== null) throw hasTotp()
      const secret = newTotpSecret()
      const issuer = `Stackquay (${new URL(factors.config.publicUrl).host})`
      const expiresAt = pending.begin(sessionId, secret)
      const uri = totpUri({ secret, issuer, account: user.name })
      return { status: 201, body: { secret, uri, expiresAt: new Date(expiresAt).toISOString() } }
    },

    async confirmTotp({ body }, context) {
      const { user, sessionId } = sessionOf(context)
      const secret = pending.attempt(sessionId)
      if (secret === null)
        throw new ProblemError('challenge_invalid', 'No app is being set up here, or it took too long.')
      const step = matchingStep(secret, body.code, now())
      if (step === null) {
        throw new ProblemError('second_factor_failed', 'This is not the code of now.', {
          hint: 'Wait for the next code. If it stays so, the clock of the phone or of this machine is wrong.',
        })
      }
      const recoveryCodes = await store
        .transaction(async (tx) => {
          await tx.secondFactors.addTotp({ user: user.id, secret, step })
          return recordAdded(tx, 'totp.enable', context, store)
        })
        .catch((error: unknown) => {
          throw error instanceof TakenError ? hasTotp() : error
        })
      pending.end(sessionId)
      return { status: 200, body: { recoveryCodes } }
    },

    async disableTotp({ body: { password, ...given } }, context) {
      const { user } = sessionOf(context)
      await passwordAgain.check(context, password, 'totp.disable', 'password')
      if ((await store.secondFactors.of(user.id)).totp === null)
        throw new ProblemError('not_found', 'You have no authenticator app.')
      const question = { user: user.id, device: null, about: [] }
      const held = await checkFactor(given, question, { ...factors, store, now }, context)
      const done = await store.transaction(async (tx) => {
        if (held === null || !(await held.take(tx))) return false
        const { passkeys } = await store.secondFactors.of(user.id)
        await tx.secondFactors.removeTotp(user.id)
        const removed = {
          action: 'totp.disable',
          kind: 'totp',
          target: user.name,
          isLast: passkeys.length === 0,
        } as const
        await recordRemoved(tx, removed, context)
        return true
      })
      if (done) return { status: 204 }
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            ...{ action: 'totp.disable', target: user.name, outcome: 'denied' },
            changes: { reason: 'second_factor_failed' },
          }),
        ),
      )
      throw new ProblemError('second_factor_failed', 'The code is wrong, or was used before.')
    },
  } satisfies Partial<Handlers>
}

function passkeyHandlers({ store, factors, passwordAgain }: FactorAccountDeps) {
  return {
    async beginPasskey({ body }, context) {
      const { user, sessionId } = sessionOf(context)
      const party = relyingPartyOf(context, factors.config)
      await passwordAgain.check(context, body.password, 'passkey.add', 'password')
      const { passkeys } = await store.secondFactors.of(user.id)
      const asked = { party, user: { id: user.id, username: user.name }, has: passkeys, about: [sessionId] }
      return { status: 200, body: await factors.passkeys.askToMake(asked) }
    },

    async addPasskey({ body: { name, credential } }, context) {
      const { user, sessionId } = sessionOf(context)
      const party = relyingPartyOf(context, factors.config)
      const { challenge, ...made } = await factors.passkeys.readMade({ party, given: credential, about: [sessionId] })
      const done = await store
        .transaction(async (tx) => {
          if (!factors.signed.use(challenge))
            throw new ProblemError('second_factor_failed', 'This answer was used before.')
          if ((await store.secondFactors.of(user.id)).passkeys.length >= mostPasskeys)
            throw new ProblemError('conflict', `You have ${mostPasskeys} passkeys. Remove one first.`)
          const row = await tx.secondFactors.addPasskey({ id: newId('psk'), user: user.id, name, ...made })
          const recoveryCodes = await recordAdded(tx, 'passkey.add', context, store, { id: row.id, name })
          return { passkey: viewOf(row), recoveryCodes }
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', 'This passkey is known already.')
        })
      return { status: 201, body: done }
    },

    async removePasskey({ params, body }, context) {
      const { user } = sessionOf(context)
      await passwordAgain.check(context, body.password, 'passkey.remove', 'password')
      await store.transaction(async (tx) => {
        const { totp, passkeys } = await store.secondFactors.of(user.id)
        const passkey = passkeys.find(({ id }) => id === params.kid)
        if (passkey === undefined) throw new ProblemError('not_found', `You have no passkey "${params.kid}".`)
        await tx.secondFactors.removePasskey(passkey.id)
        const isLast = totp === null && passkeys.length === 1
        const { id, name } = passkey
        const removed = { action: 'passkey.remove', kind: 'passkey', target: id, before: { name }, isLast } as const
        await recordRemoved(tx, removed, context)
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

/** Sessions of before were opened without the factor, maybe by somebody else: they end. Answers codes when there were none. */
async function recordAdded(
  tx: Transaction,
  action: 'totp.enable' | 'passkey.add',
  context: RequestContext,
  store: FactorAccountDeps['store'],
  made?: { readonly id: string; readonly name: string },
): Promise<string[]> {
  const { user, sessionId } = sessionOf(context)
  await tx.sessions.deleteOfUser(user.id, sessionId)
  await tx.devices.deleteOfUser(user.id)
  const changes = made === undefined ? null : { after: { name: made.name } }
  await tx.audit.append(context.audit({ action, target: made?.id ?? user.name, changes }))
  await tellChange(tx, user, action === 'totp.enable' ? 'totp' : 'passkey', true)
  const { recoveryCodes } = await store.secondFactors.of(user.id)
  return recoveryCodes > 0 ? [] : putCodes(tx, user.id)
}

interface RemovedFactor {
  readonly action: string
  readonly kind: 'totp' | 'passkey'
  readonly target: string
  readonly before?: object
  readonly isLast: boolean
}

/** Recovery codes stand for a factor that was lost: with none to lose they open nothing, and go. */
async function recordRemoved(
  tx: Transaction,
  { action, kind, target, before, isLast }: RemovedFactor,
  context: RequestContext,
): Promise<void> {
  if (isLast) await tx.secondFactors.putRecoveryCodes(sessionOf(context).user.id, [])
  const changes = before === undefined ? null : { before }
  await tx.audit.append(context.audit({ action, target, changes }))
  await tellChange(tx, sessionOf(context).user, kind, false)
}

function tellChange(
  tx: Transaction,
  { id }: (Principal & { kind: 'session' })['user'],
  kind: 'totp' | 'passkey',
  added: boolean,
): Promise<unknown> {
  return tx.events.append({ type: 'second-factor.changed', project: null, data: { user: id, kind, added } })
}

async function putCodes(tx: Transaction, user: string): Promise<string[]> {
  const codes = newRecoveryCodes()
  await tx.secondFactors.putRecoveryCodes(user, codes.map(recoveryCodeHash))
  return [...codes]
}

function viewOf({ id, name, rpId, createdAt, lastUsedAt }: PasskeyRow): PasskeyView {
  return { id, name, host: rpId, createdAt, lastUsedAt }
}

function hasTotp(): ProblemError {
  return new ProblemError('conflict', 'You have an authenticator app already.', { hint: 'Turn its codes off first.' })
}

const mostPasskeys = 20

import { type PasskeyCredential, ProblemError } from '@stackquay/contract'
import { mostWrongCodes } from '@stackquay/domain'
import type { SecondFactors, Store, Transaction } from '@stackquay/store'
import type { RequestContext } from '../../http/handler.ts'
import type { FactorParts } from './parts.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { relyingPartyOf } from './relying-party.ts'
import { matchingStep } from './totp.ts'

export interface GivenFactor {
  readonly code?: string | undefined
  readonly recoveryCode?: string | undefined
  readonly passkey?: PasskeyCredential | undefined
}

/** A factor that is right so far. `take` says whether it was the first to be, inside the transaction of what it opens. */
export interface HeldFactor {
  readonly by: 'totp' | 'recovery_code' | 'passkey'
  take(tx: Transaction): Promise<boolean>
}

export interface FactorQuestion {
  readonly user: string
  /** A browser that logged in before, whose failures count apart. */
  readonly device: string | null
  /** What a passkey's challenge was made for. */
  readonly about: readonly string[]
}

type Deps = Pick<FactorParts, 'codes' | 'passkeys' | 'config' | 'signed'> & {
  readonly store: Pick<Store, 'secondFactors' | 'transaction'>
  readonly now: () => number
}

/** Null when it does not hold. Throws for none or several, and `throttled` for a code. */
export async function checkFactor(
  given: GivenFactor,
  question: FactorQuestion,
  deps: Deps,
  context: RequestContext,
): Promise<HeldFactor | null> {
  const factors = await deps.store.secondFactors.of(question.user)
  onlyOne(given)
  if (given.code !== undefined) return checkCode(given.code, factors, question, deps, context)
  if (given.recoveryCode !== undefined) {
    const hash = recoveryCodeHash(given.recoveryCode)
    return { by: 'recovery_code', take: (tx) => tx.secondFactors.useRecoveryCode(question.user, hash) }
  }
  const party = relyingPartyOf(context, deps.config)
  const signed = await deps.passkeys.readSigned({
    ...{ party, given: given.passkey!, about: question.about, of: question.user },
  })
  if (signed === null) return null
  return {
    by: 'passkey',
    take: async (tx) =>
      (await tx.secondFactors.usePasskey(signed.passkey.id, signed.counter)) && deps.signed.use(signed.challenge),
  }
}

async function checkCode(
  code: string,
  { totp }: SecondFactors,
  { user, device }: FactorQuestion,
  { codes, store, now }: Deps,
  { signal }: RequestContext,
): Promise<HeldFactor | null> {
  if (totp !== null && totp.failures >= mostWrongCodes && device === null) {
    throw new ProblemError(
      'second_factor_failed',
      `${mostWrongCodes} codes in a row were wrong, so codes open nothing now.`,
      {
        hint: 'Use a passkey, a recovery code or a browser that logged in before, or ask an administrator. Change your password: somebody knows it.',
      },
    )
  }
  const key = device ?? user
  await codes.attempt(key, signal)
  const secret = totp?.secret ?? null
  const step = secret === null ? null : matchingStep(secret.expose(), code, now())
  if (step === null) {
    await store.transaction((tx) => tx.secondFactors.countFailure(user))
    return null
  }
  return {
    by: 'totp',
    take: async (tx) => {
      const isFirst = await tx.secondFactors.useStep(user, step)
      if (isFirst) codes.succeed(key)
      return isFirst
    },
  }
}

function onlyOne(given: GivenFactor): void {
  const names = (['code', 'recoveryCode', 'passkey'] as const).filter((name) => given[name] !== undefined)
  if (names.length === 1) return
  const detail = 'Send exactly one of "code", "recoveryCode" and "passkey".'
  const pointer = `/${names[1] ?? 'code'}`
  throw new ProblemError('validation_failed', detail, { errors: [{ pointer, code: 'invalid_value', detail }] })
}

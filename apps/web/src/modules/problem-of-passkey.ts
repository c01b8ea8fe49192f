import { NoPasskeyError } from '../lib/passkeys.ts'
import { texts } from '../texts/index.ts'

/** What the browser refused, in words of ours; everything else as it is. */
export async function withPasskey<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof NoPasskeyError)) throw error
    const isKnown = error.message === 'InvalidStateError'
    throw new Error(isKnown ? texts.secondFactor.passkeyKnown : texts.secondFactor.passkeyNone, { cause: error })
  }
}

import { type PasskeyCredential, type PasskeyOptions, ProblemError } from '@stackquay/contract'
import type { PasskeyRow, Store, UserRow } from '@stackquay/store'
import type { RelyingParty } from './relying-party.ts'
import type { SignedChallenges } from './signed-challenges.ts'

/** A passkey that a browser made, checked. */
export type MadePasskey = Pick<PasskeyRow, 'credential' | 'publicKey' | 'counter' | 'transports' | 'rpId'>

/** An answer that a passkey signed, checked but for its counter: that is compared when it is written. */
export interface SignedBy {
  readonly passkey: PasskeyRow
  readonly counter: number
  readonly challenge: string
}

/** The ceremonies of WebAuthn. `about` is what a challenge was made for: another session's or attempt's does not hold. */
export interface Passkeys {
  askToMake(ask: {
    party: RelyingParty
    user: MadeFor
    has: readonly PasskeyRow[]
    about: About
  }): Promise<PasskeyOptions>
  readMade(answer: {
    party: RelyingParty
    given: PasskeyCredential
    about: About
  }): Promise<MadePasskey & { challenge: string }>
  /** Without `of`: any passkey of this host, and the authenticator has to verify the person. */
  askToSign(ask: { party: RelyingParty; of?: readonly PasskeyRow[]; about: About }): Promise<PasskeyOptions>
  /** Null when it does not hold, whatever the reason: a stranger is told none. */
  readSigned(answer: {
    party: RelyingParty
    given: PasskeyCredential
    about: About
    of?: string
  }): Promise<SignedBy | null>
}

type About = readonly string[]
type MadeFor = Pick<UserRow, 'id' | 'username'>

/** EdDSA, ES256 and RS256: one of them every authenticator has, and Node.js knows them all for good. */
const algorithms = [-8, -7, -257]

/** Few services have a passkey, so the library is loaded at the first. */
const webauthn = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

export function createPasskeys(store: Pick<Store, 'secondFactors'>, challenges: SignedChallenges): Passkeys {
  return { ...making(challenges), ...signing(store, challenges) }
}

function making(challenges: SignedChallenges): Pick<Passkeys, 'askToMake' | 'readMade'> {
  return {
    async askToMake({ party, user, has, about }) {
      const { generateRegistrationOptions } = await webauthn()
      const options = await generateRegistrationOptions({
        rpName: 'Stackquay',
        rpID: party.id,
        userName: user.username,
        userDisplayName: user.username,
        userID: new TextEncoder().encode(user.id),
        challenge: challenges.make(bound('make', party, about)),
        timeout: 120_000,
        attestationType: 'none',
        excludeCredentials: has.filter(({ rpId }) => rpId === party.id).map(descriptorOf),
        supportedAlgorithmIDs: algorithms,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      return { ...options }
    },

    async readMade({ party, given, about }) {
      try {
        await refuseCertificates(given)
        const { verifyRegistrationResponse } = await webauthn()
        let challenge = ''
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response: given as never,
          expectedChallenge: (asked) => {
            challenge = asked
            return challenges.holds(asked, bound('make', party, about))
          },
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          requireUserVerification: true,
          supportedAlgorithmIDs: algorithms,
        })
        if (!verified) throw new Error('not verified')
        const { id, publicKey, counter, transports = [] } = registrationInfo.credential
        const encoded = Buffer.from(publicKey).toString('base64url')
        const known = transports.filter((one) => /^[a-z-]{1,20}$/.test(one)).slice(0, 10)
        return { credential: id, publicKey: encoded, counter, transports: known, rpId: party.id, challenge }
      } catch (error) {
        throw new ProblemError(
          'second_factor_failed',
          'The passkey cannot be kept: it was not made for this request.',
          {
            hint: 'Begin again. The authenticator has to verify you, by a PIN, a fingerprint or your face.',
            cause: error,
          },
        )
      }
    },
  }
}

function signing(
  store: Pick<Store, 'secondFactors'>,
  challenges: SignedChallenges,
): Pick<Passkeys, 'askToSign' | 'readSigned'> {
  return {
    async askToSign({ party, of, about }) {
      // Written out, so that a stranger who asks has nothing loaded.
      return {
        challenge: Buffer.from(challenges.make(bound('sign', party, about))).toString('base64url'),
        rpId: party.id,
        timeout: 120_000,
        userVerification: of === undefined ? 'required' : 'preferred',
        ...(of === undefined ? {} : { allowCredentials: of.map(typedDescriptor) }),
      }
    },

    async readSigned({ party, given, about, of }) {
      const passkey = await store.secondFactors.passkey(given.id)
      if (passkey === null || passkey.rpId !== party.id) return null
      if (of !== undefined && passkey.user !== of) return null
      const { userHandle } = given.response
      const isOwner = userHandle === Buffer.from(passkey.user).toString('base64url')
      if (of === undefined ? !isOwner : userHandle != null && !isOwner) return null
      try {
        const { verifyAuthenticationResponse } = await webauthn()
        let challenge = ''
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: given as never,
          expectedChallenge: (asked) => {
            challenge = asked
            return challenges.holds(asked, bound('sign', party, about))
          },
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          requireUserVerification: of === undefined,
          credential: {
            id: passkey.credential,
            publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
            counter: 0,
          },
        })
        return verified ? { passkey, counter: authenticationInfo.newCounter, challenge } : null
      } catch {
        return null
      }
    },
  }
}

function bound(act: 'make' | 'sign', { origin }: RelyingParty, about: About): About {
  return [act, origin, ...about]
}

function descriptorOf({ credential, transports }: PasskeyRow) {
  return { id: credential, transports: transports as never }
}

function typedDescriptor(passkey: PasskeyRow) {
  return { type: 'public-key', ...descriptorOf(passkey) }
}

/**
 * We ask for no attestation, so nobody has to send one. One with certificates would have the service fetch the revocation
 * lists that they name: addresses that the caller chooses.
 */
async function refuseCertificates({ response }: PasskeyCredential): Promise<void> {
  const { decodeAttestationObject, isoBase64URL } = await helpers()
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(String(response.attestationObject)))
  const format = attestation.get('fmt')
  const isBare = format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
  if (!isBare) throw new Error(`An attestation of the format "${format}" was sent, and none was asked for.`)
}

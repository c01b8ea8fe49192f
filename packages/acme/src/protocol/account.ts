import { AcmeError } from '../failure.ts'
import { bindExternalAccount, type ExternalAccount, type Signer, signerOf } from './jws.ts'
import { header, type Session } from './session.ts'

export interface AccountSettings {
  /** PEM of the account's key. */
  readonly key: string
  /** Where the account is, when it is known; else it is looked up or made. */
  readonly url?: string | null
  readonly email?: string | null
  /** A person said yes to the terms of the certificate authority. */
  readonly termsAgreed: boolean
  readonly external?: ExternalAccount | null
}

export interface Account {
  readonly signer: Signer
  readonly accountUrl: string
}

/** The account of the key: the one that is there, or a new one. Run twice it answers the same. */
export async function openAccount(session: Session, settings: AccountSettings): Promise<Account> {
  const signer = signerOf(settings.key)
  if (settings.url != null) return { signer, accountUrl: settings.url }
  const { newAccount, meta } = session.directory
  const terms = meta?.termsOfService
  if (terms !== undefined && !settings.termsAgreed)
    throw new AcmeError('terms_not_agreed', `${session.host} asks to agree to its terms first: ${terms}`)
  if (meta?.externalAccountRequired === true && settings.external == null)
    throw new AcmeError(
      'external_account_required',
      `${session.host} gives certificates only to accounts it knows. Give the key ID and the HMAC key that it shows for external account binding.`,
    )
  const answer = await session.postAsNew(newAccount, signer, {
    termsOfServiceAgreed: settings.termsAgreed,
    ...(settings.email == null ? {} : { contact: [`mailto:${settings.email}`] }),
    ...(settings.external == null
      ? {}
      : { externalAccountBinding: bindExternalAccount(settings.external, signer.jwk, newAccount) }),
  })
  const accountUrl = header(answer, 'location')
  if (accountUrl === undefined)
    throw new AcmeError('server_error', `${session.host} does not say where the account is.`)
  return { signer, accountUrl }
}

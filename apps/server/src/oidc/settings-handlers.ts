import { type OidcSettings, ProblemError } from '@stackquay/contract'
import { checkIssuer } from '@stackquay/domain'
import type { Store, Transaction } from '@stackquay/store'
import type { PasswordAgain } from '../access/password-again.ts'
import type { Config } from '../config.ts'
import type { Handlers } from '../http/handler.ts'
import { checkProvider } from './check-provider.ts'
import type { ProviderClient } from './provider.ts'
import type { Refresher } from './refresher.ts'
import {
  clientSecretName,
  oidcSetting,
  redirectUriOf,
  type StoredProvider,
  sessionSecretPrefix,
  storedProvider,
} from './settings.ts'
import { refuseTaken } from './sign-in-handlers.ts'

export interface OidcSettingsDeps {
  readonly store: Store
  readonly config: Pick<Config, 'publicUrl'>
  readonly passwordAgain: PasswordAgain
  readonly provider: ProviderClient
  readonly refresher: Refresher
  readonly now: () => number
}

type SettingsId = 'getOidc' | 'putOidc' | 'deleteOidc' | 'testOidc' | 'linkUserOidc' | 'unlinkUserOidc'

/** Who sets the provider decides who is an administrator here, so an open page is not enough. */
export function oidcSettingsHandlers(deps: OidcSettingsDeps): Pick<Handlers, SettingsId> {
  const { store, passwordAgain, refresher } = deps
  return {
    ...userLinkHandlers(deps),
    getOidc: async () => ({ status: 200, body: await viewOf(deps) }),
    putOidc: async ({ body }, context) => {
      const { password, clientSecret, ...settings } = body
      checkedIssuer(settings.issuer)
      await passwordAgain.check(context, password, 'oidc.set', 'password')
      const ended = await store.transaction(async (tx) => {
        const before = await storedProvider(store)
        await tx.settings.set(oidcSetting, settings)
        if (clientSecret === '') await tx.secrets.delete(null, clientSecretName)
        else if (clientSecret !== undefined) await tx.secrets.put(null, clientSecretName, clientSecret)
        const isAnother = before?.issuer !== settings.issuer || before.clientId !== settings.clientId
        // A secret is for who it was given to: it is not shown to another issuer.
        if (isAnother && clientSecret === undefined) await tx.secrets.delete(null, clientSecretName)
        const gone = isAnother ? await endSessions(tx, store) : []
        const secret = clientSecret === undefined ? {} : { clientSecret: '[secret]' }
        const changes = { before, after: { ...settings, ...secret, sessionsEnded: gone.length } }
        await tx.audit.append(context.audit({ action: 'oidc.set', target: settings.issuer, changes }))
        return gone
      })
      for (const session of ended) refresher.forget(session)
      return { status: 200, body: await viewOf(deps) }
    },
    deleteOidc: async (_input, context) => {
      const ended = await store.transaction(async (tx) => {
        const before = await storedProvider(store)
        if (before === null) throw new ProblemError('not_found', 'No provider is set.')
        await tx.settings.set(oidcSetting, null)
        await tx.secrets.delete(null, clientSecretName)
        const gone = await endSessions(tx, store)
        const changes = { before: { ...before, sessionsEnded: gone.length } }
        await tx.audit.append(context.audit({ action: 'oidc.delete', target: before.issuer, changes }))
        return gone
      })
      for (const session of ended) refresher.forget(session)
      return { status: 204 }
    },
    testOidc: async ({ body }) => {
      const issuer = body.issuer ?? (await storedProvider(store))?.issuer
      if (issuer === undefined) throw new ProblemError('not_found', 'No provider is set, and none was named.')
      checkedIssuer(issuer)
      return { status: 200, body: { checks: await checkProvider(issuer, deps) } }
    },
  }
}

function userLinkHandlers({
  store,
  refresher,
  passwordAgain,
}: OidcSettingsDeps): Pick<Handlers, 'linkUserOidc' | 'unlinkUserOidc'> {
  const find = async (id: string) => {
    const user = await store.users.find(id)
    if (user === null) throw new ProblemError('not_found', `There is no user "${id}".`)
    return user
  }
  return {
    linkUserOidc: async ({ params, body: { subject, password } }, context) => {
      await passwordAgain.check(context, password, 'user.oidc_link', 'password')
      const user = await find(params.uid)
      await store.transaction(async (tx) => {
        const settings = await storedProvider(store)
        if (settings === null) throw new ProblemError('not_found', 'No provider is set.')
        const { issuer } = settings
        await tx.oidc.link({ issuer, subject, user: user.id, managed: false, name: null }).catch(refuseTaken)
        const changes = { after: { issuer, subject } }
        await tx.audit.append(context.audit({ action: 'user.oidc_link', target: user.username, changes }))
      })
      return { status: 204 }
    },
    unlinkUserOidc: async ({ params }, context) => {
      const user = await find(params.uid)
      const ended = await store.transaction(async (tx) => {
        const links = await store.oidc.ofUser(user.id)
        if (links.length === 0) throw new ProblemError('not_found', `"${user.username}" has no link.`)
        await tx.oidc.unlink(user.id)
        const own = new Set((await store.sessions.of(user.id)).map(({ id }) => id))
        const gone = await endSessions(tx, store, own)
        const before = { links: links.map(({ issuer, subject }) => ({ issuer, subject })), sessionsEnded: gone.length }
        await tx.audit.append(context.audit({ action: 'user.oidc_unlink', target: user.username, changes: { before } }))
        return gone
      })
      for (const session of ended) refresher.forget(session)
      return { status: 204 }
    },
  }
}

function checkedIssuer(issuer: string): void {
  const checked = checkIssuer(issuer)
  if (checked.ok) return
  throw new ProblemError('validation_failed', checked.detail, {
    errors: [{ pointer: '/issuer', code: 'not_an_issuer', detail: checked.detail }],
  })
}

/** Of all people, or those of `only`; answers which. */
async function endSessions(tx: Transaction, store: Store, only?: ReadonlySet<string>): Promise<readonly string[]> {
  const sessions = (await store.oidc.sessions()).map(({ session }) => session)
  const gone = sessions.filter((session) => only === undefined || only.has(session))
  for (const session of gone) {
    await tx.sessions.delete(session)
    await tx.secrets.delete(null, sessionSecretPrefix + session)
  }
  return gone
}

async function viewOf({
  store,
  config,
  refresher,
}: Pick<OidcSettingsDeps, 'store' | 'config' | 'refresher'>): Promise<OidcSettings> {
  const settings: StoredProvider | null = await storedProvider(store)
  const hasSecret = (await store.secrets.find(null, clientSecretName)) !== null
  const redirectUri = redirectUriOf(config.publicUrl)
  const failingSince = refresher.failingSince()
  return { redirectUri, failingSince, provider: settings === null ? null : { ...settings, hasSecret } }
}

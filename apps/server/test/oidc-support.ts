import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import Provider from 'oidc-provider'
import type { TestApp } from './app-support.ts'

export const clientSecret = 'of-the-client-0123456789abcdef0123456789'

export interface Person {
  groups: string[]
  preferred_username?: string
  email?: string
}

export interface RealProvider {
  readonly issuer: string
  /** Who is there, by subject; whoever is taken out has left. */
  readonly people: Map<string, Person>
  /** Signs in and agrees as a browser would; answers the address that it leads back to. */
  signIn(url: string, subject: string): Promise<string>
  close(): Promise<void>
}

/** A certified provider on loopback. */
export async function openProvider(
  t: Pick<TestContext, 'after'>,
  { publicUrl = 'http://127.0.0.1:1' }: { readonly publicUrl?: string } = {},
): Promise<RealProvider> {
  const redirectUri = `${publicUrl}/api/v1/auth/oidc/callback`
  const people = new Map<string, Person>()
  const server = createServer()
  await listen(server)
  const issuer = originOf(server)
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'stackquay',
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [`${publicUrl}/login`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['of-the-test'] },
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email'] },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    pkce: { required: () => true },
    async findAccount(_context: unknown, id: string) {
      const person = people.get(id)
      return person === undefined ? undefined : { accountId: id, claims: async () => ({ sub: id, ...person }) }
    },
    // biome-ignore lint/suspicious/noExplicitAny: the package has no types of its own.
  } as any)
  server.on('request', provider.callback())
  t.after(() => close(server))
  return {
    issuer,
    people,
    close: () => close(server),
    signIn: async (url, subject) => {
      const browser = createBrowser()
      let at = url
      for (let step = 0; step < 12; step++) {
        const answer = await browser.get(at)
        const location = answer.headers.get('location')
        if (location !== null) {
          at = new URL(location, at).href
          if (at.startsWith(redirectUri)) return at
          continue
        }
        const page = await answer.text()
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
        if (prompt === undefined) throw new Error(`The provider shows: ${page.slice(0, 500)}`)
        const form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login: subject, password: 'any' }) })
        const sent = await browser.post(/action="([^"]+)"/.exec(page)![1]!, form)
        at = new URL(sent.headers.get('location')!, at).href
        if (at.startsWith(redirectUri)) return at
      }
      throw new Error('The provider led around in a circle.')
    },
  }
}

function createBrowser() {
  const jar = new Map<string, string>()
  const ask = async (url: string, init: RequestInit): Promise<Response> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { cookie, accept: 'text/html' } })
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0]!.split('=', 2) as [string, string]
      jar.set(name, value)
    }
    return answer
  }
  return {
    get: (url: string) => ask(url, {}),
    post: (url: string, body: URLSearchParams) => ask(url, { method: 'POST', body }),
  }
}

export type Respond = (request: IncomingMessage, response: ServerResponse, body: string) => void | Promise<void>

/** A provider that says whatever it is told to. */
export interface HostileProvider {
  readonly issuer: string
  /** By path, in place of what it answers by itself. */
  readonly answers: Map<string, Respond>
  /** What it says of itself, in place of the truth. */
  metadata: Record<string, unknown>
  /** Its ID token, made of the nonce that it was asked with. */
  token: (nonce: string) => string
  claims(nonce: string): Record<string, unknown>
  signed(claims: object, header?: object, key?: KeyObject): string
  /** Another key from now on. */
  rotate(): void
  readonly asked: string[]
}

export async function openHostile(t: Pick<TestContext, 'after'>): Promise<HostileProvider> {
  const server = createServer()
  await listen(server)
  const issuer = originOf(server)
  const asked: string[] = []
  const answers = new Map<string, Respond>()
  let [pair, kid] = [generateKeyPairSync('rsa', { modulusLength: 2048 }), 'first']
  const own: HostileProvider = {
    issuer,
    answers,
    asked,
    metadata: {},
    claims: (nonce) => {
      const now = Math.floor(Date.now() / 1000)
      return { iss: issuer, sub: 'mallory', aud: 'stackquay', nonce, iat: now, exp: now + 300 }
    },
    token: (nonce) => own.signed(own.claims(nonce)),
    signed: (claims, header = {}, key = pair.privateKey) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const head = { alg: 'RS256', kid, ...header }
      const text = `${part(head)}.${part(claims)}`
      if (head.alg === 'none') return `${text}.`
      if (head.alg === 'HS256') return `${text}.${createHmac('sha256', clientSecret).update(text).digest('base64url')}`
      return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
    },
    rotate: () => {
      ;[pair, kid] = [generateKeyPairSync('rsa', { modulusLength: 2048 }), randomBytes(4).toString('hex')]
    },
  }
  const nonces = new Map<string, string>()
  const json = (response: ServerResponse, value: object) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  server.on('request', async (request, response) => {
    const url = new URL(request.url!, issuer)
    asked.push(url.pathname)
    let body = ''
    for await (const part of request) body += part
    const given = answers.get(url.pathname)
    if (given !== undefined) return void given(request, response, body)
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return void json(response, {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          ...own.metadata,
        })
      case '/keys':
        return void json(response, {
          keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }],
        })
      case '/auth': {
        const code = randomBytes(8).toString('hex')
        nonces.set(code, url.searchParams.get('nonce')!)
        const back = new URL(url.searchParams.get('redirect_uri')!)
        back.search = String(new URLSearchParams({ code, state: url.searchParams.get('state')! }))
        return void response.writeHead(303, { location: back.href }).end()
      }
      case '/token': {
        const code = new URLSearchParams(body).get('code') ?? ''
        const nonce = nonces.get(code) ?? ''
        nonces.delete(code)
        return void json(response, {
          access_token: 'a',
          token_type: 'Bearer',
          expires_in: 60,
          id_token: own.token(nonce),
        })
      }
      default:
        response.writeHead(404).end()
    }
  })
  t.after(() => close(server))
  return own
}

async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<unknown>((resolve) => server.close(resolve))
}

/** One browser tab in front of the service: what its page keeps, and the cookies of the service’s host. */
export function openTab(app: TestApp) {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  let cookie = ''
  const tab = {
    verifier,
    cookie: () => cookie,
    start: async (): Promise<string> => {
      const answer = await app.call('startOidc', { query: { challenge } })
      cookie = [answer.headers['set-cookie'] ?? []]
        .flat()
        .map((line) => String(line).split(';')[0])
        .join('; ')
      return String(answer.headers.location)
    },
    /** Answers the fragment that the page of the login gets. */
    callback: async (url: string, given = cookie): Promise<string> => {
      const query = Object.fromEntries(new URL(url).searchParams)
      const answer = await app.call('callbackOidc', {
        query,
        headers: { cookie: given, 'sec-fetch-site': 'cross-site' },
      })
      return new URL(String(answer.headers.location)).hash
    },
    finish: (hash: string, as = verifier) => {
      const code = new URLSearchParams(hash.slice(1)).get('oidc') ?? 'none'
      return app.call('finishOidc', { body: { code, verifier: as } })
    },
  }
  return tab
}

import { type ChallengeType, type DnsView, dns01, dnsProviderOf, http01, type Solver, tlsAlpn01 } from '@stackquay/acme'
import type { Config } from '../../config.ts'
import { request } from '../../http/node-http.ts'
import { checkedLookup } from '../../webhooks/post.ts'
import { addressBlocker } from '../../webhooks/receivers.ts'
import type { CertificateKeeper } from '../keeper.ts'
import type { AcmeSecrets, StoredAcme } from './stored.ts'

export interface ProofDeps {
  readonly certificates: Pick<CertificateKeeper, 'challenge'>
  readonly config: Pick<Config, 'proxy'>
  readonly now: () => Date
}

/** How names are proved with these settings. Answers stand at the proxy only while they are asked for. */
export function createProofs({ certificates, config, now }: ProofDeps) {
  const http = new Map<string, { readonly name: string; readonly token: string; readonly answer: string }>()
  const tls = new Map<string, { readonly name: string; readonly certificate: string; readonly key: string }>()
  const tell = () => certificates.challenge({ http01: [...http.values()], tlsAlpn01: [...tls.values()] })
  const solvers: Readonly<Record<ChallengeType, (settings: StoredAcme, secrets: AcmeSecrets) => Solver>> = {
    'http-01': (settings) =>
      http01(
        {
          publish: async (name, token, answer) => {
            http.set(`${name}/${token}`, { name, token, answer })
            await tell()
          },
          withdraw: async (name, token) => {
            http.delete(`${name}/${token}`)
            await tell()
          },
          check: (name, token, answer) => askProxy(config.proxy, name, token, answer),
        },
        viewOf(settings),
      ),
    'tls-alpn-01': (settings) =>
      tlsAlpn01(
        {
          publish: async (name, certificate, key) => {
            tls.set(name, { name, certificate, key })
            await tell()
          },
          withdraw: async (name) => {
            tls.delete(name)
            await tell()
          },
        },
        viewOf(settings),
        now,
      ),
    'dns-01': (settings, secrets) => {
      const kind = dnsProviderOf(settings.dns?.provider ?? '')
      if (kind === null) throw new Error('There is no DNS provider for DNS-01.')
      const all = kind.settings.parse({ ...settings.dns?.settings, ...secrets.dns })
      return dns01(kind.open(all, { now, lookup: checkedLookup(addressBlocker) }), viewOf(settings))
    },
  }
  return {
    solver: (settings: StoredAcme, secrets: AcmeSecrets): Solver => solvers[settings.challenge](settings, secrets),
  }
}

function viewOf({ resolvers }: StoredAcme): DnsView {
  return { servers: resolvers }
}

const waitMs = 5000
const pauseMs = 100

/** Each process of the proxy takes what it is told at a moment of its own. */
async function askProxy(proxy: Config['proxy'], name: string, token: string, answer: string): Promise<string | null> {
  if (proxy === null) return 'it is off'
  const deadline = performance.now() + waitMs
  for (;;) {
    const found = await ask(proxy, name, token).catch((error: unknown) => String(error))
    if (found === `200 ${answer}`) return null
    if (performance.now() > deadline) return found.slice(0, 200)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

function ask({ host, port }: NonNullable<Config['proxy']>, name: string, token: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const asked = request(
    {
      ...{ host: own, port, path: `/.well-known/acme-challenge/${token}`, headers: { host: name } },
      ...{ agent: false, signal: AbortSignal.timeout(waitMs) },
    },
    (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (text.length > 2000) response.destroy()
      })
      response.once('close', () => resolve(`${response.statusCode} ${text}`))
    },
  )
  asked.once('error', reject)
  asked.end()
  return promise
}

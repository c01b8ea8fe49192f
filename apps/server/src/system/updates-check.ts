import { request as httpsRequest } from 'node:https'
import type { DiagnosticCheck } from '@stackquay/contract'
import { compareVersions } from '../catalogue/version-lines.ts'
import { request as httpRequest } from '../http/node-http.ts'
import { checkedLookup } from '../webhooks/post.ts'
import { addressBlocker } from '../webhooks/receivers.ts'

export interface UpdatesCheckDeps {
  /** Where the newest release is told; null: nobody is asked. */
  readonly updateUrl: () => string | null
  readonly version: string
  readonly now: () => Date
}

interface Release {
  readonly version: string
  /** Where people read about it. */
  readonly url: string | null
}

/** Asked again after a day, and after an hour when nothing could be learnt. */
const goodMs = 24 * 60 * 60 * 1000
const failedMs = 60 * 60 * 1000
const timeoutMs = 5_000
const mostBytes = 256 * 1024

/**
 * Whether there is a newer version, by an address that an administrator chose: none is asked unless one did. The answer is JSON, either
 * `{version, url}` or the `tag_name` and `html_url` of a forge’s newest release. Nothing about this instance is sent but its version.
 */
export function createUpdatesCheck({ updateUrl, version, now }: UpdatesCheckDeps) {
  let known: { readonly of: string; readonly until: number; readonly found: Promise<Release | string> } | null = null
  return async (): Promise<readonly DiagnosticCheck[]> => {
    const address = updateUrl()
    if (address === null) return []
    if (known === null || known.of !== address || now().getTime() >= known.until) {
      const found = newestAt(address, version).catch((error: Error) => error.message)
      const asked = { of: address, until: now().getTime() + goodMs, found }
      known = asked
      if (typeof (await found) === 'string') known = { ...asked, until: now().getTime() + failedMs }
    }
    return [shown(await known.found, version, address)]
  }
}

function shown(found: Release | string, version: string, address: string): DiagnosticCheck {
  const made = { id: 'updates', category: 'system', title: 'Updates', fix: null } as const
  if (typeof found === 'string')
    return {
      ...made,
      status: 'warning',
      detail: `It is not known whether there is a newer version: ${found}`,
      hint: `Open ${address} in a browser, or take the setting "updateUrl" away.`,
    }
  if (compareVersions(found.version, version) <= 0)
    return { ...made, status: 'ok', detail: `${version} is the newest version.`, hint: null }
  const hint = `Make a backup of the instance, then update it.${found.url === null ? '' : ` What is new: ${found.url}`}`
  return { ...made, status: 'info', detail: `Version ${found.version} is there; this is ${version}.`, hint }
}

/** Redirects are not followed: the address was an administrator’s choice, another is not. */
async function newestAt(address: string, version: string): Promise<Release> {
  const target = new URL(address)
  const blocker = addressBlocker(target.hostname.replace(/^\[|\]$/g, ''))
  if (blocker !== null) throw new Error(blocker)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const signal = AbortSignal.timeout(timeoutMs)
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest
  const headers = { accept: 'application/json', 'user-agent': `Stackquay/${version}` }
  const asked = send(target, { agent: false, headers, signal, lookup: checkedLookup(addressBlocker) }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.length > mostBytes) response.destroy(new Error('The answer is too long.'))
    })
    response.on('error', reject)
    response.on('end', () =>
      response.statusCode === 200 ? resolve(text) : reject(new Error(`The answer was ${response.statusCode}.`)),
    )
  })
  asked.on('error', (error) => reject(signal.aborted ? new Error('There was no answer in time.') : error))
  asked.end()
  return releaseIn(await promise)
}

export function releaseIn(text: string): Release {
  let told: unknown
  try {
    told = JSON.parse(text)
  } catch {
    throw new Error('The answer is no JSON.')
  }
  const { version, url, tag_name: tag, html_url: page } = (told ?? {}) as Readonly<Record<string, unknown>>
  const named = /^v?(\d{1,6}(?:\.\d{1,6}){1,3}(?:-[0-9A-Za-z.-]{1,40})?)$/.exec(String(version ?? tag))?.[1]
  if (named === undefined) throw new Error('The answer names no version.')
  const read = URL.parse(String(url ?? page))
  return { version: named, url: read !== null && /^https?:$/.test(read.protocol) ? read.href : null }
}

import type { Client } from '@stackquay/client'
import type { Context } from './context.ts'
import { CliError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { ask, askHidden, isInteractive } from './prompt.ts'
import { isLocal } from './service-url.ts'

/**
 * For what no token may do, because what it makes would outlive the token and could do more: a session of the person, who gives the password. It
 * ends with the command, and nothing of it is kept. `page` is where the same is done in the browser.
 */
export async function inOwnSession<Result>(
  context: Context,
  { what, page }: { readonly what: string; readonly page: string },
  act: (client: Client, password: string) => Promise<Result>,
): Promise<Result> {
  const { world, signal } = context
  const url = await context.serviceUrl()
  const there = `${url}${page}`
  if (!isInteractive(world))
    throw new CliError(`${what} needs your password: no token may do it.`, {
      exitCode: exitCodes.denied,
      hint: `Run it on a terminal, where the password is asked for, or open ${there}`,
    })
  if (!isLocal(url) && url.startsWith('http:'))
    world.stderr.write(`${url} is not encrypted: others on the way can read the password. Use https.\n`)
  const known = await ownName(context)
  const typed = (await ask(world, known === null ? 'User: ' : `User [${known}]: `)).trim()
  const username = typed === '' ? (known ?? '') : typed
  const password = await askHidden(world, 'Password: ')
  const { createClient } = await import('@stackquay/client')
  const client = createClient({ ...(await context.publicConnection()), fetch: sessionFetch() })
  const answer = await client.call('login', { body: { username, password } }, { signal })
  if ('challenge' in answer) {
    const code = (await ask(world, 'Code of your authenticator app, or a recovery code: ')).trim()
    const proof = /^\d{6}$/.test(code) ? { code } : { recoveryCode: code }
    await client.call('loginSecond', { body: { challenge: answer.challenge, ...proof } }, { signal })
  }
  try {
    return await act(client, password)
  } finally {
    // It ends by itself too, only later.
    await client.call('logout', {}).catch(() => undefined)
  }
}

/** Of the token that is there, if one is. */
async function ownName(context: Context): Promise<string | null> {
  try {
    const client = await context.client()
    return (await client.call('getMe', {}, { signal: context.signal })).user
  } catch {
    context.signal.throwIfAborted()
    return null
  }
}

/** Keeps the two halves of the session that a log-in answers, and sends both with whatever comes after it. */
function sessionFetch(): typeof globalThis.fetch {
  let cookie: string | null = null
  let key: string | null = null
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (cookie !== null) headers.set('cookie', cookie)
    if (key !== null) headers.set('x-csrf-token', key)
    const response = await globalThis.fetch(input, { ...init, headers })
    if (cookie !== null || !response.ok) return response
    const { csrfToken } = (await response.clone().json()) as { readonly csrfToken?: string }
    // Between the two steps of a log-in there is no session.
    if (csrfToken === undefined) return response
    key = csrfToken
    cookie = response.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    return response
  }
}

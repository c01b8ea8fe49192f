import { createHmac, timingSafeEqual } from '../node-crypto.ts'
import type { RouteProject, RouteShare } from '../route-table.ts'
import { shareEndedError, sharePasswordError, tooManyAttemptsError } from './gate-errors.ts'
import { attemptsFor } from './password.ts'
import { errorAnswer, type GateAnswer, type Rule, type Visit } from './rule.ts'
import { passwords } from './verify-password.ts'

export const shareCookie = 'stackquay_share'
/** Where the form of the page is sent. */
export const shareFormPath = '/.stackquay/share'

/**
 * A share ends by this machine's clock, with or without new tables. Its password is asked for on a page; who has typed it carries a
 * cookie that only the hash can make, so it holds in every worker and after a restart, and for no other share.
 */
export function shareGate(share: RouteShare, project: RouteProject): Rule {
  const { passwordHash } = share
  const attempts = attemptsFor(`share ${project.id}`)
  const token = passwordHash === undefined ? '' : tokenOf(share.id, passwordHash)

  const ask = (wrong: boolean, next?: string) => errorAnswer(sharePasswordError(wrong, next))
  const take = async (visit: Visit, hash: string): Promise<GateAnswer> => {
    const form = await visit.form()
    const next = backTo(form?.get('next'))
    const given = form?.get('password') ?? ''
    if (given === '') return ask(false, next)
    return attempts.inTurn(visit.client, () => verify(visit, hash, given, next))
  }
  const verify = async (
    { client, now, proto }: Visit,
    hash: string,
    given: string,
    next: string,
  ): Promise<GateAnswer> => {
    const wait = attempts.waitOf(client, now)
    if (wait > 0) return errorAnswer(tooManyAttemptsError(wait))
    if (!(await passwords.verify(hash, given))) {
      attempts.failed(client, now)
      return ask(true, next)
    }
    attempts.succeeded(client)
    const seconds = Math.max(1, Math.floor((share.expiresAt - now) / 1000))
    const secure = proto === 'https' ? '; Secure' : ''
    return {
      status: 303,
      headers: [
        ['location', next],
        ['set-cookie', `${shareCookie}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`],
        ['cache-control', 'no-store'],
      ],
      error: null,
    }
  }
  return {
    check: (visit) => {
      if (visit.now >= share.expiresAt) return errorAnswer(shareEndedError)
      if (passwordHash === undefined) return null
      // Also from one who is in already: the password in a form of another tab is not for the application.
      if (visit.path === shareFormPath) return visit.method === 'POST' ? take(visit, passwordHash) : ask(false, '/')
      return hasToken(visit.headers.cookie, token) ? null : ask(false)
    },
  }
}

function tokenOf(id: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`share ${id}`).digest('base64url')
}

function hasToken(cookies: string | undefined, token: string): boolean {
  for (const part of cookies?.split(';') ?? []) {
    const [name, value] = part.trim().split('=', 2)
    if (name !== shareCookie || value === undefined) continue
    const given = Buffer.from(value)
    const wanted = Buffer.from(token)
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) return true
  }
  return false
}

/** Only paths of this very host, and not the form itself. */
function backTo(next: string | null | undefined): string {
  return next != null && next !== shareFormPath && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/'
}

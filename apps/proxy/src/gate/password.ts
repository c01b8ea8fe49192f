import type { RouteProject, RouteRules } from '../route-table.ts'
import { createAttempts } from './attempts.ts'
import { passwordError, tooManyAttemptsError } from './gate-errors.ts'
import { errorAnswer, type GateAnswer, type Rule, type Visit } from './rule.ts'
import { passwords } from './verify-password.ts'

/** Attempts outlive tables: a change of a rule gives no client new ones. */
const attemptsOf = new Map<string, ReturnType<typeof createAttempts>>()

export function attemptsFor(key: string) {
  const known = attemptsOf.get(key)
  if (known !== undefined) return known
  const made = createAttempts()
  attemptsOf.set(key, made)
  return made
}

/** Basic authentication, RFC 7617. */
export function passwordGate({ username, hash }: NonNullable<RouteRules['password']>, project: RouteProject): Rule {
  const attempts = attemptsFor(`project ${project.id}`)
  const refused: GateAnswer = errorAnswer(passwordError, [
    ['www-authenticate', 'Basic realm="Stackquay", charset="UTF-8"'],
  ])
  const isKnown = (given: Credentials) => given.username === username && passwords.known(hash, given.password)
  const verify = async ({ client, now }: Visit, given: Credentials): Promise<GateAnswer | null> => {
    // A page asks for all its pictures at once: the first of them was refused already.
    if (isKnown(given)) return null
    const wait = attempts.waitOf(client, now)
    if (wait > 0) return errorAnswer(tooManyAttemptsError(wait))
    // The hash is computed for a wrong name too, so that the time does not show which of the two it was.
    const isRight = await passwords.verify(hash, given.password)
    if (isRight && given.username === username) {
      attempts.succeeded(client)
      return null
    }
    attempts.failed(client, now)
    return refused
  }
  return {
    check: (visit) => {
      const given = readBasic(visit.headers.authorization)
      if (given === null) return refused
      return isKnown(given) ? null : attempts.inTurn(visit.client, () => verify(visit, given))
    },
  }
}

interface Credentials {
  readonly username: string
  readonly password: string
}

function readBasic(header: string | undefined): Credentials | null {
  const encoded = /^basic +([a-z0-9+/=]{1,4000})$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon === -1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

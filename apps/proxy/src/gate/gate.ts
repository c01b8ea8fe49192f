import type { IncomingHttpHeaders } from 'node:http'
import { type AddressSet, addressSet } from '../address-set.ts'
import type { Notice } from '../notices.ts'
import type { Route, RouteHeader } from '../route-table.ts'
import { corsGate } from './cors.ts'
import { forbiddenNotice } from './gate-notices.ts'
import { passwordGate } from './password.ts'
import { redirectGate } from './redirects.ts'
import { shareGate } from './share.ts'

/** One request in front of a project, as far as the gate looks at it. */
export interface Visit {
  /** Null: nobody knows, so no list lets it in. */
  readonly client: string | null
  readonly host: string
  /** Origin form with its query. */
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** `http` or `https`, as the client used it. */
  readonly proto: 'http' | 'https'
  /** Reads the body of a form, at most a few KB; null when there is none or it is none. */
  form(): Promise<URLSearchParams | null>
  readonly isUpgrade: boolean
  readonly now: number
}

/** What becomes of it. `by` names the rule that answered, for the access log. */
export type Verdict =
  | { readonly pass: true; readonly request: RequestChanges; readonly response: ResponseChanges | null }
  | { readonly pass: false; readonly by: RuleName; readonly answer: GateAnswer }

export type RuleName = 'share' | 'addresses' | 'cors' | 'password' | 'redirects'

/** Made with the gate, so that a request need not put the names together again. */
export interface HeaderChanges {
  readonly headers: readonly RouteHeader[]
  /** Of these headers, in lower case. */
  readonly names: ReadonlySet<string>
}

export interface RequestChanges extends HeaderChanges {
  /** The gate's own: they are not for the application. */
  readonly withoutAuthorization: boolean
  readonly withoutShareCookie: boolean
}

export interface ResponseChanges extends HeaderChanges {
  /** Added to `Vary`, which the application may have set. */
  readonly vary: string | null
}

export interface GateAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Shown as a page or a problem; null: the answer has no body. */
  readonly notice: Notice | null
}

/** Made once for each route of a table; null for a route that nothing stands in front of. */
export interface Gate {
  check(visit: Visit): Verdict | Promise<Verdict>
}

/** One thing that may stand in front. Null: it lets pass. */
export interface Rule {
  readonly name: RuleName
  check(visit: Visit): GateAnswer | null | Promise<GateAnswer | null>
}

/**
 * The order is part of the promise: share, addresses, CORS preflight, password, redirects, application. What a rule answers,
 * later ones never see; the headers of the answer, CORS among them, are changed only where the application answered.
 */
export function createGate({ rules, share, project }: Route): Gate | null {
  if (rules === undefined && share === undefined) return null
  const allowed = rules?.allow === undefined || rules.allow.length === 0 ? null : addressSet(rules.allow)
  const cors = rules?.cors === undefined ? null : corsGate(rules.cors)
  const shareRule = share === undefined ? null : shareGate(share, project)
  const list: readonly Rule[] = [
    ...(shareRule === null ? [] : [shareRule]),
    ...(allowed === null ? [] : [addressRule(allowed)]),
    ...(cors === null ? [] : [cors.preflight]),
    ...(rules?.password === undefined ? [] : [passwordGate(rules.password, project)]),
    ...(rules?.redirects === undefined || rules.redirects.length === 0 ? [] : [redirectGate(rules.redirects)]),
  ]
  const request: RequestChanges = {
    withoutAuthorization: rules?.password !== undefined,
    withoutShareCookie: share?.passwordHash !== undefined,
    ...headerChanges(rules?.requestHeaders ?? []),
  }
  const own = headerChanges(rules?.responseHeaders ?? [])
  const passedWithoutCors: Verdict = {
    pass: true,
    request,
    response: own.headers.length === 0 ? null : { ...own, vary: null },
  }

  const passed = (visit: Visit): Verdict => {
    if (cors === null) return passedWithoutCors
    const { headers, vary } = cors.responseChanges(visit)
    const all = [...headers.filter(({ name }) => !own.names.has(name)), ...own.headers]
    return { pass: true, request, response: { ...headerChanges(all), vary } }
  }
  const from = (visit: Visit, index: number): Verdict | Promise<Verdict> => {
    for (let at = index; at < list.length; at += 1) {
      const rule = list[at]!
      const answer = rule.check(visit)
      if (answer instanceof Promise) {
        return answer.then((late) =>
          late === null ? from(visit, at + 1) : { pass: false, by: rule.name, answer: late },
        )
      }
      if (answer !== null) return { pass: false, by: rule.name, answer }
    }
    return passed(visit)
  }
  return {
    check: (visit) => {
      try {
        return from(visit, 0)
      } catch (error) {
        // A rule that fails lets nobody in: whoever asked ends the connection.
        return Promise.reject(error)
      }
    },
  }
}

function headerChanges(headers: readonly RouteHeader[]): HeaderChanges {
  return { headers, names: new Set(headers.map(({ name }) => name.toLowerCase())) }
}

function addressRule(allowed: AddressSet): Rule {
  return {
    name: 'addresses',
    check: ({ client }) => (client !== null && allowed.has(client) ? null : noticeAnswer(forbiddenNotice)),
  }
}

export function noticeAnswer(notice: Notice, headers: GateAnswer['headers'] = []): GateAnswer {
  return { status: notice.status, headers, notice }
}

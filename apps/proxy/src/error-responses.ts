import type { PageName, PageTarget, Route, RouteProject, UpstreamTarget } from './route-table.ts'

/**
 * An answer of the proxy in a project’s place. A value; `answer.ts` makes a page or a problem document
 * (RFC 9457) of it. `code` is stable.
 */
export interface ErrorResponse {
  readonly status: number
  readonly code: ErrorCode
  readonly title: string
  /** One sentence about what is true. */
  readonly detail: string
  /** One sentence about what the person can do. */
  readonly hint: string
  /** How it looks: work under way moves, a fault is marked. */
  readonly tone: 'calm' | 'busy' | 'fault' | 'unknown'
  readonly retryAfter?: number
  /** The page asks again by itself, so that it turns into the project when that is up. */
  readonly refresh?: number
  readonly project?: RouteProject
  readonly logTail?: readonly string[]
  readonly dashboardUrl?: string
  /** One field that the page asks for. `next` is filled in where it is shown. */
  readonly form?: { readonly action: string; readonly label: string; readonly button: string; readonly next?: string }
}

export type ErrorCode =
  | `project_${PageName}`
  | 'upstream_unreachable'
  | 'upstream_broken'
  | 'upstream_timeout'
  | 'unknown_host'
  | 'bad_request'
  | 'misdirected'
  | 'request_timeout'
  | 'address_forbidden'
  | 'origin_forbidden'
  | 'password_required'
  | 'too_many_attempts'
  | 'share_ended'
  | 'share_password_required'
  | 'sign_in_required'

export function pageError({ project, target }: Route & { readonly target: PageTarget }): ErrorResponse {
  const page = pages[target.page]
  return {
    status: 503,
    code: `project_${target.page}`,
    title: target.title ?? page.title(project.name),
    detail: target.detail ?? page.detail,
    hint: page.hint,
    tone: page.tone,
    retryAfter: page.retryAfter,
    ...(page.refreshes && { refresh: page.retryAfter }),
    project,
    ...(target.logTail && target.logTail.length > 0 && { logTail: target.logTail }),
    ...(target.dashboardUrl !== undefined && { dashboardUrl: target.dashboardUrl }),
  }
}

export function unreachableError(project: RouteProject, target: UpstreamTarget): ErrorResponse {
  const isForStrangers = project.slug === ''
  return {
    status: 502,
    code: 'upstream_unreachable',
    title: `${project.name} is not answering`,
    detail: isForStrangers
      ? 'It runs, but it accepts no connections.'
      : `The project runs, but nothing accepts connections on port ${target.port}.`,
    hint: isForStrangers
      ? 'Reload this page in a moment.'
      : `Look at the project's logs. Make sure the program listens on the port it is given in PORT (${target.port}), then reload this page.`,
    tone: 'fault',
    retryAfter: 2,
    project,
  }
}

export function brokenError(project: RouteProject): ErrorResponse {
  return {
    status: 502,
    code: 'upstream_broken',
    title: `${project.name} broke off its answer`,
    detail: 'The project took the request and closed the connection without a complete, valid answer.',
    hint: "Look at the project's logs for a crash at this moment, then reload this page.",
    tone: 'fault',
    project,
  }
}

export function timeoutError(project: RouteProject, seconds: number): ErrorResponse {
  return {
    status: 504,
    code: 'upstream_timeout',
    title: `${project.name} takes too long`,
    detail: `The project took the request and sent nothing for ${seconds} seconds.`,
    hint: "Look at the project's logs for what it is waiting for, then try again.",
    tone: 'fault',
    project,
  }
}

export const unknownHostError: ErrorResponse = {
  status: 404,
  code: 'unknown_host',
  title: 'No project lives here',
  detail: 'This address does not belong to a project on this machine.',
  hint: 'Check the spelling. A project that was renamed or deleted no longer answers at its old address.',
  tone: 'unknown',
}

export function badRequestError(detail: string): ErrorResponse {
  return {
    status: 400,
    code: 'bad_request',
    title: 'This request cannot be understood',
    detail,
    hint: 'Send a well-formed HTTP/1.1 request with one Host header.',
    tone: 'fault',
  }
}

export const misdirectedError: ErrorResponse = {
  status: 421,
  code: 'misdirected',
  title: 'Another name was asked for',
  detail: 'The connection was made for a name with another certificate.',
  hint: 'Open a new connection for this name, and name it in the TLS handshake too.',
  tone: 'fault',
}

export const idleBodyError: ErrorResponse = {
  status: 408,
  code: 'request_timeout',
  title: 'The request did not arrive completely',
  detail: 'The client stopped sending the body of its request.',
  hint: 'Send the request again.',
  tone: 'fault',
}

interface PageText {
  title(name: string): string
  readonly detail: string
  readonly hint: string
  readonly tone: ErrorResponse['tone']
  readonly retryAfter: number
  readonly refreshes: boolean
}

const pages: Readonly<Record<PageName, PageText>> = {
  stopped: {
    title: (name) => `${name} is stopped`,
    detail: 'The project exists and nothing of it is lost. It is not running.',
    hint: 'Start it, and it answers at this address again.',
    tone: 'calm',
    retryAfter: 10,
    refreshes: false,
  },
  starting: {
    title: (name) => `${name} is starting`,
    detail: 'The program is on its way up.',
    hint: 'This page turns into the project as soon as it answers.',
    tone: 'busy',
    retryAfter: 1,
    refreshes: true,
  },
  sleeping: {
    title: (name) => `${name} is asleep`,
    detail: 'Nobody used it for a while. Your request wakes it, but it has not answered in time.',
    hint: 'This page asks again by itself. If it stays, start the project in Stackquay.',
    tone: 'busy',
    retryAfter: 2,
    refreshes: true,
  },
  waiting: {
    title: (name) => `${name} is waiting`,
    detail: 'The project waits for something it depends on.',
    hint: 'This page turns into the project as soon as it answers.',
    tone: 'busy',
    retryAfter: 2,
    refreshes: true,
  },
  creating: {
    title: (name) => `${name} is being set up`,
    detail: 'Its files and dependencies are being put in place.',
    hint: 'This page turns into the project as soon as it answers.',
    tone: 'busy',
    retryAfter: 2,
    refreshes: true,
  },
  failed: {
    title: (name) => `${name} did not start`,
    detail: 'The program ended before it could answer.',
    hint: 'Read its last output, fix the problem, and start it again.',
    tone: 'fault',
    retryAfter: 10,
    refreshes: false,
  },
}

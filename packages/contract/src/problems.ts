/**
 * Every problem the API can answer. `type` is `urn:stackquay:problem:<code>`; codes are stable: changing or
 * removing one is a breaking change. `hint` is the general advice; `detail` of an answer is the fact of that moment.
 */
export interface ProblemKind {
  readonly status: number
  readonly title: string
  readonly hint: string
  /** Whether the same request may succeed later without a change by the caller. */
  readonly retryable: boolean
}

export const problemKinds = {
  invalid_json: kind(400, 'The body is not valid JSON', 'Send a JSON object.'),
  invalid_request: kind(400, 'The request is malformed', 'Compare the request with the reference.'),
  unauthorized: kind(
    401,
    'Credentials are missing or not valid',
    'Send "Authorization: Bearer <token>", or log in. A session needs its cookie together with X-CSRF-Token.',
  ),
  login_failed: kind(401, 'User name or password is wrong', 'Check both and try again.'),
  sign_in_failed: kind(401, 'The sign-in by the provider did not succeed', 'Begin again; see "detail".'),
  second_factor_failed: kind(401, 'The second factor does not hold', 'Try again with a new code, or another factor.'),
  challenge_invalid: kind(401, 'The challenge is over', 'Begin again.'),
  ticket_invalid: kind(
    401,
    'The ticket is not valid for this',
    'Ask POST /auth/tickets for a new one and open it at once.',
  ),
  scope_insufficient: kind(403, 'The token’s scope is too low', 'Use a token with the required scope.'),
  role_insufficient: kind(403, 'Your role is too low', 'Ask an administrator.'),
  project_forbidden: kind(
    403,
    'The project is closed to you',
    'Ask an administrator, or use a token for this project.',
  ),
  token_restricted: kind(403, 'The token is restricted to projects', 'Use a token without a project restriction.'),
  enrolment_required: kind(403, 'A second factor must be set up first', 'Log in to the web page and set one up.'),
  person_limited: kind(403, 'Your role holds on some projects only', 'Ask an administrator of the whole instance.'),
  session_required: kind(403, 'Only possible with a browser session', 'Log in to the web page and do it there.'),
  csrf_failed: kind(403, 'The request may come from another site', 'Open the page under the address of this service.'),
  setup_code_wrong: kind(
    403,
    'The set-up code is wrong',
    'Take the code from the service’s output or its home folder.',
  ),
  signature_invalid: kind(
    403,
    'The signature is not that of this webhook',
    'Give the forge the secret of the webhook, or make another.',
  ),
  not_found: kind(404, 'Not found', 'Check the id.'),
  method_not_allowed: kind(405, 'Method not allowed', 'See the reference for the methods of this path.'),
  busy: kind(409, 'Another operation holds the project', 'Wait for it, or cancel it.', true),
  conflict: kind(409, 'It conflicts with what is there', 'Choose another, or clear what is in the way.'),
  nothing_to_apply: kind(409, 'The newest settings are applied', 'There is nothing to do.'),
  cannot_revert: kind(409, 'The settings cannot be reverted', 'Apply the newest ones, or change them.'),
  not_running: kind(409, 'It is not running', 'Start the project, then try again.', true),
  last_admin: kind(409, 'The last administrator cannot be removed', 'Make another user an administrator first.'),
  secret_key_external: kind(
    409,
    'The secret key comes from the environment',
    'Replace it in its source; see "detail".',
  ),
  setting_external: kind(
    409,
    'The environment holds the setting',
    'Change the variable where the service is started, or take it away there.',
  ),
  already_set_up: kind(409, 'The service is already set up', 'Log in.'),
  idempotency_in_progress: kind(409, 'The first request with this key is still running', 'Wait, then try again.', true),
  too_old: kind(410, 'The requested position is no longer kept', 'Read the present state and follow from there.'),
  precondition_failed: kind(412, 'It was changed in the meantime', 'Read it again, then repeat the change.'),
  too_large: kind(413, 'The body is too large', 'Send at most 1 MiB.'),
  unsupported_media_type: kind(415, 'The body’s media type is not supported', 'Send application/json.'),
  validation_failed: kind(422, 'The body has fields that are not valid', 'See "errors" for each of them.'),
  manifest_invalid: kind(422, 'The project file is not valid', 'See "errors" for line and column.'),
  idempotency_mismatch: kind(422, 'The idempotency key was used for another request', 'Use a new key.'),
  engine_cannot: kind(422, 'The engine cannot do this', 'See "detail" for the missing part.'),
  unavailable_here: kind(422, 'Not available on this machine', 'Install the missing program.'),
  passkey_unavailable: kind(
    422,
    'Passkeys do not work at this address',
    'Open the page under its public URL or localhost.',
  ),
  path_forbidden: kind(422, 'The folder may not be used', 'Choose a folder inside the allowed roots.'),
  source_failed: kind(422, 'The source code could not be fetched', 'See "detail" for the message of git.'),
  git_refused: kind(409, 'The repository is not in a state for this', 'See "detail" for what stands in the way.'),
  hook_failed: kind(422, 'A hook of the project failed', 'See "detail"; its output is with the step.'),
  deploy_unhealthy: kind(422, 'The project is not well with the new commit', 'See "detail", and its logs.'),
  backup_damaged: kind(422, 'The backup is damaged', 'Take another one; see "detail" for the part.'),
  backup_locked: kind(
    422,
    'The backup’s settings are sealed with another secret key',
    'Start an instance with the secret key that it was made with (STACKQUAY_SECRET_KEY), or restore it where it was made.',
  ),
  dump_unreadable: kind(422, 'The dump cannot be read', 'Export it again, whole and of one database; see "detail".'),
  query_failed: kind(422, 'The database refuses the statement', 'See "detail" for its words.'),
  target_unreachable: kind(
    503,
    'The backup target does not answer',
    'Look whether it is reachable, then try again.',
    true,
  ),
  target_refused: kind(422, 'The backup target refuses', 'See "detail"; check its settings, credentials and rights.'),
  target_full: kind(
    507,
    'The backup target has no room',
    'Make room on it, then try again: what was sent stays.',
    true,
  ),
  target_changed: kind(409, 'The backup target is not the one that it was', 'See "detail" for what differs.'),
  target_locked: kind(422, 'The passphrase of the backup target is missing or wrong', 'Send its passphrase.'),
  remote_unreachable: kind(
    503,
    'Where it is pulled from does not answer',
    'Look whether it is reachable, then try again.',
    true,
  ),
  remote_refused: kind(
    422,
    'It cannot be pulled',
    'See "detail"; check the source in the settings, and the rights there.',
  ),
  remote_changed: kind(
    409,
    'The machine shows another host key',
    'Ask whoever runs it. Change "hostKey" of the source only when the new key is told by somebody you trust.',
  ),
  precondition_required: kind(428, 'This change needs If-Match', 'Read the resource and send its ETag.'),
  throttled: kind(429, 'Too many attempts', 'Wait for the seconds in Retry-After, then try again.', true),
  headers_too_large: kind(
    431,
    'The request’s headers are too large',
    'Send fewer or shorter headers. In a browser, delete the cookies of this host.',
  ),
  internal_error: kind(500, 'The service failed', 'Try again; if it happens again, report the requestId.', true),
  unavailable: kind(503, 'The service cannot answer now', 'Try again a little later.', true),
  // Reasons an operation (start, stop, …) failed; they appear in `operation.error`, not as an HTTP status.
  port_in_use: kind(409, 'A port is used by another program', 'Stop that program, or choose another port.', true),
  program_not_found: kind(422, 'A program is missing', 'Install it.'),
  image_not_found: kind(
    422,
    'An image is not there',
    'Check its name and version, and the credentials of its registry.',
  ),
  image_unavailable: kind(
    503,
    'An image could not be fetched',
    'Check the connection to its registry, then try again.',
    true,
  ),
  job_failed: kind(422, 'A command failed', 'See the last lines of its output.'),
  job_timeout: kind(422, 'A command took too long', 'See the last lines of its output.'),
  exited_early: kind(422, 'The program ended right after its start', 'See the last lines of its log.'),
  out_of_memory: kind(422, 'Memory ran out', 'Raise the memory limit of the project, or make it use less.'),
  never_ready: kind(422, 'The program did not become ready', 'See the last lines of its log.'),
  disk_full: kind(507, 'The disk is full', 'Free some space and try again.', true),
  engine_unavailable: kind(503, 'The engine does not answer', 'See GET /system/diagnostics.', true),
  aborted: kind(409, 'It was cancelled', 'Start it again.'),
  deadline_exceeded: kind(504, 'It took longer than allowed', 'See its steps for the one that waited.', true),
  interrupted: kind(503, 'The service was ended more than once while this ran', 'Start it again.', true),
  io_failed: kind(500, 'Reading or writing failed', 'See "detail".', true),
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof problemKinds

function kind(status: number, title: string, hint: string, retryable = false): ProblemKind {
  return { status, title, hint, retryable }
}

export interface FieldError {
  /** JSON pointer into the body: `/node/version`. */
  readonly pointer: string
  readonly code: string
  readonly detail: string
  /** Position in a project file. */
  readonly line?: number
  readonly column?: number
}

/** RFC 9457 problem details with our members. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly code: ProblemCode
  readonly hint: string
  readonly requestId?: string
  readonly retryable: boolean
  readonly errors?: readonly FieldError[]
  readonly [extension: string]: unknown
}

/** Thrown by handlers; the HTTP layer turns it into an answer. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly hint: string | undefined
  readonly errors: readonly FieldError[] | undefined
  /** Further members of the answer: `tokenScope`, `operation`, `logTail`. */
  readonly extensions: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    detail: string,
    options: {
      hint?: string
      errors?: readonly FieldError[]
      extensions?: Readonly<Record<string, unknown>>
      headers?: Readonly<Record<string, string>>
      cause?: unknown
    } = {},
  ) {
    super(detail, { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.errors = options.errors
    this.extensions = options.extensions ?? {}
    this.headers = options.headers ?? {}
  }
}

export function problemOf(error: ProblemError, request: { requestId?: string; instance?: string } = {}): Problem {
  const { status, title, hint, retryable } = problemKinds[error.code]
  return {
    type: `urn:stackquay:problem:${error.code}`,
    title,
    status,
    detail: error.message,
    ...(request.instance === undefined ? {} : { instance: request.instance }),
    code: error.code,
    hint: error.hint ?? hint,
    ...(request.requestId === undefined ? {} : { requestId: request.requestId }),
    retryable,
    ...(error.errors === undefined ? {} : { errors: error.errors }),
    ...error.extensions,
  }
}

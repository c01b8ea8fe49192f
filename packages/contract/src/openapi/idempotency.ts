import type { Operation } from '../operation.ts'

/**
 * Answers that hold secrets are never stored, so a key means nothing to these. A repetition still does no harm: a second
 * token or backup target of the same name is a `conflict`, a second set-up `already_set_up`, a second login one more session; a second
 * replacement of the key needs the password again, so it is never repeated by accident.
 */
const unkept: readonly string[] = [
  'createToken',
  'createBackupTarget',
  'createTicket',
  'openServicePage',
  'login',
  'inviteUser',
  'finishOidc',
  'logoutOidc',
  'loginSecond',
  'loginWithPasskey',
  'beginPasskeyLogin',
  'beginTotp',
  'confirmTotp',
  'replaceRecoveryCodes',
  'beginPasskey',
  'addPasskey',
  'completeSetup',
  'revealSecretKey',
  'replaceSecretKey',
]

/** An answer that comes line by line, as long as its reader takes it, cannot be stored either. */
export function takesIdempotencyKey({ method, id, resultType, bodyStream, rawBody }: Operation): boolean {
  // What a key stands for is told by its body, and a stream of any size is not read for that.
  if (bodyStream === true || rawBody === true) return false
  return method === 'POST' && !unkept.includes(id) && resultType !== 'application/x-ndjson'
}

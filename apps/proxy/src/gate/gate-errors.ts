import type { ErrorResponse } from '../error-responses.ts'

// Strangers read these: no name, no state and no output of the project.

export const forbiddenError: ErrorResponse = {
  status: 403,
  code: 'address_forbidden',
  title: 'Not from here',
  detail: 'Only certain addresses may open this.',
  hint: 'Ask the owner to allow yours.',
  tone: 'calm',
}

export const shareEndedError: ErrorResponse = {
  status: 410,
  code: 'share_ended',
  title: 'This share has ended',
  detail: 'It was shared for a limited time.',
  hint: 'Ask the sender of this address for a new one.',
  tone: 'calm',
}

export const passwordError: ErrorResponse = {
  status: 401,
  code: 'password_required',
  title: 'A password is needed',
  detail: 'User name and password are missing or wrong.',
  hint: 'Send them with basic authentication.',
  tone: 'calm',
}

export function tooManyAttemptsError(seconds: number): ErrorResponse {
  return {
    status: 429,
    code: 'too_many_attempts',
    title: 'Too many attempts',
    detail: 'Too many wrong passwords came from your address.',
    hint: `Try again in ${seconds} seconds.`,
    tone: 'calm',
    retryAfter: seconds,
  }
}

/** `next`: where the person wanted to go; absent: to this very page. */
export function sharePasswordError(wrong: boolean, next?: string): ErrorResponse {
  return {
    status: wrong ? 403 : 401,
    code: 'share_password_required',
    title: 'A password, please',
    detail: wrong ? 'That was not the password.' : 'The sender of this address has set a password.',
    hint: 'Type it once; it holds until the share ends.',
    tone: 'calm',
    form: { action: '/.stackquay/share', label: 'Password', button: 'Open', ...(next !== undefined && { next }) },
  }
}

export const signInError: ErrorResponse = {
  status: 401,
  code: 'sign_in_required',
  title: 'Please sign in',
  detail: 'This address is for people who are signed in to Stackquay.',
  hint: 'Open it in a browser, and sign in there.',
  tone: 'calm',
}

export const foreignOriginError: ErrorResponse = {
  status: 403,
  code: 'origin_forbidden',
  title: 'Not from that page',
  detail: 'Pages of other addresses may lead here, and nothing else.',
  hint: 'Open this address by itself.',
  tone: 'calm',
}

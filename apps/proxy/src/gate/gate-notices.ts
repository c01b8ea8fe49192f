import type { Notice } from '../notices.ts'

// What strangers read: no name, no state and no output of the project.

export const forbiddenNotice: Notice = {
  status: 403,
  code: 'address_forbidden',
  title: 'Not from here',
  detail: 'Only certain addresses may open this.',
  hint: 'Ask whoever runs it to let yours in.',
  tone: 'calm',
}

export const shareEndedNotice: Notice = {
  status: 410,
  code: 'share_ended',
  title: 'This share has ended',
  detail: 'What was shown here was shown for a while only.',
  hint: 'Ask whoever sent you the address for a new one.',
  tone: 'calm',
}

export const passwordNotice: Notice = {
  status: 401,
  code: 'password_required',
  title: 'A password is needed',
  detail: 'User name and password are missing or wrong.',
  hint: 'Send them with basic authentication.',
  tone: 'calm',
}

export function tooManyAttemptsNotice(seconds: number): Notice {
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
export function sharePasswordNotice(wrong: boolean, next?: string): Notice {
  return {
    status: wrong ? 403 : 401,
    code: 'share_password_required',
    title: 'A password, please',
    detail: wrong ? 'That was not the password.' : 'Whoever sent you this address has set a password.',
    hint: 'Type it once; it holds until the share ends.',
    tone: 'calm',
    form: { action: '/.stackquay/share', label: 'Password', button: 'Open', ...(next !== undefined && { next }) },
  }
}

import { isIP } from 'node:net'
import { createTransport } from 'nodemailer'
import { addressBlocker } from '../../../webhooks/receivers.ts'
import type { OutgoingMessage, Outside, SendOutcome } from '../../channel-kind.ts'

interface MailSettings {
  readonly host: string
  readonly port: number
  readonly security: 'starttls' | 'tls' | 'none'
  readonly user: string | null
  readonly password: string | null
  readonly from: string
  readonly to: readonly string[]
}

const connectMs = 10_000
const silenceMs = 20_000

/** One connection for one mail. */
export async function sendMail(
  message: OutgoingMessage,
  { host, port, security, user, password, from, to }: MailSettings,
  outside: Outside,
): Promise<SendOutcome> {
  const transport = createTransport({
    // The address that was looked at is the one that is used.
    host: await addressOf(host, outside),
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
    tls: { ...(isIP(host) === 0 ? { servername: host } : {}), rejectUnauthorized: true },
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const stop = () => transport.close()
  outside.signal.addEventListener('abort', stop, { once: true })
  try {
    await transport.sendMail({
      from: { name: 'Stackquay', address: from },
      to: [...to],
      subject: message.title.replaceAll(/\p{Cc}+/gu, ' '),
      // The same in every attempt: a server that has it already drops the second.
      messageId: `<${message.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
      date: new Date(message.at),
      headers: { 'Auto-Submitted': 'auto-generated' },
      ...(message.urgent ? { priority: 'high' as const } : {}),
      text: `${message.text}\n\n${message.link}\n`,
      html: htmlOf(message),
    })
    return { status: null, error: null, retryAfterSeconds: null }
  } finally {
    outside.signal.removeEventListener('abort', stop)
    transport.close()
  }
}

function addressOf(host: string, { lookup: checked }: Outside): Promise<string> {
  if (isIP(host) !== 0) {
    const blocker = addressBlocker(host)
    return blocker === null ? Promise.resolve(host) : Promise.reject(new Error(blocker))
  }
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  checked(host, { all: false }, (error, address) => {
    if (error !== null) reject(error)
    else resolve(String(address))
  })
  return promise
}

function htmlOf({ title, text, link }: OutgoingMessage): string {
  const lines = text === '' ? [] : text.split('\n')
  return [
    '<!doctype html><meta charset="utf-8"><body style="font-family:sans-serif">',
    `<h2>${escapeText(title)}</h2>`,
    ...lines.map((line) => `<p>${escapeText(line)}</p>`),
    `<p><a href="${escapeText(link)}">Open in Stackquay</a></p></body>`,
  ].join('\n')
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

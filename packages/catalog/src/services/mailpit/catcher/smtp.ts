import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { inboxLimits } from './inbox-terms.ts'
import type { Reader } from './reader.ts'
import type { Incoming, MailStore } from './store.ts'

export interface SmtpListener {
  /** Ends when messages that were arriving are kept, or refused. */
  close(): Promise<void>
}

/**
 * Takes every message: it delivers none, so there is no recipient to protect. Credentials are accepted whatever
 * they are, so that a program runs here with the settings it has elsewhere. A message is acknowledged when it is on the disk.
 */
export async function openSmtp(port: number, host: string, store: MailStore, reader: Reader): Promise<SmtpListener> {
  const arriving = new Set<Promise<void>>()
  const server = new SMTPServer({
    name: 'localhost',
    banner: 'Mail catcher, delivers nothing',
    size: inboxLimits.messageBytes,
    // Without a certificate that clients could trust, an offer of TLS would only make them fail.
    hideSTARTTLS: true,
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    authMethods: ['PLAIN', 'LOGIN', 'CRAM-MD5'],
    maxAllowedUnauthenticatedCommands: false,
    lenientAddressParsing: true,
    disableReverseLookup: true,
    maxClients: 500,
    maxRecipients: 10_000,
    socketTimeout: 5 * 60_000,
    closeTimeout: 2_000,
    logger: false,
    onAuth: (auth, _session, done) => done(null, { user: auth.username ?? 'anybody' }),
    onData: (stream, session, done) => {
      const taken = take(stream, session, store, reader).then(
        (answer) => done(null, answer),
        (error: RefusedMail) => done(Object.assign(new Error(error.message), { responseCode: error.responseCode })),
      )
      arriving.add(taken)
      taken.finally(() => arriving.delete(taken))
    },
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // From here on errors are those of single connections: clients that went away, or that do not speak SMTP.
      server.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') console.error(`SMTP: ${error.message}`)
      })
      resolve()
    })
  })
  return {
    close: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await Promise.allSettled(arriving)
    },
  }
}

async function take(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  store: MailStore,
  reader: Reader,
): Promise<string> {
  const { mailFrom, rcptTo } = session.envelope
  const envelope = { from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address) }
  let incoming: Incoming | null = null
  let failure: Error | null = null
  try {
    incoming = await store.begin()
  } catch (error) {
    failure = error as Error
  }
  try {
    // A message that will be refused is still read to its end: the answer has its place there, and nowhere before.
    for await (const chunk of stream) {
      if (failure !== null || incoming === null || stream.sizeExceeded) continue
      await incoming.write(chunk).catch((error: Error) => {
        failure = error
      })
    }
    if (stream.sizeExceeded) throw new RefusedMail(552, `The message is larger than ${inboxLimits.messageBytes} bytes.`)
    if (failure !== null) throw failure
    await incoming?.finish()
    const digest = await reader.digest(incoming?.path ?? '')
    await incoming?.keep(digest, envelope)
    return 'OK: the message is kept'
  } catch (error) {
    await incoming?.drop().catch(() => {})
    throw refusalOf(error as NodeJS.ErrnoException)
  }
}

class RefusedMail extends Error {
  readonly responseCode: number
  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

/** 452 is "insufficient storage, try later" (RFC 5321): a client that queues keeps the message. */
function refusalOf(error: NodeJS.ErrnoException): RefusedMail {
  if (error instanceof RefusedMail) return error
  const clientLeft = error.code === 'ECONNECTION' || error.code === 'ERR_STREAM_PREMATURE_CLOSE'
  if (!clientLeft) console.error(`A message could not be kept: ${error.message}`)
  const full = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(error.code ?? '') || /disk is full/.test(error.message)
  return new RefusedMail(
    452,
    full
      ? 'The disk is full: the message was not kept. Free space, and send it again.'
      : 'The message could not be kept.',
  )
}

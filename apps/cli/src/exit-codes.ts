/** What a script can rely on. Pinned by a test; changing one is a breaking change. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  denied: 3,
  notFound: 4,
  conflict: 5,
  unreachable: 6,
  timedOut: 7,
  notRun: 125,
  programNotFound: 127,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: 'It was done.',
  failed: 'It failed: an operation failed or was cancelled, or the service refused for a reason not listed below.',
  usage: 'The command line was wrong; nothing was sent.',
  denied: 'Not logged in, or the token may not do this.',
  notFound: 'What was named does not exist: a project, an operation, a database, a service, a mail.',
  conflict: 'Something else holds it: another operation, or the name is taken.',
  unreachable: 'The service does not answer.',
  timedOut: 'The time to wait is over. The operation continues.',
  notRun:
    'With run, test, exec and shell, whose other codes are the program’s: it could not be run, or its end is not known.',
  programNotFound: 'With exec: there is no such program.',
  interrupted: 'Interrupted with Ctrl-C. A running operation continues.',
}

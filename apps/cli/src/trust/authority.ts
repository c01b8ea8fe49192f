import { X509Certificate } from 'node:crypto'
import { apiPrefix } from '@stackquay/client'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { plainText } from '../output/plain-text.ts'
import { permittedDomains } from './constraints.ts'

export const authorityPath = `${apiPrefix}/settings/tls/ca.crt`

export interface OfferedAuthority {
  readonly pem: string
  readonly name: string
  readonly fingerprint: string
  readonly domains: readonly string[]
}

/** The authority of the service; null when it has none. Throws for one that could speak for more than private names. */
export async function fetchAuthority(context: Context): Promise<OfferedAuthority | null> {
  const { baseUrl } = await context.publicConnection()
  const answer = await fetch(`${baseUrl}${authorityPath}`, { signal: context.signal, redirect: 'error' }).catch(
    (error: unknown) => {
      const hint = 'Is the service running? See: stq login --help'
      throw new CliError(`${plainText(baseUrl)} does not answer.`, {
        exitCode: exitCodes.unreachable,
        hint,
        cause: error,
      })
    },
  )
  if (answer.status === 404) return null
  if (!answer.ok) throw new CliError(`The service answered ${answer.status}.`, { exitCode: exitCodes.failed })
  return readAuthority(await answer.text())
}

export function readAuthority(pem: string): OfferedAuthority {
  const read = parse(pem)
  const name = /^CN=(Stackquay local CA [0-9a-f]{8})$/m.exec(read?.subject ?? '')?.[1]
  if (read === null || !read.ca || name === undefined || !read.verify(read.publicKey))
    throw refused('What the service answered is not the certificate of an authority of Stackquay.')
  const domains = permittedDomains(read.raw)
  if (domains === null)
    throw refused('That authority is not limited to any domains: it could speak for the whole internet.')
  return { pem: read.toString(), name, fingerprint: read.fingerprint256, domains }
}

function parse(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}

function refused(detail: string): CliError {
  return new CliError(detail, { exitCode: exitCodes.failed, hint: 'Nothing was changed. Do not trust it.' })
}

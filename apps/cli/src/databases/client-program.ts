/** A client program of a database, and how it is told where to connect. Secrets are in its environment alone. */
export interface ClientProgram {
  /** Of several names the first that is found. */
  readonly names: readonly string[]
  readonly arguments: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Address {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly database: string
  readonly username: string | null
  readonly password: string | null
}

/** By the scheme of its URL, which says what protocol it speaks. Null for one without a client. */
export function clientProgram({ url, host, port, database, username, password }: Address): ClientProgram | null {
  const scheme = url.slice(0, url.indexOf(':'))
  if (/^postgres/.test(scheme))
    return {
      names: ['psql'],
      arguments: [],
      env: {
        PGHOST: host,
        PGPORT: String(port),
        PGDATABASE: database,
        PGUSER: username ?? '',
        PGPASSWORD: password ?? '',
      },
    }
  if (/^my/.test(scheme))
    return {
      names: [`maria${'db'}`, `my${'sql'}`],
      arguments: ['--protocol=TCP', `--host=${host}`, `--port=${port}`, `--user=${username ?? ''}`, database],
      env: { MYSQL_PWD: password ?? '' },
    }
  if (/^rediss?$/.test(scheme))
    return {
      names: ['redis-cli'],
      arguments: ['-h', host, '-p', String(port), ...(scheme.endsWith('ss') ? ['--tls'] : [])],
      env: { REDISCLI_AUTH: password ?? '' },
    }
  return null
}

import type { DumpMode, DumpNote } from '../../../dump-method.ts'
import type { Decision, Dialect } from '../../../dumps/dialect.ts'
import type { Notes } from '../../../dumps/notes.ts'

/** Text of pg_dump, as psql reads it. */
export function dialect({ mode, key }: { readonly mode: DumpMode; readonly key: string }): Dialect {
  const connected = new Set<string>()
  let rollback: number | null = null
  return {
    hasEscapes: false,
    isStandard: true,
    isMysql: false,
    looksAt,
    skips: [],
    frames,
    // Only psql in its restricted mode knows it; see the load script.
    ending: `\\unrestrict ${key}\n`,
    decide(text, line, notes) {
      const statement = withoutComments(text)
      if (mode === 'append' && /^(ROLLBACK|ABORT|SAVEPOINT|PREPARE TRANSACTION)\b/i.test(statement)) rollback ??= line
      return decide(statement, text, line, mode, notes)
    },
    command(text, line, notes) {
      const [name = '', argument = ''] = text.slice(1).split(/\s+/)
      if (name === 'restrict' || name === 'unrestrict') return
      if (name !== 'c' && name !== 'connect') return notes.add('client', text, line)
      const database = argument.replace(/^(["'])(.*)\1$/, '$2').replace(/^-reuse-previous=.*/, '')
      if (database !== '' && !ownOfCluster.has(database)) connected.add(database)
      notes.add('database', text, line)
    },
    blocker() {
      if (connected.size > 1)
        return `The dump holds several databases: ${[...connected].slice(0, 10).join(', ')}. Export one of them alone.`
      if (rollback !== null)
        return `Line ${rollback} ends or divides a transaction, and what comes to a database comes as one. Take that out, or replace the database.`
      return null
    },
  }
}

/** pg_dumpall connects to them, and has nothing to put there. */
const ownOfCluster: ReadonlySet<string> = new Set(['template1', 'postgres'])

const looksAt: ReadonlySet<string> = new Set(
  'ABORT ALTER BEGIN COMMENT COMMIT COPY CREATE DROP END GRANT PREPARE REASSIGN RESET REVOKE ROLLBACK SAVEPOINT SET START'.split(
    ' ',
  ),
)

const frames = [
  {
    begins: /^(?:\s|\\restrict \w+|--)*-- PostgreSQL database dump\s/,
    ends: /-- PostgreSQL database (cluster )?dump complete/,
    shown: '-- PostgreSQL database dump complete',
  },
  {
    begins: /^(?:\s|\\restrict \w+|--)*-- PostgreSQL database cluster dump\s/,
    ends: /-- PostgreSQL database cluster dump complete/,
    shown: '-- PostgreSQL database cluster dump complete',
  },
] as const

interface Rule {
  readonly matches: RegExp
  readonly kind: DumpNote['kind']
  /** What of it is shown, so that those that are alike are counted together. */
  shown?(statement: string): string
}

const rules: readonly Rule[] = [
  { matches: /^(CREATE|ALTER|DROP) DATABASE\b/i, kind: 'database', shown: (text) => firstWords(text, /IF EXISTS/i) },
  { matches: /^COMMENT ON DATABASE\b/i, kind: 'database' },
  { matches: /^(CREATE|ALTER|DROP) (ROLE|GROUP|USER(?! MAPPING))\b/i, kind: 'role', shown: (text) => firstWords(text) },
  { matches: /^COMMENT ON ROLE\b/i, kind: 'role' },
  { matches: /^(SET|RESET) ((SESSION|LOCAL) )?(ROLE|SESSION AUTHORIZATION)\b/i, kind: 'role' },
  { matches: /^(DROP|REASSIGN) OWNED\b/i, kind: 'role' },
  { matches: /^ALTER DEFAULT PRIVILEGES\b/i, kind: 'owner', shown: () => 'ALTER DEFAULT PRIVILEGES' },
  {
    matches: /^ALTER [^;]* OWNER TO \S+ ?;?$/i,
    kind: 'owner',
    shown: (text) => text.replace(/^.* (OWNER TO \S+?) ?;?$/i, '$1'),
  },
  {
    matches: /^(GRANT|REVOKE)\b/i,
    kind: 'owner',
    shown: (text) =>
      text.replace(/^(\w+) .* ((?:TO|FROM) [^;]+?)(?: WITH GRANT OPTION| GRANTED BY .*)? ?;?$/i, '$1 ... $2'),
  },
  { matches: /^(CREATE|ALTER|DROP) TABLESPACE\b/i, kind: 'server', shown: (text) => firstWords(text) },
  { matches: /^SET default_tablespace (=|TO) (?!''|"")/i, kind: 'server' },
  { matches: /^ALTER SYSTEM\b/i, kind: 'server' },
  { matches: /^COPY [^;]* (FROM|TO) (PROGRAM |E?'|\$)/i, kind: 'file', shown: (text) => text.replace(/\(.*\) /, '') },
]

const transactions =
  /^(BEGIN( (WORK|TRANSACTION)[^;]*)?|START TRANSACTION[^;]*|COMMIT[^;]*|END( (WORK|TRANSACTION))?) ?;?$/i

function decide(statement: string, text: string, line: number, mode: DumpMode, notes: Notes): Decision {
  const rule = rules.find(({ matches }) => matches.test(statement))
  if (rule !== undefined) {
    notes.add(rule.kind, (rule.shown?.(statement) ?? statement).replace(/ ?;$/, ''), line)
    return 'drop'
  }
  // Of newer servers than this may be; where nothing set it before it says nothing. An extension comes with its comment.
  if (/^(SET transaction_timeout = 0 ?;$|COMMENT ON EXTENSION\b)/i.test(statement)) return 'drop'
  if (mode === 'append' && transactions.test(statement)) {
    notes.add('transaction', statement.replace(/ ?;$/, ''), line)
    return 'drop'
  }
  if (/^COPY .* FROM STDIN\b/is.test(statement)) return 'data'
  if (/^SET standard_conforming_strings (=|TO) '?off'?/i.test(statement)) return 'escapes'
  // It is there in every database.
  if (/^CREATE SCHEMA public ?;$/i.test(statement)) return { text: text.replace(/SCHEMA/i, 'SCHEMA IF NOT EXISTS') }
  return 'pass'
}

/** `DROP DATABASE other`. */
function firstWords(statement: string, except = /(?!)/): string {
  return statement.replace(except, '').replace(/\s+/g, ' ').split(/[ ;]/).slice(0, 3).join(' ')
}

/** As one line. Texts in it may hold what looks like a comment: it is for looking at the beginning. */
function withoutComments(text: string): string {
  return text
    .replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

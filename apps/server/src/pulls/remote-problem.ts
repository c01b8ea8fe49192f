import { type ProblemCode, ProblemError } from '@stackquay/contract'
import { TargetError } from '@stackquay/targets'

/** What went wrong with where something is pulled from, for the person who must act. All else as it is. */
export function remoteProblem(error: unknown): unknown {
  if (!(error instanceof TargetError)) return error
  return new ProblemError(codes[error.code] ?? 'remote_refused', shown(error.message), { cause: error })
}

const codes: Partial<Readonly<Record<TargetError['code'], ProblemCode>>> = {
  unreachable: 'remote_unreachable',
  host_key: 'remote_changed',
}

/** Texts of elsewhere, as one short line without characters that do anything. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').slice(0, 600)
}

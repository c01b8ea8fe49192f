/** Lines joined by line feeds, of which a line has none. */
export interface MatchQuestion {
  readonly pattern: string
  readonly text: string
}
export type MatchAnswer =
  | { readonly ok: true; readonly hits: Uint8Array<ArrayBuffer> }
  | { readonly ok: false; readonly reason: string }

let last: { readonly pattern: string; readonly compiled: RegExp } | null = null

/** Searches lines for a regular expression: some patterns take longer than anybody waits. */
export function run({ pattern, text }: MatchQuestion): MatchAnswer {
  try {
    if (last?.pattern !== pattern) last = { pattern, compiled: new RegExp(pattern, 'i') }
    const { compiled } = last
    const lines = text.split('\n')
    const hits = new Uint8Array(lines.length)
    for (const [at, line] of lines.entries()) hits[at] = compiled.test(line) ? 1 : 0
    return { ok: true, hits }
  } catch (error) {
    // What is too large to compile is only found at the first use.
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}

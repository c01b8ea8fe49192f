import pc from 'picocolors'

export type Colors = ReturnType<typeof pc.createColors>

export interface Style {
  readonly colors: Colors
  /** Width of the terminal; null when it is none. */
  readonly columns: number | null
}

export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
}

export function styleOf(stream: Terminal, env: NodeJS.ProcessEnv): Style {
  return {
    colors: pc.createColors(wantsColours(stream, env)),
    // Some terminals do not know their width and say 0.
    columns: stream.isTTY === true ? stream.columns || 80 : null,
  }
}

/** NO_COLOR (no-color.org) beats FORCE_COLOR beats what the stream is. */
function wantsColours(stream: Terminal, env: NodeJS.ProcessEnv): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '' && env.FORCE_COLOR !== '0') return true
  return stream.isTTY === true && env.TERM !== 'dumb'
}

import type { OperationRecord, OperationStep } from '@stackquay/contract'
import { fit, plainText } from './plain-text.ts'
import type { Style } from './style.ts'
import { duration } from './time.ts'

/** Shows how an operation goes on, on standard error: results alone go to standard output. */
export interface Progress {
  update(operation: OperationRecord): void
  output(step: string, lines: readonly string[]): void
  reachable(now: boolean): void
  /** Leaves only what is to stay on the screen. */
  end(): void
}

export interface ProgressStream {
  write(text: string): unknown
}

export const silentProgress: Progress = { update() {}, output() {}, reachable() {}, end() {} }

/** For a file or a pipe: one line when a step begins and one when it ends. */
export function plainProgress(stream: ProgressStream, style: Style, now: () => number): Progress {
  const printed = new Map<string, OperationStep['state']>()
  return {
    update(operation) {
      for (const step of operation.steps) {
        if (printed.get(step.id) === step.state) continue
        printed.set(step.id, step.state)
        if (step.state === 'running') stream.write(`… ${plainText(step.title)}\n`)
        else if (hasEnded(step)) stream.write(`${endedLine(step, style, now())}\n`)
      }
    },
    output() {},
    reachable: (here) => void stream.write(reachableLine(here)),
    end() {},
  }
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** For a terminal: finished steps stay, below them the running ones turn, each with its newest line of output. */
export function liveProgress(stream: ProgressStream, style: Style, now: () => number): Progress {
  const { colors } = style
  const width = style.columns ?? 80
  const printed = new Set<string>()
  const newest = new Map<string, string>()
  let running: readonly OperationStep[] = []
  let waiting = 'Waiting'
  let away = false
  let frame = 0
  let drawn = 0
  const began = now()

  const clear = () => {
    if (drawn > 0) stream.write(`\x1b[${drawn}A\x1b[0J`)
    drawn = 0
  }
  const draw = () => {
    const turn = colors.cyan(frames[frame % frames.length]!)
    const lines: string[] = []
    if (away)
      lines.push(`${turn} ${colors.yellow(fit('The service does not answer; waiting for it to come back', width - 3))}`)
    else if (running.length === 0) lines.push(`${turn} ${colors.dim(waiting)}`)
    for (const step of away ? [] : running) {
      const time = duration(now() - (step.startedAt === null ? began : Date.parse(step.startedAt)))
      lines.push(`${turn} ${fit(plainText(step.title), width - time.length - 5)} ${colors.dim(time)}`)
      const output = newest.get(step.id) ?? step.output.at(-1)
      if (output !== undefined && output.trim() !== '') lines.push(colors.dim(`  ${fit(plainText(output), width - 3)}`))
    }
    stream.write(lines.map((line) => `${line}\n`).join(''))
    drawn = lines.length
  }
  const redraw = () => {
    clear()
    draw()
  }
  const timer = setInterval(() => {
    frame++
    redraw()
  }, 100)
  draw()

  return {
    update(operation) {
      clear()
      for (const step of operation.steps) {
        if (!hasEnded(step) || printed.has(step.id)) continue
        printed.add(step.id)
        stream.write(`${endedLine(step, style, now())}\n`)
      }
      running = operation.steps.filter(({ state }) => state === 'running')
      waiting = operation.state === 'queued' ? 'Waiting for its turn' : 'Working'
      draw()
    },
    output(step, lines) {
      const last = lines.findLast((line) => line.trim() !== '')
      if (last !== undefined) newest.set(step, last)
    },
    reachable(here) {
      away = !here
      redraw()
    },
    end() {
      clearInterval(timer)
      clear()
    },
  }
}

function hasEnded({ state }: OperationStep): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

function endedLine(step: OperationStep, { colors }: Style, now: number): string {
  const sign =
    step.state === 'succeeded' ? colors.green('✔') : step.state === 'failed' ? colors.red('✖') : colors.dim('○')
  const finished = step.finishedAt === null ? now : Date.parse(step.finishedAt)
  const time = step.startedAt === null ? '' : colors.dim(` ${duration(finished - Date.parse(step.startedAt))}`)
  return `${sign} ${plainText(step.title)}${time}`
}

function reachableLine(here: boolean): string {
  return here ? '… The service answers again\n' : '… The service does not answer; waiting for it to come back\n'
}

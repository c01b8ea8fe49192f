import type { Run, TestCase, TestCounts } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import type { Colors } from '../output/style.ts'
import { fields, table } from '../output/table.ts'
import { ago, duration } from '../output/time.ts'

export function runTable(runs: readonly Run[], { style, world }: Context): string {
  const rows = runs.map((run) => [
    run.id,
    stateCell(run.state, style.colors),
    ago(run.createdAt, world.now()),
    tookOf(run, world.now()),
    endOf(run),
    plainText(run.actor),
    plainText(run.filter === null ? run.name : `${run.name} (${run.filter})`),
  ])
  return table(['RUN', 'STATE', 'BEGUN', 'TOOK', 'END', 'BY', 'WHAT'], rows, style)
}

export function runText(run: Run, context: Context): string {
  const { style, world } = context
  const rows: [string, string][] = [
    ['Run', run.id],
    ['What', plainText(run.label)],
    ['State', stateCell(run.state, style.colors).text],
    ['Begun', ago(run.startedAt ?? run.createdAt, world.now())],
    ['Took', tookOf(run, world.now())],
    ['End', endOf(run)],
    ['By', plainText(run.actor)],
  ]
  if (run.phase !== null) rows.push(['At', plainText(run.phase)])
  if (run.filter !== null) rows.push(['Filter', plainText(run.filter)])
  if (run.error !== null) rows.push(['Why', plainText(run.error.detail)], ['', plainText(run.error.hint)])
  return fields(rows, style)
}

/** `✖ pytest: 2 of 120 failed, 1 skipped, 1 flaky, 4.2 s`, then each failed test. */
export function testSummary({ run, failed }: { run: Run; failed: readonly TestCase[] }, colors: Colors): string {
  const sign = run.state === 'succeeded' ? colors.green('✔') : colors.red('✖')
  const head = `${sign} ${plainText(run.label)}: ${run.tests === null ? endOf(run) : countsText(run.tests)}, ${seconds(run)}`
  const hidden = (run.tests?.failed ?? failed.length) - failed.length
  return [
    head,
    ...failed.flatMap((test) => failedText(test, colors)),
    ...(hidden > 0 ? [`  … and ${hidden} more`] : []),
  ].join('\n')
}

function failedText({ group, name, file, line, message, flaky }: TestCase, colors: Colors): string[] {
  const place = file === null ? '' : ` ${colors.dim(`${plainText(file)}${line === null ? '' : `:${line}`}`)}`
  const mark = flaky ? ` ${colors.yellow('(flaky: it passed on the same source)')}` : ''
  const title = [group, name].filter((part) => part !== null && part !== '').map((part) => plainText(part!))
  const why = (message ?? '').split('\n').filter((each) => each.trim() !== '')
  return [
    `  ${colors.red('✖')} ${title.join(' › ')}${place}${mark}`,
    ...why.slice(0, 10).map((each) => `    ${plainText(each)}`),
  ]
}

function countsText({ total, failed, skipped, flaky }: TestCounts): string {
  const passed = failed === 0 ? `${total - skipped} passed` : `${failed} of ${total} failed`
  return [passed, skipped === 0 ? '' : `${skipped} skipped`, flaky === 0 ? '' : `${flaky} flaky`]
    .filter((part) => part !== '')
    .join(', ')
}

/** How it ended, in a word: `-` while it runs. */
export function endOf({ exitCode, signal, tests, error }: Run): string {
  if (tests !== null) return countsText(tests)
  if (error !== null) return plainText(error.title)
  if (exitCode !== null) return `code ${exitCode}`
  return signal ?? '-'
}

function tookOf({ startedAt, finishedAt, durationSeconds }: Run, now: number): string {
  if (durationSeconds !== null) return duration(durationSeconds * 1000)
  if (startedAt === null) return '-'
  return duration((finishedAt === null ? now : Date.parse(finishedAt)) - Date.parse(startedAt))
}

export function seconds({ durationSeconds }: Run): string {
  return duration((durationSeconds ?? 0) * 1000)
}

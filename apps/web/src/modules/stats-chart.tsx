import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { StatsPoint } from '../api/live-stats.ts'
import { cx } from '../components/class-names.ts'
import { formatClock } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { colourReader, useThemeChange } from './theme-colours.ts'

interface StatsChartProps {
  title: string
  points: readonly StatsPoint[]
  /** The number of one workload at one time; null where it was not running. */
  numberOf: (workload: StatsPoint['workloads'][number]) => number | null
  format: (value: number) => string
  /** Distances between the lines of the axis to choose from; decimal ones unless given. */
  steps?: number[]
}

const colours = [1, 2, 3, 4, 5, 6].map((number) => `--series-${number}`)

/** One line per workload over the last minutes. The numbers of now stand beside it as text, for everybody. */
export function StatsChart({ title, points, numberOf, format, steps }: StatsChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const names = [...new Set(points.flatMap((point) => point.workloads.map((workload) => workload.workload)))].sort()
  const nameKey = names.join('\n')
  const theme = useThemeChange()
  const formatRef = useRef(format)
  formatRef.current = format

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the names; a theme change redraws
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const options = optionsOf(element, names, steps, (value) => formatRef.current(value))
    chart.current = new uPlot(options, dataOf(points, names, numberOf), element)
    const resize = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: 150 }))
    resize.observe(element)
    return () => {
      resize.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [nameKey, theme])

  // biome-ignore lint/correctness/useExhaustiveDependencies: new points are what moves it
  useEffect(() => {
    chart.current?.setData(dataOf(points, names, numberOf))
  }, [points])

  const last = points.at(-1)
  const total = last === undefined ? 0 : last.workloads.reduce((sum, workload) => sum + (numberOf(workload) ?? 0), 0)
  return (
    <figure className="min-w-0">
      <figcaption className="flex items-baseline justify-between gap-2">
        <span className="text-sm font-medium">{title}</span>
        <span className="numbers text-base font-medium">{format(total)}</span>
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={texts.overview.chartLabel(title, format(total))}
        className="mt-1 h-[150px] w-full overflow-hidden"
      />
      <Legend names={names} last={last} numberOf={numberOf} format={format} />
    </figure>
  )
}

interface LegendProps extends Pick<StatsChartProps, 'numberOf' | 'format'> {
  names: readonly string[]
  last: StatsPoint | undefined
}

function Legend({ names, last, numberOf, format }: LegendProps) {
  return (
    <ul className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-sm text-ink-2">
      {names.map((name, index) => {
        const workload = last?.workloads.find((item) => item.workload === name)
        const value = workload === undefined ? null : numberOf(workload)
        return (
          <li key={name} className="inline-flex items-center gap-1.5">
            <span
              aria-hidden
              className={cx('h-0.5 w-3 rounded')}
              style={{ background: `var(${colours[index % colours.length]})` }}
            />
            {name}
            <span className="numbers text-ink">{value === null ? '–' : format(value)}</span>
          </li>
        )
      })}
    </ul>
  )
}

function optionsOf(
  element: HTMLElement,
  names: readonly string[],
  steps: number[] | undefined,
  format: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element)
  const { colour, done } = colourReader(element)
  const grid = { stroke: colour('--line'), width: 1 }
  const ink = colour('--ink-3')
  const font = `11px ${style.fontFamily}`
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: 150,
    padding: [8, 28, 0, 0],
    cursor: { y: false, points: { size: 5 } },
    legend: { show: false },
    scales: {
      // A chart that has just begun grows from the right instead of stretching two points over its width.
      x: {
        range: ({ data: [times] }) => {
          const last = times.at(-1) ?? Date.now() / 1000
          return [Math.min(times[0] ?? last, last - 120), last]
        },
      },
      y: { range: (_, __, max) => [0, max === null || max <= 0 ? 0.01 : max * 1.15] },
    },
    axes: [
      {
        stroke: ink,
        grid: { show: false },
        ticks: { show: false },
        font,
        size: 24,
        space: 80,
        values: (_, times) => times.map(clock),
      },
      {
        stroke: ink,
        grid,
        ticks: { show: false },
        font,
        size: 58,
        space: 34,
        ...(steps === undefined ? {} : { incrs: steps }),
        values: (_, values) => values.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...names.map((name, index) => ({
        label: name,
        stroke: colour(colours[index % colours.length] ?? '--series-1'),
        width: 1.5,
        points: { show: false },
        dash: index >= colours.length ? [4, 3] : [],
      })),
    ],
  }
  done()
  return options
}

function dataOf(
  points: readonly StatsPoint[],
  names: readonly string[],
  numberOf: StatsChartProps['numberOf'],
): uPlot.AlignedData {
  return [
    points.map((point) => point.at),
    ...names.map((name) =>
      points.map((point) => {
        const workload = point.workloads.find((item) => item.workload === name)
        return workload === undefined ? null : numberOf(workload)
      }),
    ),
  ] as uPlot.AlignedData
}

function clock(seconds: number): string {
  return formatClock(new Date(seconds * 1000).toISOString()).slice(0, 8)
}

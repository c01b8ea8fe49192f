import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { chartFont, drawChart, fromZero, valueAxis } from './draw-chart.ts'
import { colourReader, useThemeChange } from './theme-colours.ts'

export interface TimeSeries {
  readonly name: string
  readonly colour: string
  /** What is drawn, one a time. */
  readonly heights: readonly (number | null)[]
  /** What is read out: for bars that stand on each other, the bar alone. */
  readonly values: readonly (number | null)[]
  /** Of the whole time. */
  readonly total: string
}

interface TimeChartProps {
  title: string
  /** What the picture says, for those who do not see it; the numbers stand in a table below. */
  description: string
  shape: 'bars' | 'lines'
  /** Seconds since 1970. */
  times: readonly number[]
  stepSeconds: number
  /** Bars: the highest first, so that the lower ones are drawn over it. */
  series: readonly TimeSeries[]
  format: (value: number) => string
  /** Distances between the lines of the axis to choose from. */
  steps?: number[]
  /** What the axis says. */
  axis: 'clock' | 'days' | 'months'
}

const height = 170

/** Numbers over time. Where the pointer is, the list below says those of that time; else those of the whole. */
export function TimeChart({
  title,
  description,
  shape,
  times,
  stepSeconds,
  series,
  format,
  steps,
  axis,
}: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const theme = useThemeChange()
  const [hovered, setHovered] = useState<number | null>(null)
  const key = JSON.stringify([times, series.map(({ heights, colour }) => [colour, heights]), shape, axis])
  const show = useRef(format)
  show.current = format

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is drawn; a theme change redraws
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const { colour, done } = colourReader(element)
    const ink = colour('--ink-3')
    const line = colour('--line')
    const colours = series.map((one) => colour(one.colour))
    done()
    const font = chartFont(element)
    const half = stepSeconds / 2
    const options: Parameters<typeof drawChart>[2] = {
      padding: [8, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: shape === 'lines', size: 5 } },
      scales: {
        x: { range: (_, low, high) => [(low ?? 0) - half, (high ?? 0) + half] },
        y: fromZero,
      },
      axes: [
        {
          stroke: ink,
          grid: { show: false },
          ticks: { show: false },
          font,
          size: 24,
          ...(axis === 'clock' ? { space: 70 } : { incrs: dayDistances, space: axis === 'days' ? 44 : 70 }),
          values: (_, marks) => marks.map(markOf[axis]),
        },
        valueAxis({ ink, line, font, space: 34, steps, format: (value) => show.current(value) }),
      ],
      series: [
        {},
        ...series.map((_, index) => ({
          stroke: colours[index] ?? ink,
          // What has no neighbour is no line.
          points: { show: shape === 'lines', size: 4, filter: alone },
          ...(shape === 'bars'
            ? { fill: colours[index] ?? ink, width: 0, paths: uPlot.paths.bars!({ size: [0.8, 24] }) }
            : { width: 1.5, spanGaps: false }),
        })),
      ],
      hooks: { setCursor: [(chart) => setHovered(chart.cursor.idx ?? null)] },
    }
    const data = [[...times], ...series.map(({ heights }) => [...heights])] as uPlot.AlignedData
    return drawChart(element, height, options, data)
  }, [key, stepSeconds, theme])

  const at = hovered === null ? undefined : times[hovered]
  return (
    <figure className="min-w-0">
      <figcaption className="flex items-baseline justify-between gap-2">
        <span className="text-sm font-medium">{title}</span>
        {at !== undefined && (
          <span className="numbers text-sm text-ink-2">
            {axis === 'clock' ? '' : `${markOf[axis](at)}, `}
            {clockOf(at)}
          </span>
        )}
      </figcaption>
      <div ref={box} role="img" aria-label={description} style={{ height }} className="mt-1 w-full overflow-hidden" />
      <Legend
        series={shape === 'bars' ? series.toReversed() : series}
        at={at === undefined ? null : hovered}
        format={format}
      />
    </figure>
  )
}

interface LegendProps extends Pick<TimeChartProps, 'series' | 'format'> {
  /** Index of the time whose numbers are read out; null for those of the whole. */
  at: number | null
}

function Legend({ series, at, format }: LegendProps) {
  return (
    <ul className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-sm text-ink-2">
      {series.map(({ name, colour, values, total }) => {
        const value = at === null ? undefined : values[at]
        return (
          <li key={name} className="inline-flex items-center gap-1.5">
            <span aria-hidden className="size-2.5 rounded-xs" style={{ background: `var(${colour})` }} />
            {name}
            <span className="numbers text-ink">{at === null ? total : value == null ? '–' : format(value)}</span>
          </li>
        )
      })}
    </ul>
  )
}

/** Where a value stands between gaps. */
function alone({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  return Array.from(values, (_, index) => index).filter(
    (index) => values[index] != null && values[index - 1] == null && values[index + 1] == null,
  )
}

const dayDistances = [1, 2, 4, 7, 14, 30, 60, 90, 120, 180, 365].map((days) => days * 86_400)
const markOf = { clock: clockOf, days: dayOf, months: dateOf } as const

function clockOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString(undefined, { weekday: 'short', day: 'numeric' })
}

function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}

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
  /** Days instead of hours at the axis. */
  days: boolean
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
  days,
}: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const theme = useThemeChange()
  const [hovered, setHovered] = useState<number | null>(null)
  const key = JSON.stringify([times, series.map(({ heights, colour }) => [colour, heights]), shape, days])
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
          ...(days ? { incrs: [86_400, 2 * 86_400], space: 44 } : { space: 70 }),
          values: (_, marks) => marks.map((seconds) => (days ? dayOf(seconds) : clockOf(seconds))),
        },
        valueAxis({ ink, line, font, space: 34, steps, format: (value) => show.current(value) }),
      ],
      series: [
        {},
        ...series.map((_, index) => ({
          stroke: colours[index] ?? ink,
          points: { show: shape === 'lines' && times.length < 2 },
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
            {days ? `${dayOf(at)}, ` : ''}
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

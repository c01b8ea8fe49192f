import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { chartFont, drawChart, fromZero, valueAxis } from './draw-chart.ts'
import { colourReader, useThemeChange } from './theme-colours.ts'

interface TrendChartProps {
  title: string
  /** What the picture says, for those who do not see it; the numbers stand in a table below. */
  description: string
  /** One a run, the oldest first; null where there is none. */
  values: readonly (number | null)[]
  format: (value: number) => string
  colour: string
  /** Distances between the lines of the axis to choose from. */
  steps?: number[]
}

const height = 120

/** Bars, one a run: runs are no points in time with something between them. */
export function TrendChart({ title, description, values, format, colour: token, steps }: TrendChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const theme = useThemeChange()
  const key = JSON.stringify(values)
  const show = useRef(format)
  show.current = format

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the values; a theme change redraws
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const { colour, done } = colourReader(element)
    const ink = colour('--ink-3')
    const line = colour('--line')
    const fill = colour(token)
    done()
    const font = chartFont(element)
    const options: Parameters<typeof drawChart>[2] = {
      padding: [8, 8, 4, 0],
      cursor: { show: false },
      scales: {
        x: { time: false, range: [-0.5, Math.max(values.length, 12) - 0.5] },
        y: fromZero,
      },
      axes: [{ show: false }, valueAxis({ ink, line, font, space: 30, steps, format: (value) => show.current(value) })],
      series: [
        {},
        { fill, stroke: fill, width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.6, 18] }) },
      ],
    }
    const data = [values.map((_, index) => index), [...values]] as uPlot.AlignedData
    return drawChart(element, height, options, data)
  }, [key, token, theme])

  return (
    <figure className="min-w-0">
      <figcaption className="text-sm font-medium">{title}</figcaption>
      <div ref={box} role="img" aria-label={description} style={{ height }} className="mt-1 w-full overflow-hidden" />
    </figure>
  )
}

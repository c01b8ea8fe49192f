import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** Draws into an element as wide as it is, whatever becomes of that. Answers the function that takes it away. */
export function drawChart(
  element: HTMLElement,
  height: number,
  options: Omit<uPlot.Options, 'width' | 'height' | 'legend'>,
  data: uPlot.AlignedData,
): () => void {
  const chart = new uPlot({ ...options, width: element.clientWidth, height, legend: { show: false } }, data, element)
  const resize = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
  resize.observe(element)
  return () => {
    resize.disconnect()
    chart.destroy()
  }
}

export function chartFont(element: HTMLElement): string {
  return `11px ${getComputedStyle(element).fontFamily}`
}

/** From nothing to a little above the highest. */
export const fromZero: uPlot.Scale = { range: (_, __, max) => [0, max === null || max <= 0 ? 1 : max * 1.15] }

export function valueAxis(parts: {
  readonly ink: string
  readonly line: string
  readonly font: string
  /** Pixels between its lines at least. */
  readonly space: number
  /** Distances between its lines to choose from. */
  readonly steps: number[] | undefined
  format(value: number): string
}): uPlot.Axis {
  const { ink, line, font, space, steps, format } = parts
  return {
    stroke: ink,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    font,
    size: 58,
    space,
    ...(steps === undefined ? {} : { incrs: steps }),
    values: (_, marks) => marks.map((value) => format(value)),
  }
}

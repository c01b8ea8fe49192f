import { encode } from 'uqr'
import type { Colors } from '../output/style.ts'

/**
 * Two rows of modules in a line of half blocks. The light ones are drawn, as on the dark ground of most terminals; where
 * there are colours they are said, so that it can be read on a light one too.
 */
export function qrCode(text: string, colors: Colors): string {
  const { data, size } = encode(text, { border: 2 })
  const isLight = (row: number, column: number) => data[row]?.[column] !== true
  const lines: string[] = []
  for (let row = 0; row < size; row += 2) {
    let line = ''
    for (let column = 0; column < size; column += 1)
      line += halves[Number(isLight(row, column)) * 2 + Number(isLight(row + 1, column))]
    lines.push(colors.isColorSupported ? colors.bgBlack(colors.whiteBright(line)) : line)
  }
  return lines.join('\n')
}

/** Neither half light, the lower one, the upper one, both. */
const halves = [' ', '▄', '▀', '█'] as const

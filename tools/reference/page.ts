/** A generated page: where it comes from stands at its head, so that nobody edits it by hand. */
export function page(title: string, source: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, `<!-- Generated from ${source} by "npm run check -- --fix". Do not edit. -->`, ...parts].join('\n\n')}\n`
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(heads), `| ${heads.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

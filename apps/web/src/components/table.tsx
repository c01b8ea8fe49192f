import type { ReactNode } from 'react'
import { cx } from './class-names.ts'
import { ScrollBox } from './scroll-box.tsx'

/** Rows close together, scrolling sideways in itself where the screen is narrow. */
export function Table({
  label,
  head,
  children,
}: {
  label: string
  head: readonly (Column | null)[]
  children: ReactNode
}) {
  return (
    <ScrollBox label={label} className="overflow-x-auto rounded-b-lg focus-visible:-outline-offset-2">
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line text-sm text-ink-2">
            {head.map(
              (column) =>
                column && (
                  <th
                    key={column.title}
                    scope="col"
                    className={cx(
                      'h-9 px-4 font-medium whitespace-nowrap',
                      column.end && 'text-right',
                      column.className,
                    )}
                  >
                    {column.hidden ? <span className="sr-only">{column.title}</span> : column.title}
                  </th>
                ),
            )}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </ScrollBox>
  )
}

interface Column {
  title: string
  hidden?: boolean
  end?: boolean
  className?: string
}

export function Cell({ children, end, className }: { children?: ReactNode; end?: boolean; className?: string }) {
  return <td className={cx('px-4 py-2 align-middle', end && 'text-right', className)}>{children}</td>
}

/** The buttons of a row: in sight however narrow the screen is. */
export function ActionsCell({ children, className = 'align-middle' }: { children?: ReactNode; className?: string }) {
  return <td className={cx('row-actions px-4 py-1 text-right whitespace-nowrap', className)}>{children}</td>
}
